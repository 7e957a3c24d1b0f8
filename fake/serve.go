package fake

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"time"
)

// exchange is one request in the server.
type exchange struct {
	srv       *Server
	req       *http.Request
	w         http.ResponseWriter
	arrived   time.Time
	operation Operation
	token     string  // the bearer token of the request
	key       *apiKey // nil without a valid key
	body      []byte
	bodyErr   error
	entry     *Request // in the journal
	fault     *Fault   // that applies to the request, or noFault
	quota     quota    // after the request was counted or refused; zero before
}

// serve serves a request, step by step.
func (x *exchange) serve(w http.ResponseWriter) {
	x.w = w
	x.readBody()
	if x.srv.closed.Load() {
		panic(http.ErrAbortHandler)
	}
	x.noteArrival()
	resp := x.respond()
	if !resp.delivered {
		x.noteResponse(resp)
		x.deliver(resp)
	}
}

// newExchange finds the operation and the key of a request.
func (s *Server) newExchange(r *http.Request) *exchange {
	x := &exchange{
		srv: s, req: r, arrived: s.Now(),
		operation: s.findOperation(r), token: readToken(r.Header), fault: noFault,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.findKey(x.token); k != nil && !k.revoked {
		x.key = k
	}
	return x
}

// readBody reads the request's body up to the size that the server takes. It discards up to 8 MiB
// more, because most clients read a response only after they have sent their request.
func (x *exchange) readBody() {
	if x.req.Body == nil {
		return
	}
	const most = 1 << 20
	body, err := io.ReadAll(http.MaxBytesReader(nil, x.req.Body, most))
	if err != nil {
		x.bodyErr = fmt.Errorf("the request body cannot be read: %w; it may have 1 MiB", err)
		_, _ = io.CopyN(io.Discard, x.req.Body, 8*most)
	}
	x.body = body
}

// copyRequest returns a copy of the request, with its whole body, for Match and handlers.
func (x *exchange) copyRequest() *http.Request {
	r := x.req.Clone(x.req.Context())
	r.Body = io.NopCloser(bytes.NewReader(x.body))
	return r
}

// respond returns the response after the latency and the delay of the fault. With AfterCommit it
// serves the operation before the wait; otherwise after the wait, or not at all if the fault takes
// the place of the service. No fault applies between the counting of the request against the limits
// and the operation.
func (x *exchange) respond() (resp response) {
	defer x.breakOnPanic()
	x.fault = x.pickFault(false)
	f, injected := x.fault, ""
	if !f.onlyChanges() {
		injected = "injected " + f.String()
	}
	if f.AfterCommit {
		resp = x.serveOperation()
	}
	wait := time.Duration(x.srv.latency.Load()) + f.Delay
	if f.Wire == WireStall {
		wait = -1
	}
	if pause(x.req.Context(), wait) != nil || !f.Wire.sendsResponse() {
		return response{hint: cmp.Or(injected, "the client gave up, or the server was closed")}
	}
	if !f.AfterCommit && f.onlyChanges() {
		resp = x.serveOperation()
	}
	if resp.delivered {
		return resp
	}
	resp.hint = cmp.Or(injected, resp.hint)
	resp.change(f)
	x.addHeaders(&resp)
	return resp
}

// pause waits for d, or for ever if d is negative. It ends early with an error if the client gives
// up or the connection is cut.
func pause(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	var timeout <-chan time.Time
	if d > 0 {
		timeout = time.After(d)
	}
	select {
	case <-timeout:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// serveOperation does the operation, unless the path, the key, the limits or the size of the body
// do not allow it, in this order.
func (x *exchange) serveOperation() response {
	if x.operation.serve == nil {
		return refusal(http.StatusNotFound,
			"the service has no path %s; those of section 4 begin with /v1/pets", quote(x.req.URL.Path))
	}
	if x.key == nil {
		return x.unauthorized()
	}
	if limited := x.count(); limited != nil {
		return *limited
	}
	if x.bodyErr != nil {
		return refusal(http.StatusBadRequest, "%v", x.bodyErr)
	}
	return x.operation.serve(x)
}

// breakOnPanic breaks the connection if Match or a handler panicked, as net/http does. The test of
// a NewTestServer fails, unless the panic is http.ErrAbortHandler.
func (x *exchange) breakOnPanic() {
	p := recover()
	if p == nil {
		return
	}
	if p != http.ErrAbortHandler {
		x.srv.mu.Lock()
		x.srv.panics = append(x.srv.panics, fmt.Sprintf("%v\n%s", p, debug.Stack()))
		x.srv.mu.Unlock()
	}
	if !x.entry.hasResponse() {
		x.noteResponse(response{hint: "Match or the handler panicked"})
	}
	panic(http.ErrAbortHandler)
}
