package fake

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	petstore "github.com/petstore/petstore-go"
)

// DefaultAPIKey is the key that a [Server] accepts from the start unless [WithAPIKey] replaces it,
// on [PlanBusiness] unless [WithPlan] says otherwise.
const DefaultAPIKey = "fake-api-key"

// Server is the Pet Store Service in memory. It has three entry points: [Server.Client] and
// [Server.HTTPClient] by a connection in memory, [Server.URL] by a loopback port, and
// [Server.ServeHTTP] in a server of your own. [NewServer] and [NewTestServer] make one. Its methods
// are safe for concurrent use.
type Server struct {
	config    config
	offset    atomic.Int64 // from the time of the machine
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

// Reset puts everything back to where NewServer left it: the keys, plans, pets and faults of the
// options, an empty journal without violations, unused windows, no bans, the latency and the clock.
// Ids begin with 1 again. Connections stay open. Other injections count as removed.
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

// Option configures a [Server] when it is made. See also "Misuse" in the package documentation.
type Option func(*config)

type config struct {
	keys     []keyPlan // the default key first
	minute   int64     // seconds
	pets     []petstore.NewPet
	faults   []Fault
	handlers []handler
	seed     uint64
	banAfter int // further requests after a first 429; 0 is never
	banFor   time.Duration
	strict   bool
	allowed  []Rule
	behavior Behavior
	journal  int
	latency  time.Duration
}

type keyPlan struct {
	key  string
	plan Plan
}

// WithAPIKey makes key the default key, in place of [DefaultAPIKey].
func WithAPIKey(key string) Option {
	mustBeKey("WithAPIKey", key)
	return func(c *config) { c.keys[0].key = key }
}

// WithKey makes the server accept one more API key, on a plan.
func WithKey(key string, plan Plan) Option {
	mustBeKey("WithKey", key)
	panicOn("WithKey", plan.problem())
	return func(c *config) { c.keys = append(c.keys, keyPlan{key, plan}) }
}

// WithPlan puts the default key on a plan.
func WithPlan(plan Plan) Option {
	panicOn("WithPlan", plan.problem())
	return func(c *config) { c.keys[0].plan = plan }
}

// WithPets adds pets to the catalogue, also after [Server.Reset]; their ids count up from 1.
func WithPets(pets ...petstore.NewPet) Option {
	pets = slices.Clone(pets)
	return func(c *config) { c.pets = append(c.pets, pets...) }
}

// WithFaults injects faults, also after [Server.Reset].
func WithFaults(faults ...Fault) Option {
	faults = slices.Clone(faults)
	for i, f := range faults {
		panicOn("WithFaults", f.problem())
		faults[i] = f.clone()
	}
	return func(c *config) { c.faults = append(c.faults, faults...) }
}

// WithSeed seeds all random choices: [Fault.Chance] and [OrderShuffled]; the default is 0. Servers
// of one seed that get the same requests in the same order behave alike.
func WithSeed(seed uint64) Option { return func(c *config) { c.seed = seed } }

// WithMinute makes the minute of the rate limits last for d, rounded up to a whole second. A
// petstore.Client expects that a window lasts a minute: if many calls wait, it refuses those that
// would then wait for longer than its MaxWait.
func WithMinute(d time.Duration) Option {
	panicUnless(d > 0, "WithMinute", "%v is not a positive duration", d)
	return func(c *config) { c.minute = int64(math.Ceil(d.Seconds())) }
}

// WithBan bans a key for d when a 429 is followed by as many further requests as after says, none
// of them admitted (section 8.3). The default, 0, bans no key.
func WithBan(after int, d time.Duration) Option {
	mustNotBeNegative("WithBan", after)
	panicUnless(after == 0 || d > 0, "WithBan", "%v is no time for a ban", d)
	return func(c *config) { c.banAfter, c.banFor = after, d }
}

// WithLatency holds every response back for d. [Server.SetLatency] changes it.
func WithLatency(d time.Duration) Option {
	mustNotBeNegative("WithLatency", d)
	return func(c *config) { c.latency = d }
}

// WithStrict makes the test of [NewTestServer] fail for each [Violation], except those of the
// allowed rules, such as [RuleDeprecated] for a program that still calls getPet.
func WithStrict(allowed ...Rule) Option {
	for _, r := range allowed {
		panicOn("WithStrict", oneOf("rule", r, r.Values()))
	}
	allowed = slices.Clone(allowed)
	return func(c *config) { c.strict, c.allowed = true, append(c.allowed, allowed...) }
}

// WithBehavior chooses what the server does where the service document is silent.
func WithBehavior(b Behavior) Option {
	panicOn("WithBehavior", b.problem())
	return func(c *config) { c.behavior = b }
}

// WithJournal makes the journal keep the last n requests, or none, instead of the last 10,000.
func WithJournal(n int) Option {
	mustNotBeNegative("WithJournal", n)
	return func(c *config) { c.journal = n }
}

// WithHandler adds an operation that the service has and this fake does not. The pattern is one of
// [http.ServeMux], for a path below /v1, such as "PUT /v1/orders/{id}", and must not conflict with
// another one. There is no redirect to a cleaner path. A request for h is authenticated, counts
// against the limits, may meet a fault, and is in the journal, with an empty Operation. h writes to
// the connection, as in any server; the rate limit headers are set already. A fault that changes
// the response holds it back until h returns.
func WithHandler(pattern string, h http.Handler) Option {
	_, path, _ := strings.Cut(pattern, " ")
	path = cmp.Or(strings.TrimSpace(path), pattern)
	panicUnless(strings.HasPrefix(path, version+"/"), "WithHandler",
		"the path of the pattern %s is not below /v1/", quote(pattern))
	added := handler{h, pattern, path}
	newMux(added) // which panics on a conflict
	return func(c *config) { c.handlers = append(c.handlers, added) }
}

type handler struct {
	http.Handler
	pattern, path string
}

// panicUnless and panicOn are for mistakes of the program that uses the fake. No message repeats a
// key.
func panicUnless(ok bool, where, format string, args ...any) {
	if !ok {
		panic("fake: " + where + ": " + fmt.Sprintf(format, args...))
	}
}

func panicOn(where string, err error) { panicUnless(err == nil, where, "%v", err) }

func mustNotBeNegative[T int | time.Duration](where string, n T) {
	panicUnless(n >= 0, where, "%v is negative", n)
}

// oneOf returns an error if a name is not one of names.
func oneOf[T ~string](kind string, name T, names []T) error {
	if slices.Contains(names, name) {
		return nil
	}
	list := strings.Trim(fmt.Sprint(names), "[ ]") // no name has a space, and the empty one is not shown
	return fmt.Errorf("there is no %s %s; there are %s", kind, quote(string(name)), strings.ReplaceAll(list, " ", ", "))
}
