package journal

import (
	"iter"
	"slices"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// Entry is a request of the journal with what the other requests say about it.
type Entry struct {
	fake.Request

	// Violations are the violations by this request.
	Violations []fake.Violation
	// Since is the time since the last request of the same key, negative if there is none.
	Since time.Duration
	// Next is the seq of the next request of the same key, 0 if there is none.
	Next int
	// Tries are the seqs of the tries of the same call, as far as can be guessed, and Try is the
	// number of this one among them, from 1. A request that is the only try has none, and 0.
	Tries []int
	Try   int
}

// Entry returns a request as of the last Update, and false if the journal does not hold it.
func (j *Journal) Entry(seq int) (Entry, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r, found := j.srv.Request(seq)
	one := j.find(seq)
	if !found || one == nil {
		return Entry{}, false
	}
	e := Entry{Request: r, Violations: j.rules[seq], Since: one.since, Next: one.next}
	if one.tries != nil {
		e.Tries = slices.Clip(*one.tries) // only ever appended to; a copy is long after thousands of refusals
		at, _ := slices.BinarySearch(e.Tries, seq)
		e.Try = at + 1
	}
	return e, true
}

// NewestFirst yields the seqs and statuses of all requests as of the last Update. Entry, which copies
// a request, is for those that are looked at.
func (j *Journal) NewestFirst() iter.Seq2[int, int] {
	return func(yield func(seq, status int) bool) {
		j.mu.Lock()
		first, list := j.first, slices.Clone(j.list)
		j.mu.Unlock()
		for i, one := range slices.Backward(list) {
			if !yield(first+i, one.status) {
				return
			}
		}
	}
}

// Fits reports whether the request with a seq passes a filter, whatever its status.
func (j *Journal) Fits(f Filter, seq int) bool {
	if len(f.others) == 0 {
		return true
	}
	e, ok := j.Entry(seq)
	return ok && !slices.ContainsFunc(f.others, func(fits func(Entry) bool) bool { return !fits(e) })
}

// Dropped returns how many requests the fake's journal has dropped for newer ones.
func (j *Journal) Dropped() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.first - j.begun
}

// Violations returns how many violations there are, those of requests that were dropped included.
func (j *Journal) Violations() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.violations
}
