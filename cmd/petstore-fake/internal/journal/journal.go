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
	"github.com/petstore/petstore-go/internal/headers"
)

// RetryGap is the longest time between a failure and a request that is taken for its retry: the
// minute for which the service tells clients to wait, and as long again for a backoff.
const RetryGap = 2 * time.Minute

// record is what a request has besides its entry in the fake's journal.
type record struct {
	Summary
	call    call
	arrived time.Time
	since   time.Duration // the last request of its key, negative for none
	next    int           // the seq of the next request of its key, 0 for none
	tries   *[]int        // shared by the tries of its call; nil for the only one
}

// call is what two tries of a call have in common. Requests are taken for tries of one call if the
// same key sent the same again after a 429, a 5xx or no whole response. That is a guess, since
// nothing in a request says so.
type call struct {
	key int
	sum uint64 // of method, path and body
}

// Journal is the journal of a fake with a record for each request. It is safe for concurrent use.
type Journal struct {
	srv  *fakecontrol.Server
	seed maphash.Seed

	mu         sync.Mutex
	number     int64 // of the journal: each process and each clearing begins another
	begun      int   // seq of the first request since the journal was cleared
	first      int   // seq of list[0]
	list       []record
	open       map[int]bool   // requests without a response
	lastOf     map[int]int    // the last request of each key
	failed     map[call][]int // failures that have no retry yet, oldest first
	rules      map[int][]fake.Violation
	violations int // their number, those of dropped requests included
}

// New returns the journal of a fake that has no requests yet.
func New(srv *fakecontrol.Server) *Journal {
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
	j.first, j.list = first, nil
	j.open, j.lastOf, j.failed = make(map[int]bool), make(map[int]int), make(map[call][]int)
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
	j.srv.Restart()
	j.violations = 0
	j.forget(1)
}

// Update reads the changes of the fake's journal, and returns the number of the journal.
func (j *Journal) Update() (number int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.update()
	return j.number
}

// update is Update for a caller that holds mu.
func (j *Journal) update() {
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
		if seq != j.first+len(j.list) { // the journal has dropped what came between
			j.restart(seq)
		}
		j.add(r)
	}
	return true
}

// add appends a request.
func (j *Journal) add(r fake.Request) {
	one := record{
		Summary: Summary{Seq: r.Seq, Key: r.Key}, call: call{key: r.Key, sum: j.sum(r)}, arrived: r.Time, since: -1,
	}
	if before := j.find(j.lastOf[r.Key]); before != nil && r.Key != 0 {
		one.since, before.next = r.Time.Sub(before.arrived), r.Seq
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
func (j *Journal) retried(seq int, one record) (found *[]int) {
	waiting := j.failed[one.call]
	for len(waiting) > 0 && one.arrived.Sub(j.find(waiting[0]).Ended) > RetryGap {
		waiting = waiting[1:]
	}
	// One that ended later was in flight at the same time.
	if len(waiting) > 0 && !j.find(waiting[0]).Ended.After(one.arrived) {
		failure := j.find(waiting[0])
		if failure.tries == nil {
			failure.tries = &[]int{waiting[0]}
		}
		*failure.tries = append(*failure.tries, seq)
		found, waiting = failure.tries, waiting[1:]
	}
	if j.failed[one.call] = waiting; len(waiting) == 0 {
		delete(j.failed, one.call)
	}
	return found
}

// settle records the response of a request, if there is one.
func (j *Journal) settle(r fake.Request) {
	one := j.find(r.Seq)
	if one == nil || Pending(r) {
		return
	}
	delete(j.open, r.Seq)
	one.Status, one.Ended = r.StatusCode, r.Time.Add(r.Duration)
	one.Reset = headers.RateLimit(r.ResponseHeader).Reset
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

// find returns the record of a request, nil if there is none. The caller holds mu.
func (j *Journal) find(seq int) *record {
	if seq < j.first || seq >= j.first+len(j.list) {
		return nil
	}
	return &j.list[seq-j.first]
}
