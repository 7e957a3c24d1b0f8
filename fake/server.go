package fake

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultAPIKey is the key that a [Server] accepts from the start unless [WithAPIKey] replaces it,
// on [PlanBusiness] unless [WithPlan] says otherwise.
const DefaultAPIKey = "fake-api-key"

// Server is the Pet Store Service in memory. It has three entry points, which share the same
// catalogue, limits, faults, journal and clock:
//
//   - [Server.Client] and [Server.HTTPClient]: net/http on both sides of a connection in memory,
//   - [Server.URL]: a loopback port,
//   - [Server.ServeHTTP]: a handler for a server of your own, serving paths below /v1.
//
// [NewServer] and [NewTestServer] make one. Its methods are safe for concurrent use.
type Server struct {
	config    config
	tb        TB           // nil unless NewTestServer made the server
	offset    atomic.Int64 // of the server's time from that of config.clock
	latency   atomic.Int64
	keys      keyring
	catalogue catalogue
	faults    faultList
	journal   journal
	inflight  inflight
	repeats   atomic.Int64
	onRequest atomic.Pointer[func(seq int)]
	closed    atomic.Bool    // Close has ended
	mux       *http.ServeMux // of WithHandler
	loopback  func() string  // opens the port at its first call, and returns its URL
}

// NewServer returns a server. Nothing runs and no port is open before the first request. The caller
// closes it with [Server.Close]; in a test, [NewTestServer] is the better choice.
func NewServer(opts ...Option) *Server {
	s := &Server{config: config{
		keys: []keyPlan{{DefaultAPIKey, PlanBusiness}}, minute: minute,
		clock: time.Now, journal: defaultJournal,
	}}
	for _, opt := range opts {
		if opt != nil {
			opt(&s.config)
		}
	}
	s.keys.srv = s
	kind := s.config.behavior.Window
	s.keys.unused.minute = window{kind: kind, span: s.config.minute}
	s.keys.unused.day = window{kind: kind, span: day}
	s.journal.arrival = sync.NewCond(&s.journal.mu)
	s.inflight.parts = make(map[any]*part)
	s.loopback = sync.OnceValue(s.listen)
	s.mux = newMux()
	for _, h := range s.config.handlers {
		handle(s.mux, h.pattern, h.handler)
	}
	s.Reset()
	return s
}

// Reset puts everything back to where NewServer left it: the keys, plans, pets and faults of the
// options and no others, ids from 1 again, an empty journal, no violations, unused windows, no
// bans, the latency and the clock. Entry points and connections stay open. An injection that Reset
// takes away counts as removed.
func (s *Server) Reset() {
	s.offset.Store(0)
	s.latency.Store(int64(s.config.latency))
	s.keys.reset(s.config.keys)
	s.faults.reset(s.config.seed)
	s.journal.reset(s.config.journal)
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
	must(d >= 0, "SetLatency", "%v is a negative duration", d)
	s.latency.Store(int64(d))
}

// String names the server without its keys.
func (s *Server) String() string { return "fake.Server" }

// Format writes String for every verb, since %#v and %d would show the keys, and race with
// requests.
func (s *Server) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }
