package fake

import (
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
)

// Option configures a [Server] when it is made.
type Option func(*config)

// config is what the options of a server say.
type config struct {
	plan     Plan
	minute   int64 // seconds
	keys     []keyPlan
	pets     []petstore.NewPet
	clock    func() time.Time
	seed     uint64
	ban      banPolicy
	strict   bool
	allowed  []string
	behavior Behavior
	journal  int
	latency  time.Duration
	notify   func(seq int)
}

// keyPlan is a key that WithKey adds.
type keyPlan struct {
	key  string
	plan Plan
}

// WithKey makes the server accept one more API key, on the given plan. It panics if no
// Authorization header can carry the key: if it is empty or has spaces or control characters.
func WithKey(key string, plan Plan) Option {
	mustBeToken("WithKey", key)
	return func(c *config) { c.keys = append(c.keys, keyPlan{key, plan}) }
}

// mustBeToken panics without repeating the key, which might be a real one.
func mustBeToken(where, key string) {
	bad := func(r rune) bool { return r <= ' ' || r >= 0x7f }
	if key == "" || strings.ContainsFunc(key, bad) {
		panic("fake: " + where + ": the key must be non-empty printable ASCII without spaces")
	}
}

// WithPlan puts the default key on a plan other than [PlanBusiness].
func WithPlan(plan Plan) Option { return func(c *config) { c.plan = plan } }

// WithPets puts animals into the catalogue; their ids count up from 1. [Server.Reset] puts the same
// animals back.
func WithPets(pets ...petstore.NewPet) Option {
	return func(c *config) { c.pets = append(c.pets, pets...) }
}

// WithClock makes the server live by now instead of time.Now. now is called by many goroutines, with
// locks held, and must not call the server. The waits of [Fault.Delay] and [WireDrip] are real all the same.
func WithClock(now func() time.Time) Option { return func(c *config) { c.clock = now } }

// WithSeed decides what is left to chance: [Fault.Chance] and [OrderShuffled]. Servers of one seed
// that get the same requests in the same order behave alike; the default seed is 0.
func WithSeed(seed uint64) Option { return func(c *config) { c.seed = seed } }

// WithMinute makes the minute of the rate limits last for d, rounded up to a whole second, for programs
// that show a limit in real time. In tests, let virtual time pass instead.
func WithMinute(d time.Duration) Option {
	return func(c *config) { c.minute = max(ceilUnix(time.Unix(0, 0).Add(d)), 1) }
}

// WithBan bans a key for d once it has sent that many further requests after a first 429, without
// one that was admitted in between (section 8.3). After 0 requests nobody is banned, which is the
// default. See also [Server.BanKey].
func WithBan(after int, d time.Duration) Option {
	return func(c *config) { c.ban = banPolicy{after, d} }
}

// WithLatency holds every answer back for d, like a [Fault] with that Delay for every request that
// leaves room for others.
func WithLatency(d time.Duration) Option { return func(c *config) { c.latency = max(d, 0) } }

// WithStrict fails the test of [NewTestServer] for each [Violation] of good conduct, except those
// of the rules given to [WithAllowed], and for all that Close has to break off: requests that have no
// answer yet, and response bodies that were never closed, which only [Server.Client] and
// [Server.HTTPClient] can tell. For a server of [NewServer] it does nothing.
func WithStrict() Option { return func(c *config) { c.strict = true } }

// WithAllowed names rules that [WithStrict] does not enforce, such as [RuleDeprecated] for a program
// that still calls getPet. Violations tells of them all the same.
func WithAllowed(rules ...string) Option {
	return func(c *config) { c.allowed = append(c.allowed, rules...) }
}

// WithBehavior chooses what the server does where the service document is silent.
func WithBehavior(b Behavior) Option { return func(c *config) { c.behavior = b } }

// WithJournal makes the journal keep the last n requests instead of the last 10,000; with 0 it
// keeps none.
func WithJournal(n int) Option { return func(c *config) { c.journal = max(n, 0) } }

// WithNotify calls f twice for each request of the journal, with its [Request.Seq]: when it is there, and
// when its answer is, before the client has it. f runs on the goroutine that serves the request,
// which waits for it, and on several at a time; no lock is held, so that it may call the server.
func WithNotify(f func(seq int)) Option { return func(c *config) { c.notify = f } }
