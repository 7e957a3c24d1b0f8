package fake

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultAPIKey is the API key of a new [Server], on [PlanBusiness]. [WithAPIKey] replaces the key,
// and [WithPlan] its plan.
const DefaultAPIKey = "fake-api-key"

// Server is the Pet Store Service in memory. It has three entry points: connections in memory
// ([Server.Client] and [Server.HTTPClient]), a loopback port ([Server.URL]), and a server of your
// own ([Server.ServeHTTP]). [NewServer] and [NewTestServer] make a Server. Its methods are safe for
// concurrent use.
type Server struct {
	config    config
	offset    atomic.Int64 // from the clock of the machine
	latency   atomic.Int64
	keys      keyring
	catalogue catalogue
	faults    faultList
	journal   journal
	inflight  inflight
	mux       *http.ServeMux // of routes
	loopback  func() string  // opens the port at its first call, and returns its URL
}

// NewServer returns a server, which the caller closes with [Server.Close]. Nothing runs before the
// first request. In a test, [NewTestServer] is the better choice.
func NewServer(opts ...Option) *Server {
	s := &Server{config: config{
		keys: []keyPlan{{DefaultAPIKey, PlanBusiness}}, minute: minute, journal: defaultJournal,
	}}
	for _, opt := range opts {
		if opt != nil {
			opt(&s.config)
		}
	}
	s.keys.srv = s
	s.journal.arrival = sync.NewCond(&s.journal.mu)
	s.inflight.parts = make(map[io.Closer]bool)
	s.loopback = sync.OnceValue(s.listen)
	s.mux = newMux(s.config.handlers...)
	s.Reset()
	return s
}

// Reset restores the state after NewServer: the keys, plans, pets and faults of the options, an
// empty journal without violations, unused windows, no bans, the latency and the clock. Ids begin
// with 1 again. Connections stay open. All earlier injections count as removed.
func (s *Server) Reset() {
	s.offset.Store(0)
	s.latency.Store(int64(s.config.latency))
	s.keys.reset(s.config.keys)
	s.faults.reset(s.config.seed)
	s.journal.reset()
	s.catalogue.reset(s.config.seed)
	for _, p := range s.config.pets {
		s.AddPet(p)
	}
	for _, f := range s.config.faults {
		s.Inject(f)
	}
}

// SetLatency holds every response back for d from now on, as [WithLatency] does.
func (s *Server) SetLatency(d time.Duration) {
	mustNotBeNegative("SetLatency", d)
	s.latency.Store(int64(d))
}

// Now returns the server's time: the time of the machine or the bubble, moved by [Server.Advance].
func (s *Server) Now() time.Time { return time.Now().Add(time.Duration(s.offset.Load())) }

// Advance moves the server's clock ahead: windows pass, bans end, and the Date header follows. A
// negative d moves it back: all windows start again, and bans end. Clients wait by their own clock,
// and so does a [Fault.Delay]. In a bubble, time.Sleep moves all clocks.
func (s *Server) Advance(d time.Duration) { s.offset.Add(int64(d)) }
