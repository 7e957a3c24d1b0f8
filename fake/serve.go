package fake

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"strings"
	"time"
)

// exchange is one request in the server.
type exchange struct {
	srv       *Server
	w         http.ResponseWriter
	req       *http.Request
	arrived   time.Time
	operation Operation
	token     string  // of its Authorization header
	key       *apiKey // nil without a valid key
	body      []byte
	bodyErr   error
	entry     *Request // in the journal
	fault     *Fault   // that applies to it; noFault if none does
	quota     quota    // when it was counted or refused; zero before
}

// serve serves a request, step by step.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	x := s.newExchange(r)
	x.w = w
	x.readBody()
	if s.inflight.closed.Load() {
		panic(http.ErrAbortHandler)
	}
	defer x.end()
	x.arrive()
	x.fault = s.pick(x, false)
	resp := x.carryOut()
	if resp.delivered { // by a handler
		return
	}
	resp.change(x.fault)
	x.complete(&resp)
	x.record(&resp)
	x.deliver(&resp)
}

// newExchange finds the operation and the key of a request.
func (s *Server) newExchange(r *http.Request) *exchange {
	x := &exchange{srv: s, req: r, arrived: s.Now(), operation: s.findOperation(r), fault: noFault}
	x.token, _ = readToken(r.Header)
	if k := s.keys.find(x.token); k != nil && !k.revoked.Load() {
		x.key = k
	}
	return x
}

// readBody reads the request's body up to the size that the server takes. It reads and discards up
// to 8 MiB more, since most clients look for a response only after their request.
func (x *exchange) readBody() {
	const most = 1 << 20
	if x.req.Body == nil {
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, x.req.Body, most))
	if err != nil {
		x.bodyErr = fmt.Errorf("the request body cannot be read: %w; it may have %d MiB", err, most>>20)
		_, _ = io.CopyN(io.Discard, x.req.Body, 8*most)
	}
	x.body = body
}

// copyRequest returns the request as Match and handlers get it.
func (x *exchange) copyRequest() *http.Request {
	r := x.req.Clone(x.req.Context())
	r.Body = io.NopCloser(bytes.NewReader(x.body))
	return r
}

// carryOut waits as long as the latency and the fault say, and carries the request out before or
// after that wait, or not at all if the fault takes the place of the service.
func (x *exchange) carryOut() (resp response) {
	f := x.fault
	if f.AfterCommit {
		resp = x.operate()
	}
	wait := time.Duration(x.srv.latency.Load()) + f.Delay
	if f.Wire == WireStall {
		wait = -1
	}
	if err := pause(x.req.Context(), wait); err != nil {
		return response{lost: true, hint: "the client gave up, or the server was closed"}
	}
	if !f.AfterCommit && f.reachesService() {
		resp = x.operate()
	}
	return resp
}

// operate does the operation, unless the path, the key or the limits do not allow it, in this
// order.
func (x *exchange) operate() response {
	if x.operation.serve == nil {
		return refusal(http.StatusNotFound, "the service has no path %s; it has %s (section 4)",
			quote(x.req.URL.Path), strings.Join(x.srv.paths(), ", "))
	}
	if x.key == nil {
		return x.unauthorized()
	}
	if limited := x.key.take(x); limited != nil {
		return *limited
	}
	return x.operation.serve(x)
}

// end breaks the connection if Match or a handler panicked, as net/http does. A panic that is not
// http.ErrAbortHandler fails the test.
func (x *exchange) end() {
	p := recover()
	if p == nil {
		return
	}
	if p != http.ErrAbortHandler {
		j := &x.srv.journal
		j.mu.Lock()
		j.panics = append(j.panics, fmt.Sprintf("%v\n%s", p, debug.Stack()))
		j.mu.Unlock()
	}
	if x.entry.open() {
		x.record(&response{lost: true, hint: "the handler aborted the response"})
	}
	panic(http.ErrAbortHandler)
}

// handle calls a handler of WithHandler, which writes to the client. If a fault applies, the
// response is recorded, so that the fault can change it.
func (x *exchange) handle() response {
	if x.bodyErr != nil {
		return refusal(http.StatusBadRequest, "%v", x.bodyErr)
	}
	if x.fault != noFault {
		rec := httptest.NewRecorder()
		x.srv.mux.ServeHTTP(rec, x.copyRequest())
		return response{status: rec.Code, header: rec.Header(), body: rec.Body.Bytes()}
	}
	x.quota.addTo(x.w.Header(), x.srv.Now())
	t := &tee{ResponseWriter: x.w, x: x}
	x.srv.mux.ServeHTTP(t, x.copyRequest())
	t.add(http.StatusOK, nil)
	return response{delivered: true}
}

// tee is the http.ResponseWriter of a handler. What the handler writes goes to the journal, then to
// the client.
type tee struct {
	http.ResponseWriter
	x    *exchange
	resp response
}

// Unwrap returns the client's ResponseWriter, for [http.ResponseController].
func (t *tee) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// add adds a part of the body to the journal and, with the first one, the status and the header.
func (t *tee) add(status int, body []byte) {
	if t.resp.status == 0 {
		t.resp.status, t.resp.header = status, t.Header().Clone()
	}
	t.resp.body = append(t.resp.body, body[:min(len(body), maxKept-len(t.resp.body))]...)
	t.x.record(&t.resp)
}

func (t *tee) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols { // others come before the response
		t.add(status, nil)
	}
	t.ResponseWriter.WriteHeader(status)
}

func (t *tee) Write(b []byte) (int, error) {
	t.add(http.StatusOK, b)
	return t.ResponseWriter.Write(b)
}

// Flush sends what was written so far.
func (t *tee) Flush() {
	t.add(http.StatusOK, nil)
	_ = http.NewResponseController(t.ResponseWriter).Flush() // no error, as in Flush of net/http
}

// Hijack gives the connection to the handler.
func (t *tee) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	t.add(http.StatusSwitchingProtocols, nil)
	return http.NewResponseController(t.ResponseWriter).Hijack()
}
