package fake

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// The bounds of the journal: requests, and the bytes that they take.
const (
	defaultJournal  = 10_000
	maxJournalBytes = 64 << 20
)

// Request is a request that arrived, with its response. No API key is in it: the credentials
// of Authorization are redacted, and so are the keys the server knows wherever else they are.
type Request struct {
	// Seq counts requests from 1, in the order in which they had arrived whole.
	Seq int
	// Operation is the name of the operation (section 4), empty if the request fits none.
	Operation string
	// Key is the number of the API key it came with, 0 without a valid one. Keys count from 1 in
	// the order in which the server got to know them: [DefaultAPIKey] is 1. See [Server.KeyNumber].
	Key int
	// Method and Path are what was asked for; Path is with its query.
	Method string
	Path   string
	// Header is the request's header.
	Header http.Header
	// Body is the request's body as far as the server read it, at most 1 MiB.
	Body []byte
	// StatusCode is that of the response; 0 if there was none, or none yet.
	StatusCode int
	// AnswerHeader is the header of the response, without what net/http adds to it on the way. Nil
	// if there is no response.
	AnswerHeader http.Header
	// Answer is the body that was sent.
	Answer []byte
	// Time is when the request arrived, and Duration how long it took until the response began,
	// both by the server's clock.
	Time     time.Time
	Duration time.Duration
	// Fault reports whether an injected fault had a part in the response.
	Fault bool
	// Hint says why the request was refused, with the section of the document; it is empty if it
	// was not.
	Hint string
}

// entry is a Request as the journal keeps it. The header is a list, a third of the size of a map.
type entry struct {
	seq       int
	operation string
	key       int
	method    string
	path      string
	header    []string // name, value, name, value
	body      []byte
	time      time.Time
	duration  time.Duration
	reply     response // the zero response until there is one
}

// journal keeps the last requests.
type journal struct {
	mu      sync.Mutex
	limit   int
	seq     int
	bytes   int
	entries []*entry
	waiting []chan struct{} // of WaitForRequests
}

func (j *journal) reset(limit int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.limit, j.seq, j.bytes, j.entries = limit, 0, 0, nil
}

// add enters a request that has arrived whole.
func (j *journal) add(x *exchange) *entry {
	e := &entry{
		operation: x.route.operation, method: x.method, path: x.req.URL.RequestURI(),
		header: headerList(x.req.Header), body: x.body, time: x.arrived,
	}
	if x.key != nil {
		e.key = x.key.number
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	e.seq = j.seq
	for _, c := range j.waiting {
		close(c)
	}
	j.waiting = nil
	j.entries = append(j.entries, e)
	j.bytes += e.size()
	j.trim()
	return e
}

// finish adds the response to an entry. One that was dropped meanwhile takes it too, and is not
// counted.
func (j *journal) finish(e *entry, a *response) {
	j.mu.Lock()
	defer j.mu.Unlock()
	before := e.size()
	e.duration, e.reply = a.now.Sub(e.time), *a
	if !a.sent() {
		e.reply.status, e.reply.body = 0, nil
	}
	if j.find(e.seq) == e {
		j.bytes += e.size() - before
		j.trim()
	}
}

// size returns roughly how many bytes of memory the entry takes.
func (e *entry) size() int {
	const (
		fixed = 512 // the entry itself
		head  = 16  // of a string
	)
	n := fixed + len(e.path) + len(e.body) + len(e.reply.body) + len(e.reply.hint)
	for _, s := range e.header {
		n += head + len(s)
	}
	return n
}

// find returns the entry of a request, nil if it is not in the journal. The caller holds mu.
func (j *journal) find(seq int) *entry {
	if len(j.entries) == 0 {
		return nil
	}
	i := seq - j.entries[0].seq // without gaps
	if i < 0 || i >= len(j.entries) {
		return nil
	}
	return j.entries[i]
}

// clear drops all entries and counts on.
func (j *journal) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.bytes, j.entries = 0, nil
}

// trim drops the oldest entries beyond the bounds.
func (j *journal) trim() {
	for len(j.entries) > 0 && (len(j.entries) > j.limit || j.bytes > maxJournalBytes) {
		j.bytes -= j.entries[0].size()
		j.entries[0] = nil
		j.entries = j.entries[1:]
	}
}

// headerList copies a header without the credentials in it.
func headerList(h http.Header) []string {
	n := 0
	for _, values := range h {
		n += len(values)
	}
	list := make([]string, 0, 2*n)
	for name, values := range h {
		for _, v := range values {
			if name == "Authorization" || name == "Proxy-Authorization" {
				v = redactCredential(v)
			}
			list = append(list, name, v)
		}
	}
	return list
}

