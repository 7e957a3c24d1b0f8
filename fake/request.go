package fake

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/petstore/petstore-go/internal/redact"
)

// Request is a request that arrived, with its response. No API key is in it: the credentials
// of Authorization are redacted, and so are the keys the server knows wherever else they are.
type Request struct {
	// Seq counts requests from 1, in the order in which they had arrived whole.
	Seq int
	// Operation is the name of the operation (section 4), empty if the request fits none.
	Operation string
	// Key is the number of the API key it came with, 0 without a valid one. Keys count from 1 in
	// the order in which the server got to know them: [DefaultAPIKey] is 1.
	Key int
	// Method and Path are those of the request; Path has its query.
	Method string
	Path   string
	// Header is the request's header.
	Header http.Header
	// Body is the request's body as far as the server read it, at most 1 MiB.
	Body []byte
	// StatusCode is that of the response; 0 if there was none, or none yet.
	StatusCode int
	// ResponseHeader is the header of the response, but for additions of net/http. Nil if there is
	// no response.
	ResponseHeader http.Header
	// ResponseBody is the body of the response.
	ResponseBody []byte
	// Time is when the request arrived, and Duration how long it took until the response began,
	// both by the server's clock.
	Time     time.Time
	Duration time.Duration
	// FaultEffect says in words what the injected fault does that had a part in the response. It is
	// empty without such a fault.
	FaultEffect string
	// Hint says why the request was refused, with the section of the document; it is empty if it
	// was not.
	Hint string
}

// Requests returns the journal, oldest first: the last 10,000 requests (see [WithJournal]), or as
// many of them as 64 MiB hold with their headers, bodies and responses. A request is in it once it
// has arrived whole, and its response before the client has the first byte of it. Requests that a
// [WireRefuse] kept away never arrived. The result is the caller's own.
func (s *Server) Requests() []Request {
	return own(s.read(func(j *journal) []*entry { return j.entries }))
}

// LastRequest returns the latest request of the journal, and false if there is none. The result is
// the caller's own.
func (s *Server) LastRequest() (Request, bool) {
	return first(own(s.read(func(j *journal) []*entry { return j.find(j.seq) })))
}

// own gives requests bodies of their own.
func own(requests []Request) []Request {
	for i := range requests {
		r := &requests[i]
		r.Body, r.ResponseBody = bytes.Clone(r.Body), bytes.Clone(r.ResponseBody)
	}
	return requests
}

// read returns entries of the journal. Requests share their bodies with it.
func (s *Server) read(pick func(*journal) []*entry) []Request {
	r := s.keys.redactor()
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	entries := pick(&s.journal)
	requests := make([]Request, len(entries))
	for i, e := range entries {
		requests[i] = e.request(r)
	}
	return requests
}

func first(requests []Request) (Request, bool) {
	if len(requests) == 0 {
		return Request{}, false
	}
	return requests[0], true
}

// RequestsOf returns the requests of one operation that are in the journal, oldest first, or all
// requests if operation is empty. It panics on an operation that does not exist. The result belongs
// to the caller.
func (s *Server) RequestsOf(operation string) []Request {
	err := checkOperation(operation)
	must(err == nil, "RequestsOf", "%v", err)
	return slices.DeleteFunc(s.Requests(), func(r Request) bool {
		return operation != "" && r.Operation != operation
	})
}

// RequestsFor returns the requests that came with a key and are in the journal, oldest first. It
// panics on a key that the server does not know. The result belongs to the caller.
func (s *Server) RequestsFor(key string) []Request {
	number := s.mustFind("RequestsFor", key).number
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.Key != number })
}

// WaitForRequests returns as soon as n requests have arrived since the server was made or reset,
// those that the journal dropped included, or with the cause of ctx's end. A request has arrived
// when it is in the journal; its response may be still to come. WaitForRequests panics if n is
// negative.
func (s *Server) WaitForRequests(ctx context.Context, n int) error {
	must(n >= 0, "WaitForRequests", "%d is a negative number of requests", n)
	j := &s.journal
	stop := context.AfterFunc(ctx, func() {
		j.mu.Lock() // so that no waiter is between its look at ctx and its Wait
		defer j.mu.Unlock()
		j.arrival.Broadcast()
	})
	defer stop()
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.seq < n {
		if ctx.Err() != nil {
			return fmt.Errorf("fake: %d of %d requests arrived: %w", j.seq, n, context.Cause(ctx))
		}
		j.arrival.Wait()
	}
	return nil
}

// redact takes the keys out of the bodies, once: bodies are large, and are read again and again.
func (e *entry) redact(r redactor) {
	for i, body := range []*[]byte{&e.Body, &e.reply.body} {
		if e.redacted[i] < len(r) {
			*body = r[e.redacted[i]:].bytes(*body)
			e.redacted[i] = len(r)
		}
	}
}

// request returns the entry, whose bodies it shares. The caller holds the journal's mu.
func (e *entry) request(r redactor) Request {
	e.redact(r)
	q, a := e.Request, &e.reply
	q.Method, q.Path, q.Hint = r.text(q.Method), r.text(q.Path), r.text(a.hint)
	q.Header = redact.Header(withoutCredentials(q.Header), r...)
	q.Time = q.Time.Round(0)
	q.StatusCode, q.ResponseBody = a.status, a.body
	if a.fault != nil {
		q.FaultEffect = r.text(a.fault.effect())
	}
	if a.status != 0 {
		h := make(http.Header, 8)
		a.header(h)
		q.ResponseHeader = redact.Header(h, r...)
	}
	return q
}
