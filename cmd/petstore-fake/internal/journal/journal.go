// Package journal reads the journal of a fake. To each request it adds its violations, the time since
// the last request of its key, and which requests are tries of the same call. It filters requests.
package journal

import (
	"hash/maphash"
	"maps"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// RetryGap is the longest time between a failure and a request that is taken for its retry: the
// minute for which the service tells clients to wait, and as long again for a backoff.
const RetryGap = 2 * time.Minute

// record is what a request has besides its entry in the fake's journal.
type record struct {
	call           call
	arrived, ended time.Time // ended is zero while there is no response
	previous, next int       // the seqs of its key's requests before and after it, 0 for none
	tries          *tries    // nil for a request that is neither a retry nor retried
}

// call is what two tries of a call have in common.
type call struct {
	key int
	sum uint64 // of method, path and body
}

// tries are the requests that are taken for tries of one call: the same key sent the same again
// after a 429, a 5xx or no whole response. That is a guess, since nothing in a request says so.
type tries struct{ seqs []int }

// Journal is the journal of a fake with a record for each request. It reads the fake's journal only in
// Update. It is safe for concurrent use.
type Journal struct {
	srv  *fakecontrol.Server
	seed maphash.Seed

	mu         sync.Mutex
	generation int64
	begun      int // seq of the first request since the journal was cleared
	first      int // seq of list[0]
	list       []record
	open       map[int]bool   // requests without a response
	lastOf     map[int]int    // the last request of each key
	failed     map[call][]int // failures that have no retry yet, oldest first
	rules      map[int][]fake.Violation
	violations int // their number, those of dropped requests included
}

// New returns the journal of a fake, which is empty before the first Update.
func New(srv *fakecontrol.Server) *Journal {
	j := &Journal{srv: srv, seed: maphash.MakeSeed(), first: 1}
	j.forget(0)
	return j
}

// forget removes everything about the last journal. The caller holds mu.
func (j *Journal) forget(generation int64) {
	j.generation, j.violations, j.begun = generation, 0, j.first+len(j.list)
	j.rules = make(map[int][]fake.Violation)
	j.restart(1)
}

// restart removes all records; the seq of the next request is first.
func (j *Journal) restart(first int) {
	j.first, j.list = first, nil
	j.open, j.lastOf, j.failed = make(map[int]bool), make(map[int]int), make(map[call][]int)
}

// Update reads the changes of the fake's journal. generation must be another number each time that the
// journal was cleared.
func (j *Journal) Update(generation int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if generation != j.generation {
		j.forget(generation)
	}
	open := slices.Sorted(maps.Keys(j.open))
	for _, seq := range open {
		if r, ok := j.srv.Request(seq); ok {
			j.settle(r)
		}
	}
	if arrived := j.arrivals(); len(open) == 0 && !arrived {
		return // no violation is added to a request after its response
	}
	j.trim()
	all := j.srv.Violations()
	for _, violation := range all[min(j.violations, len(all)):] {
		j.rules[violation.Seq] = append(j.rules[violation.Seq], violation)
	}
	j.violations = len(all)
}

// arrivals appends the requests that came after those of the list, and reports whether there are
// any.
func (j *Journal) arrivals() bool {
	next := j.first + len(j.list)
	last, ok := j.srv.LastRequest()
	if !ok || last.Seq < next {
		return false
	}
	for seq := next; seq <= last.Seq; seq++ {
		r, ok := j.srv.Request(seq)
		if !ok {
			continue
		}
		if seq != j.first+len(j.list) { // the journal was cleared, or has dropped what came between
			j.restart(seq)
		}
		if seq < j.begun { // the numbers begin again after a reset
			j.begun = 1
		}
		j.add(r)
	}
	return true
}

// add appends a request.
func (j *Journal) add(r fake.Request) {
	one := record{call: call{key: r.Key, sum: j.sum(r)}, arrived: r.Time}
	if before := j.at(j.lastOf[r.Key]); before != nil && r.Key != 0 {
		one.previous, before.next = j.lastOf[r.Key], r.Seq
	}
	j.lastOf[r.Key] = r.Seq
	one.tries = j.retried(r.Seq, one)
	j.list = append(j.list, one)
	j.open[r.Seq] = true
	j.settle(r)
}

// sum returns a digest of what is the same in every try of a call.
func (j *Journal) sum(r fake.Request) uint64 {
	var h maphash.Hash
	h.SetSeed(j.seed)
	for _, part := range []string{r.Method, " ", r.Path, " "} {
		_, _ = h.WriteString(part) // it cannot fail
	}
	_, _ = h.Write(r.Body)
	return h.Sum64()
}

// retried returns the tries that a request belongs to: those of the oldest failure of the same call
// that nothing has retried yet. It returns nil if there is none.
func (j *Journal) retried(seq int, one record) *tries {
	waiting := j.failed[one.call]
	for len(waiting) > 0 {
		first := waiting[0]
		before := j.at(first)
		if before != nil && before.ended.After(one.arrived) {
			return nil // both were in flight at the same time
		}
		waiting = waiting[1:]
		j.failed[one.call] = waiting
		if before == nil || one.arrived.Sub(before.ended) > RetryGap {
			continue
		}
		if before.tries == nil {
			before.tries = &tries{[]int{first}}
		}
		before.tries.seqs = append(before.tries.seqs, seq)
		return before.tries
	}
	delete(j.failed, one.call)
	return nil
}

// settle records the response of a request, if there is one.
func (j *Journal) settle(r fake.Request) {
	one := j.at(r.Seq)
	if one == nil || Pending(r) {
		return
	}
	delete(j.open, r.Seq)
	one.ended = r.Time.Add(r.Duration)
	if r.StatusCode == 0 || r.StatusCode == http.StatusTooManyRequests || r.StatusCode >= 500 || cutOff(r) {
		j.failed[one.call] = append(j.failed[one.call], r.Seq)
	}
}

// Pending reports whether a request has no response and may still get one. A request that gets none
// has a hint that says why.
func Pending(r fake.Request) bool { return r.StatusCode == 0 && r.Hint == "" }

// cutOff reports whether a response ended before its announced length.
func cutOff(r fake.Request) bool {
	announced, err := strconv.Atoi(r.ResponseHeader.Get("Content-Length"))
	return err == nil && len(r.ResponseBody) < announced && r.Method != http.MethodHead
}

// trim removes the records of requests that the fake's journal has dropped.
func (j *Journal) trim() {
	if _, ok := j.srv.Request(j.first); ok {
		return // most often
	}
	gone := sort.Search(len(j.list), func(i int) bool {
		_, ok := j.srv.Request(j.first + i)
		return ok
	})
	j.first, j.list = j.first+gone, j.list[gone:]
	for c, waiting := range j.failed {
		waiting = slices.DeleteFunc(waiting, func(seq int) bool { return seq < j.first })
		if j.failed[c] = waiting; len(waiting) == 0 {
			delete(j.failed, c)
		}
	}
	maps.DeleteFunc(j.open, func(seq int, _ bool) bool { return seq < j.first })
	maps.DeleteFunc(j.rules, func(seq int, _ []fake.Violation) bool { return seq < j.first })
}

// at returns the record of a request, nil if there is none. The caller holds mu.
func (j *Journal) at(seq int) *record {
	if seq < j.first || seq >= j.first+len(j.list) {
		return nil
	}
	return &j.list[seq-j.first]
}

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
	r, found := j.srv.Request(seq)
	j.mu.Lock()
	defer j.mu.Unlock()
	one := j.at(seq)
	if !found || one == nil {
		return Entry{}, false
	}
	e := Entry{Request: r, Violations: j.rules[seq], Since: -1, Next: one.next}
	if before := j.at(one.previous); before != nil {
		e.Since = one.arrived.Sub(before.arrived)
	}
	if one.tries != nil {
		e.Tries = slices.Clip(one.tries.seqs) // only ever appended to; a copy is long after thousands of refusals
		at, _ := slices.BinarySearch(e.Tries, seq)
		e.Try = at + 1
	}
	return e, true
}

// Span returns the seqs of the first and the last request; there is none if last is before first.
func (j *Journal) Span() (first, last int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.first, j.first + len(j.list) - 1
}

// Dropped returns how many requests the fake's journal has dropped for newer ones.
func (j *Journal) Dropped() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.list) == 0 {
		return 0
	}
	return max(j.first-j.begun, 0)
}

// Violations returns how many violations there are, those of requests that were dropped included.
func (j *Journal) Violations() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.violations
}
