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

// Summary is what is known of a request without reading its entry in the fake's journal.
type Summary struct {
	Seq    int
	Key    int
	Status int       // 0 while there is no response, or if there was none
	Ended  time.Time // zero while there is no response
	Reset  time.Time // the end of the key's window, zero if the response has none
}

// NewestFirst yields all requests as of the last Update. Entry, which copies a request, is for those
// that are looked at.
func (j *Journal) NewestFirst() iter.Seq[Summary] {
	return func(yield func(Summary) bool) {
		j.mu.Lock()
		list := slices.Clone(j.list)
		j.mu.Unlock()
		for _, one := range slices.Backward(list) {
			if !yield(one.Summary) {
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
