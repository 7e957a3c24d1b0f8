// Package journal reads and filters the journal of a fake. To each request it adds its violations,
// the time since the last request of its key, and which requests are tries of the same call.
package journal

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"maps"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/ratelimit"
)

// RetryGap is the longest time between a failure and a request that is taken for its retry: the
// minute for which the service tells clients to wait, and as long again for a backoff.
const RetryGap = 2 * time.Minute

// Entry is a request of the journal with what the other requests say about it. It never changes: a
// response makes another Entry.
type Entry struct {
	fake.Request

	// Sender names the key that the request came with.
	Sender string
	// Violations are the violations by this request.
	Violations []fake.Violation
	// Since is the time since the last request of the same key, negative if there is none.
	Since time.Duration
	// First is the first try of its call, as far as can be guessed: the request itself, unless it
	// is a retry. Try counts from 1.
	First, Try int

	// Ended is when the response came, Reset when it says that the key's window ends, and Wait its
	// Retry-After. All are zero while there is none.
	Ended, Reset time.Time
	Wait         time.Duration

	call uint64 // what two tries of a call have in common: a hash of key, method, path and body
	text []byte // what Find looks through besides the bodies, in lower case
}

// Pending reports whether a request has no response and may still get one. One that gets none has a
// hint that says why.
func Pending(r fake.Request) bool { return r.StatusCode == 0 && r.Hint == "" }

// Pending reports whether there is no response yet.
func (e *Entry) Pending() bool { return Pending(e.Request) }

// RetryAt is when a 429 lets the key come back, zero for another response.
func (e *Entry) RetryAt() time.Time {
	if e.StatusCode != http.StatusTooManyRequests {
		return time.Time{}
	}
	return e.Ended.Add(e.Wait)
}

// State is what is known of the journal as a whole.
type State struct {
	// Dropped is how many requests the fake's journal has dropped for newer ones.
	Dropped int
	// Violations is the number of violations, those of requests that were dropped included.
	Violations int
	// List are the requests, oldest first.
	List []*Entry
}

// Entry returns a request, nil if the journal does not hold it.
func (s *State) Entry(seq int) *Entry {
	if len(s.List) == 0 || seq < s.List[0].Seq || seq > s.List[len(s.List)-1].Seq {
		return nil
	}
	return s.List[seq-s.List[0].Seq]
}

// Journal is the journal of a fake. It is safe for concurrent use.
type Journal struct {
	srv  *fake.Server
	seed maphash.Seed

	mu         sync.Mutex
	begun      int // seq of the first request since the journal was cleared
	first      int // seq of list[0]
	list       []*Entry
	keys       int              // that the fake knew when the list was read
	lastOf     map[int]*Entry   // the last request of each key
	failed     map[uint64][]int // the failures of each call that nothing has retried yet
	tries      map[int][]int    // the tries of each call with more than one, by the first
	rules      map[int][]fake.Violation
	violations int // that are in rules, or were
}

// New returns the journal of a fake that has no requests yet.
func New(srv *fake.Server) *Journal {
	j := &Journal{srv: srv, seed: maphash.MakeSeed()}
	j.forget(1)
	return j
}

// forget begins another journal, whose first request has the number begun. The caller holds mu.
func (j *Journal) forget(begun int) {
	j.begun, j.rules = begun, make(map[int][]fake.Violation)
	j.restart(begun)
}

// restart removes all entries; the seq of the next request is first.
func (j *Journal) restart(first int) {
	j.first, j.list, j.keys = first, nil, len(j.srv.Keys())
	j.lastOf, j.failed, j.tries = make(map[int]*Entry), make(map[uint64][]int), make(map[int][]int)
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

// Read returns the journal as it is now.
func (j *Journal) Read() State {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.update()
	return State{j.first - j.begun, j.violations, slices.Clone(j.list)}
}

// Tries returns the seqs of the tries of a request's call, nil if it is the only one.
func (j *Journal) Tries(e *Entry) []int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clip(j.tries[e.First]) // only ever appended to
}

// update reads the changes of the fake's journal. The caller holds mu.
func (j *Journal) update() {
	if j.keys != len(j.srv.Keys()) {
		j.restart(j.first) // what was read may have a key in it that nobody knew then
	}
	var news []fake.Request
	for _, e := range j.list {
		if e.Pending() {
			if r, ok := j.srv.Request(e.Seq); ok {
				news = append(news, r)
			}
		}
	}
	for seq := j.first + len(j.list); seq <= j.srv.Arrived(); seq++ {
		if r, ok := j.srv.Request(seq); ok {
			news = append(news, r)
		}
	}
	all := j.srv.Violations() // after the requests: none is added once there is a response
	for _, v := range all[min(j.violations, len(all)):] {
		j.rules[v.Seq] = append(j.rules[v.Seq], v)
	}
	j.violations = len(all)
	for _, r := range news {
		j.put(r)
	}
	j.trim()
}

// put adds a request, or what is new about it.
func (j *Journal) put(r fake.Request) {
	if at := r.Seq - j.first; at < len(j.list) {
		j.list[at] = j.settled(*j.list[at], r)
		return
	}
	if r.Seq != j.first+len(j.list) { // the fake has dropped what came between
		j.restart(r.Seq)
	}
	j.list = append(j.list, j.settled(j.arrived(r), r))
}

