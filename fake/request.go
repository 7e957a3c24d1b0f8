package fake

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/petstore/petstore-go/internal/safetext"
)

// Request is a request that arrived, with its response. No API key is in it: the credentials
// of Authorization are redacted, and so are the keys the server knows wherever else they are.
type Request struct {
	Seq       int    // counts requests from 1, in the order in which they arrived completely
	Repeats   int    // Seq of the request that [Server.Repeat] sent again, 0 for a request of a client
	Operation string // its name (section 4), empty if the request fits none
	Key       int    // number of the API key, 0 without a valid one: see [Server.Keys]
	Method    string
	Path      string // with the query
	Header    http.Header
	Body      []byte // as far as the server read it, at most 1 MiB

	StatusCode     int         // of the response; 0 if there was none, or none yet
	ResponseHeader http.Header // without what net/http adds; nil if there is no response
	ResponseBody   []byte      // cut off after 1 MiB

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
func (s *Server) Requests() []Request {
	return s.read(func(j *journal) []*Request { return j.entries })
}

// RequestsAfter returns at most n requests of the journal that come after the one with that Seq,
// oldest first. A page that shows the journal asks for those after the last one whose response it
// has: the cost depends on n, not on the length of the journal. [Server.Reset] begins with Seq 1
// again.
func (s *Server) RequestsAfter(seq, n int) []Request {
	return s.read(func(j *journal) []*Request {
		from := min(max(seq-(j.seq-len(j.entries)), 0), len(j.entries)) // the entries are the last ones, without gaps
		return j.entries[from:min(from+max(n, 0), len(j.entries))]
	})
}

// read returns entries of the journal, without keys.
func (s *Server) read(pick func(*journal) []*Request) []Request {
	keys := s.keys.known()
	s.journal.mu.Lock()
	entries := pick(&s.journal)
	requests := make([]Request, len(entries))
	for i, e := range entries {
		requests[i] = *e
	}
	s.journal.mu.Unlock()
	for i := range requests {
		requests[i].redact(keys)
	}
	return requests
}

// redact takes keys out of a request, and gives it headers and bodies of its own.
func (r *Request) redact(keys []string) {
	for _, text := range []*string{&r.Method, &r.Path, &r.Hint, &r.FaultEffect} {
		*text = safetext.Redact(*text, keys...)
	}
	for _, body := range []*[]byte{&r.Body, &r.ResponseBody} {
		if *body != nil {
			*body = []byte(safetext.Redact(string(*body), keys...))
		}
	}
	r.Header, r.ResponseHeader = r.Header.Clone(), r.ResponseHeader.Clone()
	for _, name := range []string{"Authorization", "Proxy-Authorization"} {
		for i, v := range r.Header[name] {
			r.Header[name][i] = redactCredential(v)
		}
	}
	r.Header, r.ResponseHeader = safetext.Header(r.Header, keys...), safetext.Header(r.ResponseHeader, keys...)
	r.Time = r.Time.Round(0)
}

// redactCredential leaves the scheme, which tests look at, unless there may be a key in its place.
func redactCredential(v string) string {
	if scheme, _, ok := strings.Cut(v, " "); ok && strings.EqualFold(scheme, "Bearer") {
		return scheme + " " + safetext.Mark
	}
	return safetext.Mark
}

// Request returns the request of the journal with that Seq, and false if there is none. It is the
// caller's own.
func (s *Server) Request(seq int) (Request, bool) {
	found := s.read(func(j *journal) []*Request { return j.find(seq) })
	if len(found) == 0 {
		return Request{}, false
	}
	return found[0], true
}

// ClearRequests empties the journal and nothing else: [Request.Seq] counts on, and violations stay.
func (s *Server) ClearRequests() { s.journal.clear() }

// Arrived returns the number of requests that arrived since the server was made or reset, those
// that the journal dropped included: the Seq of the last.
func (s *Server) Arrived() int {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	return s.journal.seq
}

// OnRequest makes the server call f twice for each request from now on, with its Seq: when the
// request is in the journal, and when its response is, before the client gets it. f runs on the
// goroutine that serves the request, and so at the same time on several. The request waits until f
// returns. f may call the server.
func (s *Server) OnRequest(f func(seq int)) { s.onRequest.Store(&f) }

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
