package fake

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// DefaultAPIKey is the key every [Server] accepts from the start, on [PlanBusiness] unless
// [WithPlan] says otherwise. [Server.APIKey] returns it.
const DefaultAPIKey = "fake-api-key"

// The operations of the service (section 4), as [Fault.Operation] and [Request.Operation] name them.
const (
	OpListPets  = "listPets"
	OpCreatePet = "createPet"
	OpGetPet    = "getPet"
)

// Server is the Pet Store Service in memory. It has four doors, and all lead to the same
// catalogue, limits, faults, journal and clock:
//
//   - [Server.Client] and [Server.HTTPClient]: net/http on both sides of a connection in memory,
//   - [Server.Transport]: the service on the caller's goroutine,
//   - [Server.URL]: a loopback port,
//   - [Server.ServeHTTP]: a handler for a server of your own, serving paths below /v1.
//
// [NewServer] and [NewTestServer] make one. Its methods are safe for concurrent use.
type Server struct {
	config   config
	tb       TB // nil unless NewTestServer made the server
	clock    clock
	keys     keyring
	store    store
	faults   faultList
	journal  journal
	conduct  conduct
	inflight inflight
	memory   *http.Transport
	loopback loopback
	closing  sync.Once
}

// NewServer returns a server that is ready to be used through any of its doors. Nothing runs and
// no port is open before the first request. The caller closes it with [Server.Close]; in a test,
// [NewTestServer] is the better choice. NewServer panics if an option cannot be followed, such as
// an empty key.
func NewServer(opts ...Option) *Server {
	s := &Server{config: config{plan: PlanBusiness, minute: minute, journal: defaultJournal}}
	for _, opt := range opts {
		if opt != nil {
			opt(&s.config)
		}
	}
	s.clock.source = s.config.clock
	s.keys.clock = &s.clock
	s.keys.minute = window{kind: s.config.behavior.Window, span: s.config.minute}
	s.keys.day = window{kind: s.config.behavior.Window, span: day}
	s.keys.add(DefaultAPIKey, s.config.plan)
	for _, k := range s.config.keys {
		s.keys.add(k.key, k.plan)
	}
	s.inflight.prepare()
	s.memory = s.newMemoryTransport()
	s.begin()
	return s
}

// begin puts everything that Reset puts back into its first state.
func (s *Server) begin() {
	s.faults.reset(s.config.seed)
	s.journal.reset(s.config.journal)
	s.conduct.reset()
	s.store.reset(s.config.seed)
	for _, p := range s.config.pets {
		s.AddPet(p)
	}
}

// Reset starts afresh: the pets of [WithPets] and no others, ids from 1 again, an empty journal,
// no violations, unused windows, no bans, no faults. Keys, their plans and the clock stay as they
// are. An injection that Reset takes away counts as removed.
func (s *Server) Reset() {
	s.keys.reset()
	s.begin()
}

// Now returns the server's time: that of its clock plus what [Server.Advance] added.
func (s *Server) Now() time.Time { return s.clock.now() }

// Advance moves the server's clock ahead of the time around it: windows pass, bans end, and the
// Date header follows. It wakes nobody: a client that waits and a [Fault.Delay] wait by their own
// clock, and so does a client that has been told when its window ends. Inside a testing/synctest
// bubble a plain time.Sleep does both.
func (s *Server) Advance(d time.Duration) { s.clock.offset.Add(int64(d)) }

// String names the server without its keys.
func (s *Server) String() string { return "fake.Server" }

// Format writes String for every verb, since %#v and %d would show the keys, and race with requests.
func (s *Server) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }
