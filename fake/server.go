package fake

import (
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	petstore "github.com/petstore/petstore-go"
)

// DefaultAPIKey is the API key of a new [Server], on [PlanBusiness]. [WithAPIKey] replaces the key,
// and [WithPlan] its plan.
const DefaultAPIKey = "fake-api-key"

// Server is the Pet Store Service in memory. It has three entry points: connections in memory
// ([Server.Client] and [Server.HTTPClient]), a loopback port ([Server.URL]), and a server of your
// own ([Server.ServeHTTP]). [NewServer] and [NewTestServer] make a Server. Its methods are safe for
// concurrent use.
type Server struct {
	config   config
	mux      *http.ServeMux // of routes
	loopback func() string  // opens the port at its first call, and returns its URL
	closed   atomic.Bool
	offset   atomic.Int64 // from the clock of the machine
	latency  atomic.Int64

	mu      sync.Mutex         // guards the fields below; nothing of the user is called while it is held
	arrival *sync.Cond         // of a request; unlike a channel, a Cond may wake goroutines of several bubbles
	panics  []string           // of Match and of handlers
	parts   map[io.Closer]bool // the port and the connections; true if a request is in progress
	state
}

// state is what [Server.Reset] replaces.
type state struct {
	keys       []*apiKey      // by their numbers
	pets       []petstore.Pet // by their ids, which count up from 1
	injections []*Injection   // in their order, without those that were removed
	lastID     int            // of an injection
	rng        *rand.Rand
	journal    []*Request // the last requests, without gaps
	lastSeq    int        // of a request
	violations []Violation
}

// NewServer returns a server, which the caller closes with [Server.Close]. Nothing runs before the
// first request. In a test, [NewTestServer] is the better choice.
func NewServer(opts ...Option) *Server {
	s := &Server{parts: make(map[io.Closer]bool), config: config{
		keys: []apiKey{{text: DefaultAPIKey, plan: PlanBusiness}}, minute: minute, journal: 10_000,
	}}
	for _, opt := range opts {
		if opt != nil {
			opt(&s.config)
		}
	}
	s.arrival = sync.NewCond(&s.mu)
	s.loopback = sync.OnceValue(s.listen)
	s.mux = newMux(s.config.handlers...)
	s.Reset()
	return s
}

// Reset restores the state after NewServer: the keys, plans, pets and faults of the options, an
// empty journal without violations, unused windows, no bans, the latency and the clock. Ids begin
// with 1 again. Connections stay open. All earlier injections count as removed.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offset.Store(0)
	s.latency.Store(int64(s.config.latency))
	s.state = state{rng: rand.New(rand.NewPCG(s.config.seed, 2))}
	for _, k := range s.config.keys {
		s.addKey(k.text, k.plan)
	}
	for _, p := range s.config.pets {
		s.addPet(p)
	}
	for _, f := range s.config.faults {
		s.inject(f)
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
