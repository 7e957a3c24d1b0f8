package fake

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// The bounds of the journal: requests, and the bytes that they take.
const (
	defaultJournal  = 10_000
	maxJournalBytes = 64 << 20
)

// journal keeps the last requests and the violations. The requests still contain keys, which are
// taken out when somebody reads them.
type journal struct {
	mu         sync.Mutex
	limit      int
	seq        int
	bytes      int
	entries    []*Request
	violations []Violation
	closed     error      // why no request arrives any more
	arrival    *sync.Cond // of a request; unlike a channel, it may wake goroutines of several bubbles
}

func (j *journal) reset(limit int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.limit, j.seq, j.bytes, j.entries, j.violations = limit, 0, 0, nil, nil
}

// arrive adds a request to the journal once it has arrived completely, and notes its violations.
func (x *exchange) arrive() {
	e := &Request{
		Operation: x.route.operation, Method: x.method, Path: x.req.URL.RequestURI(),
		Header: x.req.Header.Clone(), Body: x.body, Time: x.arrived,
	}
	if x.repeat != nil {
		e.Repeats = x.repeat.of
	}
	if x.key != nil {
		e.Key = x.key.number
	}
	x.entry = e
	j := &x.srv.journal
	j.mu.Lock()
	j.seq++
	e.Seq = j.seq
	j.arrival.Broadcast()
	j.entries = append(j.entries, e)
	j.grow(e.size())
	j.mu.Unlock()
	if x.repeat != nil {
		x.repeat.news <- arrival{seq: e.Seq}
	}
	x.notify()
	x.checkConduct()
}

func (x *exchange) notify() {
	if f := x.srv.onRequest.Load(); f != nil {
		(*f)(x.entry.Seq)
	}
}

func (x *exchange) record(a *response, now time.Time) {
	if x.entry != nil {
		x.noteResponse(a, now)
		x.srv.journal.finish(x.entry, a, now.Sub(x.arrived))
		x.notify()
	}
}

func (j *journal) finish(e *Request, a *response, took time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	before := e.size()
	e.Duration, e.StatusCode, e.ResponseHeader, e.ResponseBody = took, a.status, a.header, a.body
	e.Hint = a.hint
	if a.fault != noFault {
		e.FaultEffect = a.fault.effect()
	}
	if slices.Contains(j.find(e.Seq), e) { // it was not dropped meanwhile
		j.grow(e.size() - before)
	}
}

// grow notes that an entry takes n more bytes, and drops the oldest entries beyond the bounds.
func (j *journal) grow(n int) {
	j.bytes += n
	for len(j.entries) > 0 && (len(j.entries) > j.limit || j.bytes > maxJournalBytes) {
		j.bytes -= j.entries[0].size()
		j.entries[0] = nil
		j.entries = j.entries[1:]
	}
}

// size returns roughly how many bytes of memory a request takes.
func (r *Request) size() int {
	const fixed, field = 512, 64 // bytes of the entry itself, and of each value of a header
	n := fixed + len(r.Path) + len(r.Body) + len(r.ResponseBody) + len(r.Hint)
	for _, h := range []http.Header{r.Header, r.ResponseHeader} {
		for name, values := range h {
			n += len(name)
			for _, v := range values {
				n += field + len(v)
			}
		}
	}
	return n
}

// find returns the entry of a request, an empty list if it is not in the journal. The caller holds
// mu.
func (j *journal) find(seq int) []*Request {
	i := seq - (j.seq - len(j.entries) + 1) // the entries are the last ones, without gaps
	if i < 0 || i >= len(j.entries) {
		return nil
	}
	return j.entries[i : i+1]
}

func (j *journal) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.bytes, j.entries = 0, nil
}

// close ends the waits for requests.
func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = closedError{}
	j.arrival.Broadcast()
}
