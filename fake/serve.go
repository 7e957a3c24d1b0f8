package fake

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime/debug"
	"time"
)

// exchange is one request in the server. CONTRIBUTING.md has its way through the files.
type exchange struct {
	srv     *Server
	req     *http.Request
	method  string
	arrived time.Time
	route   route
	token   string  // of its Authorization header
	problem string  // why there is no token
	key     *apiKey // nil without a valid key
	body    []byte
	bodyErr error
	entry   *Request // nil until it has arrived whole
	repeat  *repeat  // nil for a request of a client
}

// ServeHTTP serves a request to a path below /v1, for a server of the caller's own. A fault that
// breaks the connection takes it over if w can be hijacked (see [http.ResponseController]), and
// otherwise panics with [http.ErrAbortHandler], as handlers do.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.refuseDial(r) != nil {
		reset(w)
		return
	}
	s.serve(w, r, nil)
}

// serve serves a request that no WireRefuse keeps away.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, rep *repeat) {
	x := s.newExchange(r, rep)
	var a response
	p := &part{busy: true, request: r, leak: "a request was still in progress"}
	if rep != nil {
		p.leak = "" // no client waits for it
	}
	if s.inflight.enter(x, p) {
		defer s.inflight.leave(x)
		a = x.respond()
	} else {
		a = refusal(http.StatusServiceUnavailable, "%v", closedError{})
	}
	x.send(w, &a)
}

// newExchange reads the parts of a request that come before its body.
func (s *Server) newExchange(r *http.Request, rep *repeat) *exchange {
	x := &exchange{srv: s, req: r, repeat: rep, arrived: s.Now()}
	x.method = cmp.Or(r.Method, http.MethodGet) // an empty method is a GET, as in clients of net/http
	x.route = s.findRoute(x.method, r)
	x.authenticate()
	return x
}

// respond returns the response to a request. A panic in Match or in a handler becomes a response
// too, so that a test fails instead of ending its process.
func (x *exchange) respond() (a response) {
	defer func() {
		if p := recover(); p != nil {
			a = refusal(http.StatusInternalServerError, "%s", x.srv.panicMessage(p))
		}
	}()
	x.readBody()
	x.arrive()
	return x.meetFaults()
}

// meetFaults returns the response of the service, of the fault that applies to the request, or of
// both.
func (x *exchange) meetFaults() (a response) {
	if err := x.pause(time.Duration(x.srv.latency.Load())); err != nil {
		return response{lost: err, hint: "the client gave up before there was a response"}
	}
	f := x.pick(x.srv.faults.active(false))
	if f == nil {
		return x.serveOperation()
	}
	if f.AfterCommit {
		a = x.serveOperation()
	}
	if err := x.pause(f.Delay); err != nil {
		return response{fault: f, lost: err, hint: "the client gave up during an injected delay"}
	}
	if !f.AfterCommit && f.changes() {
		a = x.serveOperation()
	}
	a.apply(f)
	if f.Wire == WireStall {
		a.lost = x.pause(-1)
	}
	return a
}

// panicMessage keeps a panic for the test, and returns the message for the client.
func (s *Server) panicMessage(p any) string {
	s.inflight.mu.Lock()
	defer s.inflight.mu.Unlock()
	s.inflight.panics = append(s.inflight.panics, fmt.Sprintf("%v\n%s", p, debug.Stack()))
	return "the fake server panicked: " + clip(fmt.Sprint(p))
}

const maxBody = 1 << 20

// readBody reads the request's body up to the size that the server takes. It reads up to eight
// times as much and drops the rest, since most clients look for a response only after they have
// sent all of their request.
func (x *exchange) readBody() {
	if x.req.Body == nil || x.req.Body == http.NoBody {
		return
	}
	body, err := io.ReadAll(io.LimitReader(x.req.Body, maxBody+1))
	if err != nil {
		x.bodyErr = fmt.Errorf("the request body cannot be read: %w", err)
	} else if len(body) > maxBody {
		body = body[:maxBody]
		x.bodyErr = fmt.Errorf("the request body is larger than %d MiB", maxBody>>20)
		_, _ = io.CopyN(io.Discard, x.req.Body, 8*maxBody)
	}
	x.body = bytes.Clone(body) // without the room to grow, since the journal keeps it
}

// copyRequest returns the request as Match and handlers get it, the same through every entry point.
func (x *exchange) copyRequest() *http.Request {
	r := x.req.Clone(x.req.Context())
	r.Body = io.NopCloser(bytes.NewReader(x.body))
	r.Method = x.method
	r.ContentLength = int64(len(x.body))
	r.RequestURI = x.req.URL.RequestURI()
	r.URL = &url.URL{Path: x.req.URL.Path, RawPath: x.req.URL.RawPath, RawQuery: x.req.URL.RawQuery}
	r.GetBody = nil
	return r
}
