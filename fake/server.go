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

// grace is how long Close waits for requests to end by themselves, and then again for the requests
// that it cut off. Both waits together take less than a second.
const grace = 400 * time.Millisecond

// follow notes the state of a connection or of the port. Once the server is closed, it closes each
// new one.
func (s *Server) follow(c io.Closer, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, here := s.parts[c]
	switch {
	case state == http.StateClosed, state == http.StateHijacked:
		delete(s.parts, c)
	case s.closed.Load() && !here:
		_ = c.Close()
	default:
		s.parts[c] = state == http.StateActive
	}
}

// Close ends the server. Requests in progress get a moment to finish; then Close closes the port
// and all connections, which also ends stalled requests. It returns within a second. By then, the
// goroutines of the server have ended, except in a Match or a handler that hangs. Requests of
// [Server.ServeHTTP] end with the server in which they run. Close may be called more than once.
func (s *Server) Close() {
	s.closed.Store(true)
	s.wake()
	s.waitForParts(true)
	for _, c := range s.openParts(false) {
		abort(c)
	}
	s.waitForParts(false)
}

// openParts returns the parts that have not ended or, with busy, those with a request in progress.
func (s *Server) openParts(busy bool) (parts []io.Closer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, active := range s.parts {
		if active || !busy {
			parts = append(parts, c)
		}
	}
	return parts
}

// waitForParts waits until openParts returns none, but no longer than the grace. It polls, as
// http.Server.Shutdown does: a channel or a WaitGroup would belong to one synctest bubble, and the
// parts may live in another bubble, or in none.
func (s *Server) waitForParts(busy bool) {
	interval := 50 * time.Microsecond
	for left := grace; left > 0 && len(s.openParts(busy)) > 0; left -= interval {
		time.Sleep(interval)
		interval = min(2*interval, 10*time.Millisecond)
	}
}
