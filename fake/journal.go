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

// entry is a Request as the journal keeps it: with the keys, which are taken out when it is read.
type entry struct {
	Request

	size int // bytes of memory, roughly
}

// journal keeps the last requests, and the violations.
type journal struct {
	mu         sync.Mutex
	limit      int
	seq        int
	bytes      int
	entries    []*entry
	violations []Violation
	closed     error      // why no request arrives any more
	arrival    *sync.Cond // of a request; unlike a channel, it may wake goroutines of several bubbles
}

func (j *journal) reset(limit int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.limit, j.seq, j.bytes, j.entries, j.violations = limit, 0, 0, nil, nil
}

// arrive adds a request that has arrived whole, and what is wrong with it.
func (x *exchange) arrive() {
	e := &entry{Request: Request{
		Operation: x.route.operation, Method: x.method, Path: x.req.URL.RequestURI(),
		Header: x.req.Header.Clone(), Body: x.body, Time: x.arrived,
	}}
	if x.key != nil {
		e.Key = x.key.number
	}
	const fixed = 512 // the entry itself
	x.entry = e
	j := &x.srv.journal
	j.mu.Lock()
	j.seq++
	e.Seq = j.seq
	j.arrival.Broadcast()
	j.entries = append(j.entries, e)
	j.grow(e, fixed+len(e.Path)+len(e.Body)+sizeOf(e.Header))
	j.mu.Unlock()
	x.notify()
	x.checkConduct()
}

func (x *exchange) notify() {
	if x.srv.config.notify != nil {
		x.srv.config.notify(x.entry.Seq)
	}
}

// record adds the response to a request that has arrived.
func (x *exchange) record(a *response, now time.Time) {
	if x.entry != nil {
		x.noteResponse(a, now)
		x.srv.journal.finish(x.entry, a, now.Sub(x.arrived))
		x.notify()
	}
}

func (j *journal) finish(e *entry, a *response, took time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Duration, e.StatusCode, e.ResponseHeader, e.ResponseBody = took, a.status, a.header, a.body
	e.Hint = a.hint
	if a.fault != nil {
		e.FaultEffect = a.fault.effect()
	}
	if slices.Contains(j.find(e.Seq), e) { // it was not dropped meanwhile
		j.grow(e, len(a.body)+len(a.hint)+sizeOf(a.header))
	}
}

// grow adds bytes to the size of an entry, and drops the oldest entries beyond the bounds.
func (j *journal) grow(e *entry, n int) {
	e.size += n
	j.bytes += n
	for len(j.entries) > 0 && (len(j.entries) > j.limit || j.bytes > maxJournalBytes) {
		j.bytes -= j.entries[0].size
		j.entries[0] = nil
		j.entries = j.entries[1:]
	}
}

// sizeOf returns roughly how many bytes of memory a header takes.
func sizeOf(h http.Header) (n int) {
	const field = 64
	for name, values := range h {
		n += len(name)
		for _, v := range values {
			n += field + len(v)
		}
	}
	return n
}

// find returns the entry of a request, an empty list if it is not in the journal. The caller holds
// mu.
func (j *journal) find(seq int) []*entry {
	i := seq - (j.seq - len(j.entries) + 1) // the entries are the last ones, without gaps
	if i < 0 || i >= len(j.entries) {
		return nil
	}
	return j.entries[i : i+1]
}

// clear drops all entries and counts on.
func (j *journal) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.bytes, j.entries = 0, nil
}

// close ends the waits for requests.
func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = errClosed
	j.arrival.Broadcast()
}
