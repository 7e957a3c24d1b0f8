// Package journal reads and filters the journal of a fake. To each request it adds its violations
// and the time since the last request of its key.
package journal

import (
	"bytes"
	"fmt"
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

// Entry is a request of the journal, with what follows for it from the other requests. It never
// changes: a response makes another Entry.
type Entry struct {
	fake.Request

	// Sender names the key that the request came with.
	Sender string
	// Violations are the violations by this request.
	Violations []fake.Violation
	// Since is the time since the last request of the same key, negative if there is none.
	Since time.Duration
	// Ended is when the response came, Reset when it says that the key's window ends, and Wait its
	// Retry-After. All are zero while there is none.
	Ended, Reset time.Time
	Wait         time.Duration

	text []byte // what Find looks through besides the bodies, in lower case
}

// Pending reports whether a request has no response and may still get one. A request that never
// gets one has a hint that says why.
func Pending(r fake.Request) bool { return r.StatusCode == 0 && r.Hint == "" }

// Pending reports whether there is no response yet.
func (e *Entry) Pending() bool { return Pending(e.Request) }

// RetryAt is when the key may send again after a 429, zero for another response.
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
	srv *fake.Server

	mu         sync.Mutex
	begun      int // seq of the first request since the journal was cleared
	first      int // seq of list[0]
	list       []*Entry
	keys       int               // that the fake knew when the list was read
	last       map[int]time.Time // when the last request of each key came
	rules      map[int][]fake.Violation
	violations int // that were in rules so far
}

// New returns the journal of a fake that has no requests yet.
func New(srv *fake.Server) *Journal {
	j := &Journal{srv: srv}
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
	j.first, j.list, j.keys, j.last = first, nil, len(j.srv.Keys()), make(map[int]time.Time)
}

// Clear clears the fake's journal. The numbers of the requests go on, and the violations stay.
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

// update reads the changes of the fake's journal. The caller holds mu.
func (j *Journal) update() {
	if j.keys != len(j.srv.Keys()) {
		j.restart(j.first) // entries may contain a key that was unknown, and so not redacted, when they were read
	}
	var news []fake.Request
	look := func(seq int) {
		if r, ok := j.srv.Request(seq); ok {
			news = append(news, r)
		}
	}
	for _, e := range j.list {
		if e.Pending() {
			look(e.Seq)
		}
	}
	for seq := j.first + len(j.list); seq <= j.srv.Arrived(); seq++ {
		look(seq)
	}
	if len(news) > 0 {
		all := j.srv.Violations() // read after the requests: a request with a response gets no further violation
		for _, v := range all[j.violations:] {
			j.rules[v.Seq] = append(j.rules[v.Seq], v)
		}
		j.violations = len(all)
	}
	for _, r := range news {
		j.put(r)
	}
	j.trim()
}

// put adds a request, or what is new about it.
func (j *Journal) put(r fake.Request) {
	e := &Entry{Request: r, Sender: j.sender(r), Violations: j.rules[r.Seq], Since: -1}
	if !e.Pending() {
		e.Ended = r.Time.Add(r.Duration)
		outcome := ratelimit.OutcomeOf(&http.Response{Header: r.ResponseHeader}, e.Ended, e.Ended)
		e.Reset, e.Wait = outcome.Window.Reset, outcome.RetryAfter
	}
	e.text = e.searchText()
	at := r.Seq - j.first
	if at < len(j.list) {
		e.Since, j.list[at] = j.list[at].Since, e
		return
	}
	if at > len(j.list) { // the fake has dropped what came between
		j.restart(r.Seq)
	}
	if before, known := j.last[r.Key]; known && r.Key != 0 {
		e.Since = r.Time.Sub(before)
	}
	j.last[r.Key] = r.Time
	j.list = append(j.list, e)
}

// trim removes the entries that the fake's journal has dropped.
func (j *Journal) trim() {
	gone := sort.Search(len(j.list), func(i int) bool {
		_, ok := j.srv.Request(j.first + i)
		return ok
	})
	if gone > 0 {
		j.first, j.list = j.first+gone, slices.Clone(j.list[gone:])
		maps.DeleteFunc(j.rules, func(seq int, _ []fake.Violation) bool { return seq < j.first })
	}
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

// KeyName names a key with enough to recognise it and too little to use it. The default key is
// shown whole, since the documentation has it. Others get their number, since they may begin alike.
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
