package fake

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
)

// Option configures a [Server] when it is made. See also "Misuse" in the package documentation.
type Option func(*config)

type config struct {
	keys     []apiKey // their texts and plans; the default key first
	minute   int64    // seconds
	pets     []petstore.NewPet
	faults   []Fault
	handlers []route
	seed     uint64
	banAfter int // more 429s in a row than this ban a key; 0 for no bans
	banFor   time.Duration
	strict   bool
	allowed  []Rule
	behavior Behavior
	journal  int
	latency  time.Duration
}

// WithAPIKey makes key the default key, in place of [DefaultAPIKey].
func WithAPIKey(key string) Option {
	mustBeKey("WithAPIKey", key)
	return func(c *config) { c.keys[0].text = key }
}

// WithKey makes the server accept one more API key, on a plan.
func WithKey(key string, plan Plan) Option {
	mustBeKey("WithKey", key)
	panicOn("WithKey", plan.problem())
	return func(c *config) { c.keys = append(c.keys, apiKey{text: key, plan: plan}) }
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
// with the same seed behave alike if they get the same requests in the same order.
func WithSeed(seed uint64) Option { return func(c *config) { c.seed = seed } }

// WithMinute makes the minute of the rate limits last for d, rounded up to a whole second. A
// petstore.Client still expects windows of a minute: if many calls wait, it refuses a call that
// would wait longer than its MaxWait in windows of a minute.
func WithMinute(d time.Duration) Option {
	panicUnless(d > 0, "WithMinute", "%v is not a positive duration", d)
	return func(c *config) { c.minute = int64(math.Ceil(d.Seconds())) }
}

// WithBan bans a key for d when it gets more 429s in a row than the number after (section 8.3):
// with an after of 2, the third 429 begins the ban. An after of 0, the default, bans no key.
func WithBan(after int, d time.Duration) Option {
	mustNotBeNegative("WithBan", after)
	panicUnless(after == 0 || d > 0, "WithBan", "%v is not a positive duration", d)
	return func(c *config) { c.banAfter, c.banFor = after, d }
}

// WithLatency holds every response back for d. [Server.SetLatency] changes it.
func WithLatency(d time.Duration) Option {
	mustNotBeNegative("WithLatency", d)
	return func(c *config) { c.latency = d }
}

// WithStrict makes the test of [NewTestServer] fail for each [Violation], except violations of the
// allowed rules, such as [RuleDeprecated] for a program that still calls getPet.
func WithStrict(allowed ...Rule) Option {
	for _, r := range allowed {
		panicOn("WithStrict", oneOf("rule", r, Rules()))
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
// against the limits, may meet a fault, and is in the journal, with an empty Operation. What h
// writes is sent as [net/http] sends it, after the headers of the rate limit and of the server's
// time. A fault that takes the place of the service does not call h. With any other
// fault, the response is sent when h returns, as the fault changes it.
func WithHandler(pattern string, h http.Handler) Option {
	path := pattern[strings.LastIndex(pattern, " ")+1:]
	panicUnless(strings.HasPrefix(path, version+"/"), "WithHandler",
		"the path of the pattern %s is not below /v1/", quote(pattern))
	panicUnless(h != nil, "WithHandler", "the handler is nil")
	added := route{h, Operation{serve: (*exchange).handle}, pattern}
	return func(c *config) { c.handlers = append(c.handlers, added) }
}

// panicUnless and panicOn are for mistakes of the program that uses the fake. No message has a key
// in it.
func panicUnless(ok bool, where, format string, args ...any) {
	if !ok {
		panic("fake: " + where + ": " + fmt.Sprintf(format, args...))
	}
}

func panicOn(where string, err error) { panicUnless(err == nil, where, "%v", err) }

func mustNotBeNegative[T int | time.Duration](where string, n T) {
	panicUnless(n >= 0, where, "%v is negative", n)
}

func errorIf(wrong bool, format string, args ...any) error {
	if !wrong {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// oneOf returns an error if a name is not one of names.
func oneOf[T ~string](kind string, name T, names []T) error {
	if slices.Contains(names, name) {
		return nil
	}
	list := strings.Trim(fmt.Sprint(names), "[ ]") // no name has a space; an empty name is not shown
	return fmt.Errorf("there is no %s %s; there are %s", kind, quote(string(name)), strings.ReplaceAll(list, " ", ", "))
}
