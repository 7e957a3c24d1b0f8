package fake

import (
	"cmp"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"
)

// newExchange reads the parts of a request that come before its body.
func (s *Server) newExchange(r *http.Request) *exchange {
	x := &exchange{srv: s, req: r, arrived: s.Now()}
	x.method = cmp.Or(r.Method, http.MethodGet) // as net/http has it for clients
	x.route = findRoute(x.method, r.URL)
	if x.route.operation == "" && len(s.config.handlers) > 0 && s.handled(r) {
		x.route = route{respond: (*Server).serveHandler}
	}
	x.token, x.problem = readToken(r.Header)
	if k := s.keys.lookup(x.token); k != nil && !k.revoked.Load() {
		x.key = k
	}
	return x
}

// respond returns the response to a request. A panic in Match becomes a response too, so that a
// test fails instead of ending its process.
func (s *Server) respond(x *exchange, refusing bool) (a response) {
	defer func() {
		if p := recover(); p != nil {
			a = s.panicked(x, p)
		}
		s.finish(x, &a)
	}()
	x.readBody()
	if refusing {
		if f := s.faults.pick(x, true); f != nil {
			return response{wire: WireRefuse, fault: f, lost: x.pause(f.Delay)}
		}
	}
	x.enterJournal()
	s.notify(x)
	x.checkConduct()
	if err := x.pause(time.Duration(s.latency.Load())); err != nil {
		return response{lost: err, hint: "the client gave up before there was a response"}
	}
	if f := s.faults.pick(x, false); f != nil {
		return s.fail(x, f)
	}
	return s.carryOut(x)
}

func (s *Server) notify(x *exchange) {
	if s.config.notify != nil {
		s.config.notify(x.entry.Seq)
	}
}

func (s *Server) fail(x *exchange, f *Fault) response {
	var a response
	if f.AfterCommit {
		a = s.carryOut(x)
	}
	if err := x.pause(f.Delay); err != nil {
		return response{fault: f, lost: err, hint: "the client gave up during an injected delay"}
	}
	if !f.AfterCommit && f.Status == 0 && f.Wire.shows() {
		a = s.carryOut(x)
	}
	a.apply(f)
	if f.Wire == WireStall {
		a.lost = x.pause(-1)
	}
	return a
}

// carryOut keeps to the order of the document: authentication before anything else on a path that
// exists, then the limits, then the operation.
func (s *Server) carryOut(x *exchange) response {
	if x.route.respond == nil {
		return refusal(http.StatusNotFound,
			"the service has no path %s; it has /v1/pets and /v1/pets/{petId} (section 4)",
			quote(x.req.URL.Path))
	}
	if x.key == nil {
		return unauthorized(x)
	}
	v := x.key.take(s.config.ban)
	if v.retryAt != 0 {
		if v.provoked {
			x.note(RuleBanProvoked, "8.3", "the request earned the key a ban: "+v.reason)
		}
		return s.config.behavior.limited(v)
	}
	a := x.route.respond(s, x)
	a.quota = v.quota
	return a
}

// refuseMethod serves the requests to a path of the service that fit no operation.
func (s *Server) refuseMethod(x *exchange) response {
	a := refusal(http.StatusMethodNotAllowed, "%s is not a method of this path; it has %s (section 4)",
		quote(x.method), x.route.allow)
	a.set("Allow", x.route.allow)
	return a
}

func (s *Server) panicked(x *exchange, p any) response {
	if x.entry == nil {
		x.enterJournal()
	}
	return refusal(http.StatusInternalServerError, "%s", s.panicMessage(p))
}

// panicMessage keeps a panic for the test, and returns the message for the client.
func (s *Server) panicMessage(p any) string {
	s.inflight.mu.Lock()
	defer s.inflight.mu.Unlock()
	s.inflight.panics = append(s.inflight.panics, fmt.Sprintf("%v\n%s", p, debug.Stack()))
	return "the fake server panicked: " + clip(fmt.Sprint(p))
}

// finish writes the response into the journal before anything of it is sent, so that a client that
// has its response finds it there.
func (s *Server) finish(x *exchange, a *response) {
	a.now = s.Now()
	a.head = x.method == http.MethodHead
	a.size = len(a.body)
	if a.quota == (quota{}) {
		a.quota = x.quota(a.now)
	}
	if x.entry == nil {
		return
	}
	x.noteResponse(a)
	s.journal.finish(x.entry, a)
	s.notify(x)
}
