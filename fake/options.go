package fake

import (
	"slices"
	"time"

	petstore "github.com/petstore/petstore-go"
)

// Option configures a [Server] when it is made. An option whose argument makes no sense panics when
// it is called: see "Misuse" in the documentation of the package.
type Option func(*config)

type config struct {
	keys     []keyPlan // the default key first
	minute   int64     // seconds
	pets     []petstore.NewPet
	faults   []Fault
	handlers []patternHandler
	clock    func() time.Time
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

// WithAPIKey makes key the default key, in place of [DefaultAPIKey], which the server then does not
// know.
func WithAPIKey(key string) Option {
	mustBeKey("WithAPIKey", key)
	return func(c *config) { c.keys[0].key = key }
}

// WithKey makes the server accept one more API key, on a plan.
func WithKey(key string, plan Plan) Option {
	mustBeKey("WithKey", key)
	mustBePlan("WithKey", plan)
	return func(c *config) { c.keys = append(c.keys, keyPlan{key, plan}) }
}

// WithPlan puts the default key on a plan.
func WithPlan(plan Plan) Option {
	mustBePlan("WithPlan", plan)
	return func(c *config) { c.keys[0].plan = plan }
}

// WithPets adds pets to the catalogue, also after [Server.Reset]; their ids count up from 1.
func WithPets(pets ...petstore.NewPet) Option {
	pets = slices.Clone(pets)
	return func(c *config) { c.pets = append(c.pets, pets...) }
}

// WithFaults injects faults, also after [Server.Reset].
func WithFaults(faults ...Fault) Option {
	for _, f := range faults {
		check("WithFaults", f.problem())
	}
	faults = slices.Clone(faults)
	return func(c *config) { c.faults = append(c.faults, faults...) }
}

// WithClock makes now the server's clock. now is called by many goroutines, with locks held, and
// must not call the server. [Fault.Delay] and [Fault.Drip] wait in real time.
func WithClock(now func() time.Time) Option {
	must(now != nil, "WithClock", "the clock is nil")
	return func(c *config) { c.clock = now }
}

// WithSeed seeds all random choices: [Fault.Chance] and [OrderShuffled]. Servers of one seed that
// get the same requests in the same order behave alike; the default seed is 0.
func WithSeed(seed uint64) Option { return func(c *config) { c.seed = seed } }

// WithMinute makes the minute of the rate limits last for d, rounded up to a whole second, for
// programs that show a limit in real time.
func WithMinute(d time.Duration) Option {
	must(d > 0, "WithMinute", "%v is not a positive duration", d)
	return func(c *config) { c.minute = ceilUnix(time.Unix(0, 0).Add(d)) }
}

// WithBan bans a key for d once it has sent that many further requests after a first 429, without
// one that was admitted in between (section 8.3); 0, the default, bans none. See also
// [Server.BanKey].
func WithBan(after int, d time.Duration) Option {
	must(after >= 0, "WithBan", "%d is a negative number of requests", after)
	must(after == 0 || d > 0, "WithBan", "%v is not a positive duration", d)
	return func(c *config) { c.banAfter, c.banFor = after, d }
}

// WithLatency holds every response back for d. [Server.SetLatency] changes it.
func WithLatency(d time.Duration) Option {
	must(d >= 0, "WithLatency", "%v is a negative duration", d)
	return func(c *config) { c.latency = d }
}

// WithStrict makes the test of [NewTestServer] fail for each [Violation], except those of the
// allowed rules, such as [RuleDeprecated] for a program that still calls getPet. The test also
// fails for what Close has to cut off: requests without a response, and response bodies that were
// never closed. WithStrict makes any server look for [RuleZeroCategory].
func WithStrict(allowed ...Rule) Option {
	for _, r := range allowed {
		if !slices.Contains(r.Values(), r) {
			check("WithStrict", noSuch("rule", r, r.Values()))
		}
	}
	allowed = slices.Clone(allowed)
	return func(c *config) { c.strict, c.allowed = true, append(c.allowed, allowed...) }
}

// WithBehavior chooses what the server does where the service document is silent.
func WithBehavior(b Behavior) Option {
	check("WithBehavior", b.normalize())
	return func(c *config) { c.behavior = b }
}

// WithJournal makes the journal keep the last n requests instead of the last 10,000; with 0 it
// keeps none.
func WithJournal(n int) Option {
	must(n >= 0, "WithJournal", "%d is a negative number of requests", n)
	return func(c *config) { c.journal = n }
}
