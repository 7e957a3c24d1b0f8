package fake

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Request is an entry of the journal: a request that arrived, with its response. Until it has a
// response, StatusCode is 0 and Hint is empty. The credentials in Authorization are redacted.
type Request struct {
	Seq       int    // counts requests from 1, in the order in which they arrived completely
	Operation string // name of the operation (section 4); empty if there is no such operation
	Key       int    // number of the API key (see [Server.Keys]); 0 without a valid key
	Method    string
	Path      string // with the query
	Header    http.Header
	Body      []byte // at most 64 KiB

	StatusCode     int         // of the response; 0 if there is none
	ResponseHeader http.Header // without headers that net/http adds; a name without values was not sent
	ResponseBody   []byte      // at most 64 KiB

	Time     time.Time     // when the request arrived, by the server's clock
	Duration time.Duration // until the response began

	FaultEffect string // what an injected fault did; empty if no fault applied
	Hint        string // why the request was refused or has no response; otherwise empty
}

// Requests returns the journal, oldest first: the last 10,000 requests (see [WithJournal]). The
// journal gets a request when it has arrived completely, and its response before the client gets
// it. A request that a [WireRefuse] refused never arrives, and is not in the journal.
func (s *Server) Requests() []Request { return s.RequestsAfter(0, s.config.journal) }

// RequestsAfter returns at most n requests of the journal, oldest first: those whose Seq is greater
// than seq. The cost depends on n, not on the length of the journal. After [Server.Reset], the next
// request has Seq 1.
func (s *Server) RequestsAfter(seq, n int) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	dropped := s.lastSeq - len(s.journal)
	from := min(max(seq-dropped, 0), len(s.journal))
	requests := make([]Request, min(len(s.journal)-from, max(n, 0)))
	for i := range requests {
		r := *s.journal[from+i]
		r.Header, r.ResponseHeader = r.Header.Clone(), r.ResponseHeader.Clone()
		r.Body, r.ResponseBody = bytes.Clone(r.Body), bytes.Clone(r.ResponseBody)
		requests[i] = r
	}
	return requests
}

// RequestsOf is like [Server.Requests], for one operation.
func (s *Server) RequestsOf(operation string) []Request {
	panicOn("RequestsOf", checkOperation(operation))
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.Operation != operation })
}

// RequestsFor is like [Server.Requests], for the requests with one API key.
func (s *Server) RequestsFor(key string) []Request {
	var number int
	s.withKey("RequestsFor", key, func(k *apiKey) { number = k.number })
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.Key != number })
}

// WaitForRequests returns as soon as n requests have arrived since the server was made or reset. It
// also counts requests that have no response yet, or that the journal has dropped. It returns an
// error if the server is closed first, or if ctx ends first; that error wraps the cause of ctx.
func (s *Server) WaitForRequests(ctx context.Context, n int) error {
	defer context.AfterFunc(ctx, s.wake)()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.lastSeq < n {
		err := context.Cause(ctx)
		if err == nil && s.closed.Load() {
			err = http.ErrServerClosed
		}
		if err != nil {
			return fmt.Errorf("fake: %d of %d requests arrived: %w", s.lastSeq, n, err)
		}
		s.arrival.Wait()
	}
	return nil
}

// wake makes all goroutines in WaitForRequests check again whether they may return. It takes the
// lock, so that it also wakes a goroutine that has just checked and is about to wait.
func (s *Server) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrival.Broadcast()
}

// String returns the request and its response as one line.
func (r Request) String() string {
	line := fmt.Sprintf("#%d %s %s", r.Seq, r.Method, r.Path)
	result := "no response"
	if len(r.Body) > 0 {
		line += " " + quote(string(r.Body))
	}
	if r.StatusCode != 0 {
		result = strconv.Itoa(r.StatusCode)
	} else if !r.hasResponse() {
		result += " yet"
	}
	line += " → " + result
	if r.FaultEffect != "" {
		line += ", by a fault"
	}
	if r.Hint != "" {
		line += ": " + r.Hint
	}
	return line
}

// hasResponse reports whether the request has a response, or will never have one.
func (r *Request) hasResponse() bool { return r.StatusCode != 0 || r.Hint != "" }

// noteArrival adds a request to the journal once it has arrived completely, and looks for rules
// that it breaks.
func (x *exchange) noteArrival() {
	e := &Request{
		Operation: x.operation.Name, Method: x.req.Method, Path: x.req.URL.RequestURI(),
		Header: x.req.Header.Clone(), Body: kept(x.body), Time: x.arrived.Round(0),
	}
	if x.token != "" {
		e.Header.Set("Authorization", "Bearer [redacted]")
	} else if e.Header["Authorization"] != nil { // what is no token may be a key, too
		e.Header.Set("Authorization", "[redacted]")
	}
	x.entry = e
	s := x.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastSeq++
	e.Seq = s.lastSeq
	s.arrival.Broadcast()
	s.journal = append(s.journal, e)
	if len(s.journal) > s.config.journal {
		s.journal[0] = nil // so that it can be freed
		s.journal = s.journal[1:]
	}
	if x.key != nil {
		e.Key = x.key.number
		x.checkArrival()
	}
}

// noteResponse puts the response into the journal before the client gets it, and remembers what the
// client then knows. A handler of WithHandler may deliver several parts of its response.
func (x *exchange) noteResponse(resp response) {
	x.srv.mu.Lock()
	defer x.srv.mu.Unlock()
	e := x.entry
	if e.hasResponse() {
		e.ResponseBody = resp.body
		return
	}
	e.Duration = x.srv.Now().Sub(x.arrived)
	e.StatusCode, e.Hint = resp.status, resp.hint
	e.ResponseHeader, e.ResponseBody = resp.header, kept(resp.body)
	if x.fault != noFault {
		e.FaultEffect = x.fault.String()
	}
	if x.key != nil {
		x.key.remember(x, resp)
	}
}

// mostKept is how many bytes of a body the journal keeps.
const mostKept = 64 << 10

// kept returns the part of a body that the journal keeps. The rest of the body can be freed.
func kept(body []byte) []byte {
	if len(body) > mostKept {
		return bytes.Clone(body[:mostKept])
	}
	return body
}
