package fake

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Request is a request that arrived, with its response. The credentials of its Authorization header
// are redacted.
type Request struct {
	Seq       int    // counts requests from 1, in the order in which they arrived completely
	Operation string // its name (section 4), empty if the request fits none
	Key       int    // number of the API key, 0 without a valid one: see [Server.Keys]
	Method    string
	Path      string // with the query
	Header    http.Header
	Body      []byte // as far as the server read it, at most 1 MiB

	StatusCode     int         // of the response; 0 if there was none, or none yet
	ResponseHeader http.Header // without what net/http adds; nil if there is no response
	ResponseBody   []byte

	// Time is when the request arrived, and Duration how long it took until the response began,
	// both by the server's clock.
	Time     time.Time
	Duration time.Duration

	FaultEffect string // what an injected fault did; empty without one
	Hint        string // why the request was refused, with the section of the document; or empty
}

// Requests returns the journal, oldest first: the last 10,000 requests (see [WithJournal]), or as
// many of them as 64 MiB hold with their headers, bodies and responses. A request is in the journal
// once it has arrived completely. Its response is there before the client gets the first byte.
// Requests that a [WireRefuse] kept away never arrived. The result is the caller's own.
func (s *Server) Requests() []Request { return s.RequestsAfter(0, s.config.journal) }

// RequestsAfter returns at most n requests of the journal that come after the one with that Seq,
// oldest first. A page that shows the journal asks for those after the last one whose response it
// has: the cost depends on n, not on the length of the journal. [Server.Reset] begins with Seq 1
// again.
func (s *Server) RequestsAfter(seq, n int) []Request {
	j := &s.journal
	j.mu.Lock()
	from := min(max(seq-j.dropped(), 0), len(j.entries))
	requests := make([]Request, min(len(j.entries)-from, max(n, 0)))
	for i := range requests {
		requests[i] = *j.entries[from+i]
	}
	j.mu.Unlock()
	for i := range requests {
		r := &requests[i]
		r.Header, r.ResponseHeader = r.Header.Clone(), r.ResponseHeader.Clone()
		maps.DeleteFunc(r.ResponseHeader, func(_ string, values []string) bool { return len(values) == 0 })
		r.Body, r.ResponseBody = slices.Clone(r.Body), slices.Clone(r.ResponseBody)
	}
	return requests
}

// RequestsOf is like [Server.Requests], for one operation, or for all if operation is empty.
func (s *Server) RequestsOf(operation string) []Request {
	check("RequestsOf", checkOperation(operation))
	return slices.DeleteFunc(s.Requests(), func(r Request) bool {
		return operation != "" && r.Operation != operation
	})
}

// RequestsFor is like [Server.Requests], for the requests that came with a key.
func (s *Server) RequestsFor(key string) []Request {
	number := s.mustFind("RequestsFor", key).number
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.Key != number })
}

// WaitForRequests returns as soon as n requests have arrived since the server was made or reset,
// those that the journal dropped included. It returns an error if the server is closed, or, with
// the cause, if ctx ends before. A request has arrived when it is in the journal; its response may
// be still to come.
func (s *Server) WaitForRequests(ctx context.Context, n int) error {
	must(n >= 0, "WaitForRequests", "%d is a negative number of requests", n)
	j := &s.journal
	stop := context.AfterFunc(ctx, func() {
		j.mu.Lock() // so that no waiter has looked at ctx and does not wait yet
		defer j.mu.Unlock()
		j.arrival.Broadcast()
	})
	defer stop()
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.seq < n {
		if err := cmp.Or(context.Cause(ctx), j.closed); err != nil {
			return fmt.Errorf("fake: %d of %d requests arrived: %w", j.seq, n, err)
		}
		j.arrival.Wait()
	}
	return nil
}

// String returns the request and its response as one line.
func (r Request) String() string {
	line := fmt.Sprintf("#%d %s %s", r.Seq, r.Method, r.Path)
	if len(r.Body) > 0 {
		line += " " + quote(string(r.Body))
	}
	status := "no response"
	if r.StatusCode != 0 {
		status = fmt.Sprint(r.StatusCode)
	}
	line += " → " + status
	if r.FaultEffect != "" {
		line += ", by a fault"
	}
	if r.Hint != "" {
		line += ": " + r.Hint
	}
	return line
}

// The bounds of the journal: requests, and the bytes that they take.
const (
	defaultJournal  = 10_000
	maxJournalBytes = 64 << 20
)

// journal keeps the last requests and the violations.
type journal struct {
	mu         sync.Mutex
	limit      int
	seq        int
	bytes      int
	entries    []*Request // the last ones, without gaps
	violations []Violation
	closed     error      // why no request arrives any more
	arrival    *sync.Cond // of a request; unlike a channel, it may wake goroutines of several bubbles
}

func (j *journal) reset(limit int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.limit, j.seq, j.bytes, j.entries, j.violations = limit, 0, 0, nil, nil
}

// dropped returns the number of requests that are not in the journal any more. The caller holds mu.
func (j *journal) dropped() int { return j.seq - len(j.entries) }

// arrive adds a request to the journal once it has arrived completely, and notes its violations.
func (x *exchange) arrive() {
	e := &Request{
		Operation: x.route.operation, Method: x.method, Path: x.req.URL.RequestURI(),
		Header: x.req.Header.Clone(), Body: x.body, Time: x.arrived.Round(0),
	}
	for i, v := range e.Header["Authorization"] {
		// The scheme stays, which tests look at, unless there may be a key in its place.
		scheme, _, ok := strings.Cut(v, " ")
		if !ok || !strings.EqualFold(scheme, "Bearer") {
			scheme = ""
		}
		e.Header["Authorization"][i] = strings.TrimSpace(scheme + " [redacted]")
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
	if x.key != nil {
		x.key.noteRequest(x)
	}
}

// finish puts the response into the journal, before the client gets it.
func (x *exchange) finish(a *response) {
	x.ended = true
	now := x.srv.Now()
	if x.key != nil {
		x.key.noteResponse(x, a, now)
	}
	j, e := &x.srv.journal, x.entry
	j.mu.Lock()
	defer j.mu.Unlock()
	before := e.size()
	e.Duration, e.StatusCode, e.ResponseHeader, e.ResponseBody = now.Sub(x.arrived), a.status, a.header, a.body
	e.Hint = a.hint
	if x.fault != noFault {
		e.FaultEffect = x.fault.String()
	}
	if i := e.Seq - j.dropped() - 1; i >= 0 && i < len(j.entries) && j.entries[i] == e { // it was not dropped meanwhile
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

// size returns roughly how many bytes of memory a request takes, without its headers, of which
// net/http accepts 64 KiB.
func (r *Request) size() int { return 4096 + len(r.Path) + len(r.Body) + len(r.ResponseBody) }

// close ends the waits for requests.
func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = closedError{}
	j.arrival.Broadcast()
}
