package fake

import (
	"log/slog"
	"net/http"
	"time"

	petstore "github.com/petstore/petstore-go"
)

// baseURL is the address of the entry points in memory. They serve any host; this one is loopback,
// which a client may call by plain http.
const baseURL = "http://localhost/v1"

// Client returns a new client of the service that reaches the server in memory, with the default
// key. Make one for each test: two of them do not know of each other's requests.
// Options come after the client's key and http.Client, and win over them: [petstore.WithAPIKeyFunc]
// gives it another key. Client panics if an option is not acceptable to [petstore.NewClient].
func (s *Server) Client(opts ...petstore.Option) *petstore.Client {
	return s.client("Client", s.APIKey(), opts)
}

func (s *Server) client(where, key string, opts []petstore.Option) *petstore.Client {
	all := append([]petstore.Option{petstore.WithHTTPClient(s.HTTPClient())}, opts...)
	c, err := petstore.NewClient(baseURL, key, all...)
	if err == nil {
		return c
	}
	if c, errOwn := petstore.NewClient(baseURL, "", all...); errOwn == nil {
		return c // the options have a WithAPIKeyFunc, which rules out a fixed key
	}
	must(false, where, "%v", err)
	return nil
}

// ClientFor returns a client of the service that reaches the server in memory with the given key,
// as [Server.Client] does with the default key. It panics on a key that the server does not know,
// and where Client does.
func (s *Server) ClientFor(key string, opts ...petstore.Option) *petstore.Client {
	s.mustFind("ClientFor", key)
	return s.client("ClientFor", key, opts)
}

// ServeHTTP serves a request to a path below /v1, for a server of the caller's own. A fault that
// breaks the connection takes it over if w can be hijacked (see [http.ResponseController]), and
// otherwise panics with [http.ErrAbortHandler], as handlers do.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.serve(w, s.newExchange(r), true)
}

// serve serves a request that came over a connection. refusing reports whether a WireRefuse strikes
// here; through Client and HTTPClient it strikes earlier, before there is a connection.
func (s *Server) serve(w http.ResponseWriter, x *exchange, refusing bool) {
	if !x.srv.inflight.enter(x) {
		a := refusal(http.StatusServiceUnavailable, "%v", closedError{})
		a.now, a.quota, a.size = x.arrived, x.quota(x.arrived), len(a.body)
		s.write(w, x, &a)
		return
	}
	defer x.srv.inflight.leave(x)
	a := s.respond(x, refusing)
	s.deliver(w, x, &a)
}

// deliver sends a response over a connection, or does to the connection what a fault asks for.
func (s *Server) deliver(w http.ResponseWriter, x *exchange, a *response) {
	switch {
	case a.lost != nil:
		abort(w)
	case !a.wire.shows():
		a.wire.row().breakOff(w)
	default:
		s.write(w, x, a)
	}
}

// write sends a response, or the part of it that a fault lets through.
func (s *Server) write(w http.ResponseWriter, x *exchange, a *response) {
	a.header(w.Header())
	w.WriteHeader(a.status)
	body := a.payload()
	if a.wire == WireDrip {
		drip(w, x, body)
		return
	}
	_, _ = w.Write(body) // the client may be gone
	if a.wire == WireTruncate {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func drip(w http.ResponseWriter, x *exchange, body []byte) {
	flush := http.NewResponseController(w).Flush
	for i := range body {
		_ = flush()
		if x.pause(dripPause) != nil {
			panic(http.ErrAbortHandler)
		}
		if i == len(body)-1 {
			x.delivered()
		}
		_, _ = w.Write(body[i : i+1])
	}
}

// newHTTPServer returns the net/http server of an entry point. See serve for refusing.
func (s *Server) newHTTPServer(refusing bool) *http.Server {
	hs := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			x := s.newExchange(r)
			x.ours = true
			s.serve(w, x, refusing)
		}),
		ReadHeaderTimeout: headerTimeout,
		MaxHeaderBytes:    maxHeader,
		// Nothing to stderr: aborted connections are what the faults are for.
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		// Or net/http serves OPTIONS * itself, without the headers of the service.
		DisableGeneralOptionsHandler: true,
		// HTTP/1 alone: setting HTTP/2 up costs more than a request.
		Protocols: new(http.Protocols),
	}
	hs.Protocols.SetHTTP1(true)
	return hs
}

// The bounds of what any process can hold open through the loopback port.
const (
	headerTimeout = 10 * time.Second
	maxHeader     = 64 << 10
)
