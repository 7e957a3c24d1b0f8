package requestpage

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
)

// retryGap is the longest time between a failure and a request that is taken for its retry: the minute
// for which the service tells clients to wait, and as long again for a backoff.
const retryGap = 2 * time.Minute

// visit is what the page knows about a request besides what is in the journal.
type visit struct {
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

// tries are the requests that are taken for tries of one call: the same key sent the same again after a
// 429, a 5xx or no whole response. That is a guess, since nothing in a request says so.
type tries struct{ seqs []int }

// visits follows the journal, which it reads only while somebody looks at the page. It is safe for
// concurrent use.
type visits struct {
	srv  *fake.Server
	seed maphash.Seed

	mu      sync.Mutex
	journal int64
	first   int // seq of list[0]
	list    []visit
	open    map[int]bool   // requests without a response
	lastOf  map[int]int    // the last request of each key
	failed  map[call][]int // failures that have no retry yet, oldest first
	rules   map[int][]fake.Violation
	noticed int // how many violations there are
}

func newVisits(srv *fake.Server) *visits {
	v := &visits{srv: srv, seed: maphash.MakeSeed()}
	v.forget(0)
	return v
}

// forget starts with another journal. The caller holds mu.
func (v *visits) forget(journal int64) {
	v.journal, v.noticed = journal, 0
	v.rules = make(map[int][]fake.Violation)
	v.restart(1)
}

// restart forgets all requests; the next is first.
func (v *visits) restart(first int) {
	v.first, v.list = first, nil
	v.open, v.lastOf, v.failed = make(map[int]bool), make(map[int]int), make(map[call][]int)
}

// update reads what has changed in the journal.
func (v *visits) update(journal int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if journal != v.journal {
		v.forget(journal)
	}
	for _, seq := range slices.Sorted(maps.Keys(v.open)) {
		if r, ok := v.srv.Request(seq); ok {
			v.settle(r)
		}
	}
	for _, r := range v.arrivals() {
		v.add(r)
	}
	v.trim()
	all := v.srv.Violations()
	for _, violation := range all[min(v.noticed, len(all)):] {
		v.rules[violation.Seq] = append(v.rules[violation.Seq], violation)
	}
	v.noticed = len(all)
}

// arrivals returns the requests that came after those of the list.
func (v *visits) arrivals() (list []fake.Request) {
	const few = 200 // more are cheaper in one piece
	next := v.first + len(v.list)
	last, ok := v.srv.LastRequest()
	switch {
	case !ok || last.Seq < next:
		return nil
	case last.Seq-next >= few:
		list = slices.DeleteFunc(v.srv.Requests(), func(r fake.Request) bool { return r.Seq < next })
	default:
		for seq := next; seq <= last.Seq; seq++ {
			if r, ok := v.srv.Request(seq); ok {
				list = append(list, r)
			}
		}
	}
	if len(list) > 0 && list[0].Seq != next { // the journal has dropped what came between
		v.restart(list[0].Seq)
	}
	return list
}

// add appends a request.
func (v *visits) add(r fake.Request) {
	one := visit{call: call{key: r.Key, sum: v.sum(r)}, arrived: r.Time}
	if before := v.at(v.lastOf[r.Key]); before != nil && r.Key != 0 {
		one.previous, before.next = v.lastOf[r.Key], r.Seq
	}
	v.lastOf[r.Key] = r.Seq
	one.tries = v.retried(r.Seq, one)
	v.list = append(v.list, one)
	v.open[r.Seq] = true
	v.settle(r)
}

// sum is a digest of what is the same in every try of a call.
func (v *visits) sum(r fake.Request) uint64 {
	var h maphash.Hash
	h.SetSeed(v.seed)
	for _, part := range []string{r.Method, " ", r.Path, " "} {
		_, _ = h.WriteString(part) // it cannot fail
	}
	_, _ = h.Write(r.Body)
	return h.Sum64()
}

// retried returns the tries that a request belongs to: those of the oldest failure of the same call that
// nothing has retried yet. It returns nil if there is none.
func (v *visits) retried(seq int, one visit) *tries {
	waiting := v.failed[one.call]
	for len(waiting) > 0 {
		first := waiting[0]
		before := v.at(first)
		if before != nil && before.ended.After(one.arrived) {
			return nil // it was under way at the same time
		}
		waiting = waiting[1:]
		v.failed[one.call] = waiting
		if before == nil || one.arrived.Sub(before.ended) > retryGap {
			continue
		}
		if before.tries == nil {
			before.tries = &tries{[]int{first}}
		}
		before.tries.seqs = append(before.tries.seqs, seq)
		return before.tries
	}
	delete(v.failed, one.call)
	return nil
}

// settle takes the response of a request over, if there is one.
func (v *visits) settle(r fake.Request) {
	one := v.at(r.Seq)
	if one == nil || pending(r) {
		return
	}
	delete(v.open, r.Seq)
	one.ended = r.Time.Add(r.Duration)
	if r.StatusCode == 0 || r.StatusCode == http.StatusTooManyRequests || r.StatusCode >= 500 || cutOff(r) {
		v.failed[one.call] = append(v.failed[one.call], r.Seq)
	}
}

// pending reports whether a request has no response and may still get one. A request that gets none has
// a hint that says why.
func pending(r fake.Request) bool { return r.StatusCode == 0 && r.Hint == "" }

// cutOff reports whether a response ended before its announced length.
func cutOff(r fake.Request) bool {
	announced, err := strconv.Atoi(r.AnswerHeader.Get("Content-Length"))
	return err == nil && len(r.Answer) < announced && r.Method != http.MethodHead
}

// trim drops what the journal has dropped.
func (v *visits) trim() {
	gone := sort.Search(len(v.list), func(i int) bool {
		_, ok := v.srv.Request(v.first + i)
		return ok
	})
	if gone == 0 {
		return
	}
	v.first, v.list = v.first+gone, v.list[gone:]
	for c, waiting := range v.failed {
		waiting = slices.DeleteFunc(waiting, func(seq int) bool { return seq < v.first })
		if v.failed[c] = waiting; len(waiting) == 0 {
			delete(v.failed, c)
		}
	}
	maps.DeleteFunc(v.open, func(seq int, _ bool) bool { return seq < v.first })
	maps.DeleteFunc(v.rules, func(seq int, _ []fake.Violation) bool { return seq < v.first })
}

// at returns the visit of a request, nil if there is none. The caller holds mu.
func (v *visits) at(seq int) *visit {
	if seq < v.first || seq >= v.first+len(v.list) {
		return nil
	}
	return &v.list[seq-v.first]
}

// entry is a request of the journal with what the page knows about it.
type entry struct {
	fake.Request
	visit

	violations []fake.Violation
	since      time.Duration // since the last request of the same key; negative if there is none
	try        int           // its number among the tries of its call, 0 for the only one
	seqs       []int         // of the tries of its call
}

// entry returns a request as of the last update.
func (v *visits) entry(seq int) (entry, bool) {
	r, found := v.srv.Request(seq)
	v.mu.Lock()
	defer v.mu.Unlock()
	one := v.at(seq)
	if !found || one == nil {
		return entry{}, false
	}
	e := entry{Request: r, visit: *one, violations: v.rules[seq], since: -1}
	if before := v.at(one.previous); before != nil {
		e.since = one.arrived.Sub(before.arrived)
	}
	if one.tries != nil {
		e.seqs = slices.Clone(one.tries.seqs)
		e.try = slices.Index(e.seqs, seq) + 1
	}
	return e, true
}

// span returns the first and the last seq of the journal; there is none if last is before first.
func (v *visits) span() (first, last int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.first, v.first + len(v.list) - 1
}

// violations returns how many violations there are.
func (v *visits) violations() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.noticed
}
