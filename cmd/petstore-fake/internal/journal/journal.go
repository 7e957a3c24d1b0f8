// Package journal reads and filters the journal of a fake. To each request it adds its violations,
// the time since the last request of its key, and which requests are tries of the same call.
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
	"github.com/petstore/petstore-go/ratelimit"
)

// RetryGap is the longest time between a failure and a request that is taken for its retry: the
// minute for which the service tells clients to wait, and as long again for a backoff.
const RetryGap = 2 * time.Minute

// Entry is a request of the journal with what the other requests say about it.
type Entry struct {
	fake.Request

	// Violations are the violations by this request.
	Violations []fake.Violation
	// Since is the time since the last request of the same key, negative if there is none.
	Since time.Duration
	// Tries are the seqs of the tries of the same call, as far as can be guessed, and Try is the
	// number of this one among them, from 1. A request that is the only try has none, and 0.
	Tries []int
	Try   int
}

// Summary is what is known of a request without reading its entry in the fake's journal.
type Summary struct {
	Seq    int
	Key    int
	Status int       // 0 while there is no response, or if there was none
	Ended  time.Time // zero while there is no response
	Reset  time.Time // the end of the key's window, zero if the response has none
}

// State is what is known of the journal as a whole.
type State struct {
	// Number is that of the journal: each process and each clearing begins another.
	Number int64
	// Dropped is how many requests the fake's journal has dropped for newer ones.
	Dropped int
	// Violations is the number of violations, those of requests that were dropped included.
	Violations int
}

// record is what a request has besides its entry in the fake's journal.
type record struct {
	Summary
	call    uint64 // what two tries of a call have in common: a hash of key, method, path and body
	failed  bool   // and nothing has retried it yet
	arrived time.Time
	since   time.Duration // the last request of its key, negative for none
	tries   *[]int        // shared by the tries of its call; nil for the only one
}

// Journal is the journal of a fake with a record for each request. It is safe for concurrent use.
type Journal struct {
	srv  *fake.Server
	seed maphash.Seed

	mu         sync.Mutex
	number     int64
	begun      int // seq of the first request since the journal was cleared
	first      int // seq of list[0]
	list       []record
	lastOf     map[int]int // the last request of each key
	rules      map[int][]fake.Violation
	violations int
}

// New returns the journal of a fake that has no requests yet.
func New(srv *fake.Server) *Journal {
	j := &Journal{srv: srv, seed: maphash.MakeSeed(), number: time.Now().UnixNano()}
	j.forget(1)
	return j
}

// forget begins another journal, whose first request has the number begun. The caller holds mu.
func (j *Journal) forget(begun int) {
	j.number, j.begun = j.number+1, begun
	j.rules = make(map[int][]fake.Violation)
	j.restart(begun)
}

// restart removes all records; the seq of the next request is first.
func (j *Journal) restart(first int) {
	j.first, j.list, j.lastOf = first, nil, make(map[int]int)
}

// Clear clears the fake's journal. Its requests count on, and its violations stay.
func (j *Journal) Clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.update() // so that what is cleared does not count as dropped
	j.srv.ClearRequests()
	j.forget(j.first + len(j.list))
}

// Restart puts the fake back to its start.
func (j *Journal) Restart() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.srv.Reset()
	j.violations = 0
	j.forget(1)
}

// Update reads the changes of the fake's journal.
func (j *Journal) Update() State {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.update()
	return State{j.number, j.first - j.begun, j.violations}
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
	e := Entry{Request: r, Violations: j.rules[seq], Since: one.since}
	if one.tries != nil {
		e.Tries = slices.Clip(*one.tries) // only ever appended to; a copy is long after thousands of refusals
		at, _ := slices.BinarySearch(e.Tries, seq)
		e.Try = at + 1
	}
	return e, true
}

// Requests returns all requests as of the last Update, oldest first. Entry, which copies a request,
// is for those that are looked at.
func (j *Journal) Requests() []Summary {
	j.mu.Lock()
	defer j.mu.Unlock()
	list := make([]Summary, len(j.list))
	for i := range j.list {
		list[i] = j.list[i].Summary
	}
	return list
}

// update is Update for a caller that holds mu.
func (j *Journal) update() {
	changed := false
	for i := range j.list {
		if one := &j.list[i]; one.Ended.IsZero() {
			changed = true
			if r, ok := j.srv.Request(one.Seq); ok {
				settle(one, r)
			}
		}
	}
	if arrived := j.arrivals(); !changed && !arrived {
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
	last := j.srv.Arrived()
	for seq := next; seq <= last; seq++ {
		r, ok := j.srv.Request(seq)
		if !ok {
			continue
		}
		if seq != j.first+len(j.list) { // the journal has dropped what came between
			j.restart(seq)
		}
		j.add(r)
	}
	return next <= last
}

// add appends a request.
func (j *Journal) add(r fake.Request) {
	one := record{Summary: Summary{Seq: r.Seq, Key: r.Key}, arrived: r.Time, since: -1}
	one.call = maphash.Comparable(j.seed, [4]string{strconv.Itoa(r.Key), r.Method, r.Path, string(r.Body)})
	if before := j.find(j.lastOf[r.Key]); before != nil && r.Key != 0 {
		one.since = r.Time.Sub(before.arrived)
	}
	j.lastOf[r.Key] = r.Seq
	one.tries = j.retried(one)
	j.list = append(j.list, one)
	settle(&j.list[len(j.list)-1], r)
}

// retried returns the tries that a request belongs to, nil for none. It is taken for a retry of the
// oldest request with the same key, method, path and body that got a 429, a 5xx or no whole
// response, and that nothing has retried yet. It is a guess: nothing in a request says so.
func (j *Journal) retried(one record) *[]int {
	for i := range j.list {
		failure := &j.list[i]
		if !failure.failed || failure.call != one.call {
			continue
		}
		// One that ended later was in flight at the same time.
		if gap := one.arrived.Sub(failure.Ended); gap < 0 || gap > RetryGap {
			continue
		}
		failure.failed = false
		if failure.tries == nil {
			failure.tries = &[]int{failure.Seq}
		}
		*failure.tries = append(*failure.tries, one.Seq)
		return failure.tries
	}
	return nil
}

// settle records the response of a request, if there is one.
func settle(one *record, r fake.Request) {
	if Pending(r) {
		return
	}
	one.Status, one.Ended = r.StatusCode, r.Time.Add(r.Duration)
	one.Reset = ratelimit.OutcomeOf(&http.Response{Header: r.ResponseHeader}, time.Time{}, time.Time{}).Window.Reset
	one.failed = r.StatusCode == 0 || r.StatusCode == http.StatusTooManyRequests || r.StatusCode >= 500 || cutOff(r)
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
	gone := sort.Search(len(j.list), func(i int) bool {
		_, ok := j.srv.Request(j.first + i)
		return ok
	})
	if gone == 0 {
		return // most often
	}
	j.first, j.list = j.first+gone, j.list[gone:]
	maps.DeleteFunc(j.rules, func(seq int, _ []fake.Violation) bool { return seq < j.first })
}

// find returns the record of a request, nil if there is none. The caller holds mu.
func (j *Journal) find(seq int) *record {
	if seq < j.first || seq >= j.first+len(j.list) {
		return nil
	}
	return &j.list[seq-j.first]
}
