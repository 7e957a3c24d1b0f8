package fake

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"runtime/debug"
	"time"
)

// exchange is one request in the server.
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
	entry   *entry // nil until it has arrived whole
}

// newExchange reads the parts of a request that come before its body.
func (s *Server) newExchange(r *http.Request) *exchange {
	x := &exchange{srv: s, req: r, arrived: s.Now()}
	x.method = cmp.Or(r.Method, http.MethodGet) // as net/http has it for clients
	x.route = s.findRoute(x.method, r)
	x.token, x.problem = readToken(r.Header)
	if k := s.keys.lookup(x.token); k != nil && !k.revoked.Load() {
		x.key = k
	}
	return x
}

// ServeHTTP serves a request to a path below /v1, for a server of the caller's own. A fault that
// breaks the connection takes it over if w can be hijacked (see [http.ResponseController]), and
// otherwise panics with [http.ErrAbortHandler], as handlers do.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.serve(w, r, true) }

// serve serves a request. refusing reports whether a WireRefuse applies here; through Client and
// HTTPClient it applies earlier, before there is a connection.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, refusing bool) {
	x := s.newExchange(r)
	var a response
	if s.inflight.enter(x) {
		defer s.inflight.leave(x)
		a = x.respond(refusing)
	} else {
		a = refusal(http.StatusServiceUnavailable, "%v", closedError{})
	}
	x.finish(&a)
	a.deliver(w, x)
}

// respond returns the response to a request: that of a fault, or of the service. A panic in Match
// becomes a response too, so that a test fails instead of ending its process.
func (x *exchange) respond(refusing bool) (a response) {
	s := x.srv
	defer func() {
		if p := recover(); p != nil {
			if x.entry == nil {
				x.enterJournal()
			}
			a = refusal(http.StatusInternalServerError, "%s", s.panicMessage(p))
		}
	}()
	x.readBody()
	if refusing {
		if f := s.faults.pick(x, true); f != nil {
			return response{wire: WireRefuse, broken: true, fault: f, lost: x.pause(f.Delay)}
		}
	}
	x.enterJournal()
	x.checkConduct()
	if err := x.pause(time.Duration(s.latency.Load())); err != nil {
		return response{lost: err, hint: "the client gave up before there was a response"}
	}
	if f := s.faults.pick(x, false); f != nil {
		return x.fail(f)
	}
	return x.carryOut()
}

// fail returns the response of a fault.
func (x *exchange) fail(f *Fault) (a response) {
	if f.AfterCommit {
		a = x.carryOut()
	}
	if err := x.pause(f.Delay); err != nil {
		return response{fault: f, lost: err, hint: "the client gave up during an injected delay"}
	}
	if !f.AfterCommit && f.Status == 0 && f.Wire.shows() {
		a = x.carryOut()
	}
	a.apply(f)
	if f.Wire == WireStall {
		a.lost = x.pause(-1)
	}
	return a
}

// carryOut keeps to the order of the document: authentication before anything else on a path that
// exists, then the limits, then the operation.
func (x *exchange) carryOut() response {
	if x.route.respond == nil {
		return refusal(http.StatusNotFound,
			"the service has no path %s; it has /v1/pets and /v1/pets/{petId} (section 4)",
			quote(x.req.URL.Path))
	}
	if x.key == nil {
		return unauthorized(x)
	}
	v := x.key.take(x.srv.config.ban)
	if v.retryAt != 0 {
		if v.provoked {
			x.note(RuleBanProvoked, "8.3", "the request earned the key a ban: "+v.reason)
		}
		return x.srv.config.behavior.limited(v)
	}
	a := x.route.respond(x.srv, x)
	a.quota = v.quota
	return a
}

// finish completes a response, and writes it into the journal before anything of it is sent, so
// that a client that has its response finds it there.
func (x *exchange) finish(a *response) {
	now := x.srv.Now()
	if a.quota == (quota{}) {
		a.quota = x.quota(now)
	}
	a.complete(now, x.method == http.MethodHead)
	if x.entry != nil {
		x.noteResponse(a, now)
		x.srv.journal.finish(x.entry, a, now.Sub(x.arrived))
		x.notify()
	}
}

func (x *exchange) notify() {
	if x.srv.config.notify != nil {
		x.srv.config.notify(x.entry.Seq)
	}
}

// quota returns the quota for the headers: without a valid key, that of an unused Free plan.
func (x *exchange) quota(now time.Time) quota {
	if x.key == nil {
		return quota{PlanFree.PerMinute, PlanFree.PerMinute, now.Unix() + minute}
	}
	return x.key.peek()
}

// panicMessage keeps a panic for the test, and returns the message for the client.
func (s *Server) panicMessage(p any) string {
	s.inflight.mu.Lock()
	defer s.inflight.mu.Unlock()
	s.inflight.panics = append(s.inflight.panics, fmt.Sprintf("%v\n%s", p, debug.Stack()))
	return "the fake server panicked: " + clip(fmt.Sprint(p))
}

const maxBody = 1 << 20

// readBody reads the request's body as far as the server takes it, and drops what a client still
// sends up to eight times that, since most clients look for a response only when they have sent
// their request.
func (x *exchange) readBody() {
	if x.req.Body == nil || x.req.Body == http.NoBody {
		return
	}
	from := io.Reader(x.req.Body)
	if at, ok := from.(io.ReaderAt); ok { // the client takes a body for sent once Read was called
		from = io.NewSectionReader(at, 0, math.MaxInt64)
	}
	body, err := io.ReadAll(io.LimitReader(from, maxBody+1))
	if err != nil {
		x.bodyErr = fmt.Errorf("the request body cannot be read: %w", err)
	} else if len(body) > maxBody {
		body = body[:maxBody]
		x.bodyErr = fmt.Errorf("the request body is larger than %d MiB", maxBody>>20)
		_, _ = io.CopyN(io.Discard, from, 8*maxBody)
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

// String names a request without its query, which may hold a key.
func (x *exchange) String() string { return fmt.Sprintf("%s %s", x.method, x.req.URL.Path) }