// redactCredential leaves the scheme, which is what a test wants to see, unless there may be a key
// in its place.
func redactCredential(v string) string {
	if scheme, _, ok := strings.Cut(v, " "); ok && strings.EqualFold(scheme, "Bearer") {
		return scheme + " " + redacted
	}
	return redacted
}

// Requests returns the journal, oldest first: the last 10,000 requests (see [WithJournal]), or as
// many of them as 64 MiB hold with their headers, bodies and responses. A request is in it once it
// has arrived whole, and its response before the client has the first byte of it. Requests that a
// [WireRefuse] kept away never arrived. The result is the caller's own.
func (s *Server) Requests() []Request {
	r := s.keys.redactor()
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	requests := make([]Request, 0, len(s.journal.entries))
	for _, e := range s.journal.entries {
		requests = append(requests, e.request(r))
	}
	return requests
}

// Request returns the request of the journal with that [Request.Seq], and false if it holds none.
// The result is the caller's own.
func (s *Server) Request(seq int) (Request, bool) {
	r := s.keys.redactor()
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	e := s.journal.find(seq)
	if e == nil {
		return Request{}, false
	}
	return e.request(r), true
}

// LastRequest returns the latest request of the journal, and false if there is none. The result is
// the caller's own.
func (s *Server) LastRequest() (Request, bool) {
	r := s.keys.redactor()
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	if len(s.journal.entries) == 0 {
		return Request{}, false
	}
	return s.journal.entries[len(s.journal.entries)-1].request(r), true
}

// RequestsOf returns the requests of one operation that are in the journal, oldest first, or all
// requests if operation is empty. It panics on an operation that does not exist. The result belongs
// to the caller.
func (s *Server) RequestsOf(operation string) []Request {
	if err := checkOperation(operation); err != nil {
		misuse("RequestsOf", "%v", err)
	}
	return slices.DeleteFunc(s.Requests(), func(r Request) bool {
		return operation != "" && r.Operation != operation
	})
}

// WaitForRequests returns as soon as n requests have arrived since the server was made or reset,
// those that the journal dropped included, or with the cause of ctx's end. A request has arrived
// when it is in the journal; its response may be still to come. WaitForRequests panics if n is
// negative.
func (s *Server) WaitForRequests(ctx context.Context, n int) error {
	if n < 0 {
		misuse("WaitForRequests", "%d is a negative number of requests", n)
	}
	for {
		arrived, next := s.journal.await(n)
		if next == nil {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			s.journal.forget(next)
			return fmt.Errorf("fake: %d of %d requests arrived: %w", arrived, n, context.Cause(ctx))
		}
	}
}

// await returns how many requests have arrived and, if these are fewer than n, a channel that is
// closed when the next one arrives. The channel is made here, so that it belongs to the synctest
// bubble of the goroutine that waits.
func (j *journal) await(n int) (arrived int, next chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.seq < n {
		next = make(chan struct{})
		j.waiting = append(j.waiting, next)
	}
	return j.seq, next
}

// forget drops a channel of await that nothing waits for any more.
func (j *journal) forget(next chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.waiting = slices.DeleteFunc(j.waiting, func(c chan struct{}) bool { return c == next })
}

// ClearRequests empties the journal and nothing else: [Request.Seq] counts on, and violations stay.
// [Server.Reset] starts afresh.
func (s *Server) ClearRequests() { s.journal.clear() }

// request copies an entry.
func (e *entry) request(r *redactor) Request {
	h := make(http.Header, len(e.header)/2)
	for i := 0; i < len(e.header); i += 2 {
		name := r.name(e.header[i])
		h[name] = append(h[name], r.text(e.header[i+1]))
	}
	a := &e.reply
	return Request{
		Seq: e.seq, Operation: e.operation, Key: e.key, Method: r.text(e.method), Path: r.text(e.path),
		Header: h, Body: r.bytes(e.body),
		StatusCode: a.status, AnswerHeader: a.sentHeader(r), Answer: r.bytes(a.payload()),
		Time: e.time.Round(0), Duration: e.duration, Fault: a.fault != nil, Hint: r.text(a.hint),
	}
}

// sentHeader returns the header of a response without the keys that it may repeat.
func (a *response) sentHeader(r *redactor) http.Header {
	if a.status == 0 {
		return nil
	}
	sent, h := make(http.Header, 8), make(http.Header, 8)
	a.header(sent)
	for name, values := range sent {
		for _, v := range values {
			h[r.name(name)] = append(h[r.name(name)], r.text(v))
		}
	}
	return h
}