// arrived returns the entry of a new request as its arrival makes it.
func (j *Journal) arrived(r fake.Request) Entry {
	e := Entry{Request: r, Since: -1, First: r.Seq, Try: 1, Sender: j.sender(r)}
	e.call = maphash.Comparable(j.seed, [4]string{strconv.Itoa(r.Key), r.Method, r.Path, string(r.Body)})
	if before := j.lastOf[r.Key]; before != nil && r.Key != 0 {
		e.Since = r.Time.Sub(before.Time)
	}
	if seq := j.retried(e); seq != 0 {
		e.First = j.list[seq-j.first].First
		if j.tries[e.First] == nil {
			j.tries[e.First] = []int{e.First}
		}
		j.tries[e.First] = append(j.tries[e.First], r.Seq)
		e.Try = len(j.tries[e.First])
	}
	j.lastOf[r.Key] = &e
	return e
}

// retried returns the request that one is taken for a retry of, 0 for none: the oldest with the
// same key, method, path and body that got a 429, a 5xx or no whole response, and that nothing has
// retried yet. It is a guess: nothing in a request says so.
func (j *Journal) retried(e Entry) int {
	failed := j.failed[e.call]
	for i, seq := range failed {
		if seq < j.first {
			continue
		}
		// One that ended later was in flight at the same time.
		if gap := e.Time.Sub(j.list[seq-j.first].Ended); gap >= 0 && gap <= RetryGap {
			j.failed[e.call] = slices.Delete(failed, i, i+1)
			return seq
		}
	}
	return 0
}

// settled returns an entry with the response of its request, if there is one.
func (j *Journal) settled(e Entry, r fake.Request) *Entry {
	e.Request, e.Violations = r, j.rules[r.Seq]
	if !e.Pending() {
		e.Ended = r.Time.Add(r.Duration)
		outcome := ratelimit.OutcomeOf(&http.Response{Header: r.ResponseHeader}, e.Ended, e.Ended)
		e.Reset, e.Wait = outcome.Window.Reset, outcome.RetryAfter
		if r.StatusCode == http.StatusTooManyRequests || r.StatusCode == 0 || r.StatusCode >= 500 || cutOff(r) {
			j.failed[e.call] = append(j.failed[e.call], r.Seq)
		}
	}
	e.text = e.searchText()
	return &e
}

// cutOff reports whether a response ended before its announced length.
func cutOff(r fake.Request) bool {
	announced, err := strconv.Atoi(r.ResponseHeader.Get("Content-Length"))
	return err == nil && len(r.ResponseBody) < announced && r.Method != http.MethodHead
}

// trim removes the entries that the fake's journal has dropped.
func (j *Journal) trim() {
	gone := sort.Search(len(j.list), func(i int) bool {
		_, ok := j.srv.Request(j.first + i)
		return ok
	})
	if gone == 0 {
		return // most often
	}
	j.first, j.list = j.first+gone, slices.Clone(j.list[gone:])
	old := func(seq int) bool { return seq < j.first }
	maps.DeleteFunc(j.rules, func(seq int, _ []fake.Violation) bool { return old(seq) })
	maps.DeleteFunc(j.failed, func(_ uint64, seqs []int) bool { return old(seqs[len(seqs)-1]) })
	maps.DeleteFunc(j.tries, func(_ int, seqs []int) bool { return old(seqs[len(seqs)-1]) })
}

// searchText returns what Find looks through: what the page shows of a request, and its headers.
func (e *Entry) searchText() []byte {
	all := fmt.Appendf(nil, "%s %s %s\n%s\n%s\n%v\n", e.Operation, e.Method, e.Path, e.Sender, e.Hint, e.Violations)
	if e.FaultEffect != "" {
		all = fmt.Appendf(all, "fault %s\n", e.FaultEffect)
	}
	if e.Repeats != 0 {
		all = fmt.Appendf(all, "repeat of %d\n", e.Repeats)
	}
	for _, h := range []http.Header{e.Header, e.ResponseHeader} {
		for name, values := range h {
			all = fmt.Appendf(all, "%s: %s\n", name, strings.Join(values, ", "))
		}
	}
	return bytes.ToLower(all)
}

// sender returns the name of the key that a request came with.
func (j *Journal) sender(r fake.Request) string {
	switch {
	case r.Key > 0:
		return KeyName(r.Key, j.srv.Keys()[r.Key-1])
	case r.Header.Get("Authorization") == "":
		return noKey
	}
	return unknownKey
}

// What is shown in place of the name of a key.
const noKey, unknownKey = "no key", "unknown key"

// KeyName names a key with enough to recognise it and too little to use it. The default key is in
// the documentation; others may begin alike.
func KeyName(number int, key string) string {
	const shown, long = 3, 12
	switch {
	case key == fake.DefaultAPIKey:
		return key
	case len(key) < long:
		return "… #" + strconv.Itoa(number)
	}
	return key[:shown] + "… #" + strconv.Itoa(number)
}
