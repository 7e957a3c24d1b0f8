package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// operation is what a call may ask for. All that differs between operations is here.
type operation struct {
	name   string
	writes bool // it must not be repeated
	weight int  // how often it is drawn, beside the others
	ask    func(ctx context.Context, c *call, client *petstore.Client, opts []petstore.CallOption) (any, error)
	check  func(r *report, c *call, has *catalogue) // checks its result, which may be nil, and its effect
}

var operations = []*operation{
	{petstore.OpListPets, false, 1, func(ctx context.Context, c *call, client *petstore.Client, opts []petstore.CallOption) (any, error) {
		return result(client.ListPets(ctx, petstore.ListPetsParams{Limit: c.limit}, opts...))
	}, (*report).checkRead},
	{petstore.OpGetPet, false, 1, func(ctx context.Context, c *call, client *petstore.Client, opts []petstore.CallOption) (any, error) {
		return result(client.GetPet(ctx, c.id, opts...)) // it lives until 5 December 2030
	}, (*report).checkRead},
	{petstore.OpCreatePet, true, 3, func(ctx context.Context, c *call, client *petstore.Client, opts []petstore.CallOption) (any, error) {
		return result(client.CreatePet(ctx, c.pet, opts...))
	}, (*report).checkCreate},
}

// result makes a nil pointer a nil result.
func result[T any](value *T, err error) (any, error) {
	if value == nil {
		return nil, err
	}
	return value, err
}

// call is one call: what was drawn for it, and its result.
type call struct {
	operation *operation
	pet       petstore.NewPet // of createPet; its name is unique
	id        int64           // of getPet
	limit     int             // of listPets
	kinds     []*kind         // kind of failure of each request; later requests have none
	pause     time.Duration   // before the call
	patience  time.Duration   // after which the caller gives up; 0 for never
	cancels   bool            // the caller gives up by a cancel, not a deadline
	bounds

	life     context.Context // of the scenario
	began    time.Time
	took     time.Duration
	result   any   // result of the operation; nil without one
	err      error // error of the operation
	over     bool  // the caller's context had ended when the call returned
	panicked any

	mu       sync.Mutex
	requests []*request // recorded by the recorder
}

// bounds are the options that limit a call.
type bounds struct {
	maxWait, attemptTimeout, callTimeout time.Duration // 0 for none
	retry                                petstore.RetryPolicy
}

// limits are the bounds from which those of a call are drawn: mostly the defaults of package
// petstore.
var limits = []bounds{
	{2 * time.Minute, 30 * time.Second, 0, policy(4, 500*time.Millisecond, 30*time.Second)},
	{2 * time.Minute, 30 * time.Second, 0, policy(4, 500*time.Millisecond, 30*time.Second)},
	{10 * time.Minute, 5 * time.Second, 0, policy(7, 50*time.Millisecond, time.Second)},
	{5 * time.Second, 500 * time.Millisecond, 0, policy(2, 0, time.Minute)},
	{time.Minute, 10 * time.Second, 3 * time.Second, policy(3, 0, time.Second)},
	{0, 10 * time.Second, 0, policy(1, 0, time.Second)},
}

func policy(attempts int, base, longest time.Duration) petstore.RetryPolicy {
	return petstore.RetryPolicy{MaxAttempts: attempts, BaseDelay: base, MaxDelay: longest}
}

// drawCall draws the n-th call of a caller.
func drawCall(r *rand.Rand, trouble float64, name string) *call {
	var likely []*operation
	for _, o := range operations {
		likely = append(likely, slices.Repeat([]*operation{o}, o.weight)...)
	}
	c := &call{
		operation: pick(r, likely...),
		pet: petstore.NewPet{
			Name: name, CategoryID: r.Int64(),
			Status: pick(r, "", petstore.PetStatusAvailable, petstore.PetStatusPending, petstore.PetStatusSold),
		},
		id:     1 + r.Int64N(missing),
		limit:  r.IntN(11),
		pause:  upTo(r, 2*time.Second),
		bounds: pick(r, limits...),
	}
	if chance(r, .15) {
		c.patience, c.cancels = 1+upTo(r, 4*time.Second), chance(r, .5)
	}
	for range c.retry.MaxAttempts {
		k := plain
		if chance(r, trouble) {
			k = pick(r, everyKind...)
		}
		c.kinds = append(c.kinds, k)
	}
	return c
}

// callKey is the context's key for the *call.
type callKey struct{}

// errImpatient is the cause of the context's end when a caller gives up.
var errImpatient = errors.New("the caller lost patience")

// run makes the call.
func (c *call) run(ctx context.Context, client *petstore.Client) {
	defer func() { c.panicked = recover() }()
	c.life = ctx
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, callKey{}, c))
	defer cancel(nil)
	switch {
	case c.cancels:
		defer time.AfterFunc(c.patience, func() { cancel(errImpatient) }).Stop()
	case c.patience > 0:
		limited, end := context.WithTimeoutCause(ctx, c.patience, errImpatient)
		defer end()
		ctx = limited
	}
	c.began = time.Now()
	defer func() { c.took, c.over = time.Since(c.began), ctx.Err() != nil }()
	opts := []petstore.CallOption{
		petstore.WithMaxWait(c.maxWait), petstore.WithRetryPolicy(c.retry),
		petstore.WithAttemptTimeout(c.attemptTimeout), petstore.WithCallTimeout(c.callTimeout),
		petstore.WithHeader("Chaos-Call", c.pet.Name),
	}
	c.result, c.err = c.operation.ask(ctx, c, client, opts)
}

// outcome returns what the caller knows about the operation after the call.
func (c *call) outcome() string {
	switch {
	case c.err == nil:
		return "done"
	case errors.Is(c.err, petstore.ErrOutcomeUnknown):
		return "unknown"
	}
	return "not done"
}

// attempts returns the number of requests that the result or error reports, -1 without one.
func (c *call) attempts() int {
	if c.result != nil { // each result has a Response
		return int(reflect.ValueOf(c.result).Elem().FieldByName("Attempts").Int())
	}
	if e, ok := errors.AsType[*petstore.TransportError](c.err); ok {
		return e.Attempts
	}
	if e, ok := errors.AsType[*petstore.ResponseError](c.err); ok {
		return e.Attempts
	}
	if e, ok := errors.AsType[*petstore.APIError](c.err); ok {
		return e.Attempts
	}
	return -1
}

func (c *call) String() string {
	s := fmt.Sprintf("%s %s: %s after %v", c.operation.name, c.pet.Name, c.outcome(), c.took)
	if c.patience > 0 {
		s += fmt.Sprintf(", patience %v", c.patience)
	}
	s += fmt.Sprintf(", attempt %v", c.attemptTimeout)
	for _, q := range c.requests {
		s += fmt.Sprintf("; %s → %d %v", q.kind.name, q.status, q.err)
	}
	return fmt.Sprintf("%s; error: %v", s, c.err)
}

// kindHeader is the header of a request by which the fake selects its failure.
const kindHeader = "Chaos-Kind"

// kind is a kind of failure of one request.
type kind struct {
	name  string
	fault fake.Fault
	whole bool          // the service's own response arrives completely
	stay  time.Duration // Retry-After of the response
}

var plain = &kind{name: "none", whole: true}

const late = 700 * time.Millisecond

// everyKind has all kinds of failure. A response that means "not carried out", such as a 400 or a
// 429, is sent only if the request was not carried out: no client can cope with a service that is
// wrong about that.
var everyKind = slices.Concat([]*kind{
	// Slow or broken connections.
	{name: "refuse late", fault: fake.Fault{Wire: fake.WireRefuse, Delay: late}},
	{name: "truncate of a 500", fault: fake.Fault{Wire: fake.WireTruncate, Status: 500}},
	{name: "delay", fault: fake.Fault{Delay: late}, whole: true},
	{name: "delay after commit", fault: fake.Fault{Delay: late, AfterCommit: true}, whole: true},
	{name: "reset long after commit", fault: fake.Fault{Delay: 2 * time.Second, AfterCommit: true, Wire: fake.WireReset}},
	// Odd responses to requests that are carried out.
	{name: "202 after commit", fault: fake.Fault{Status: 202, AfterCommit: true}},
	{name: "204 after commit", fault: fake.Fault{Status: 204, AfterCommit: true}},
	{name: "cut JSON", fault: fake.Fault{Body: []byte(`{"id":1,"name":"`)}},
	{name: "another body", fault: fake.Fault{Body: []byte(`{"status":"available"}`)}},
	{name: "flood", fault: fake.Fault{Body: []byte("[" + strings.Repeat(" ", 2*maxBody))}},
	{name: "a page", fault: fake.Fault{Header: http.Header{"Content-Type": {"text/html"}}}},
	{name: "no rate limit headers", whole: true, fault: fake.Fault{Header: http.Header{
		"X-RateLimit-Limit": nil, "X-RateLimit-Remaining": nil, "X-RateLimit-Reset": nil,
	}}},
	{name: "limits garbled", whole: true, fault: fake.Fault{Header: http.Header{
		"X-RateLimit-Remaining": {"-1"}, "X-RateLimit-Reset": {"tomorrow"},
	}}},
	// Responses to requests that are not carried out.
	{name: "400 that repeats the key", fault: fake.Fault{Status: 400, Message: "what is " + key + "?", Header: http.Header{"X-Echo": {key}}}},
	{name: "401", fault: fake.Fault{Status: 401}},
	{name: "403", fault: fake.Fault{Status: 403}},
	{name: "404", fault: fake.Fault{Status: 404}},
	{name: "501", fault: fake.Fault{Status: 501}},
	{name: "redirect", fault: fake.Fault{Status: 307, Header: http.Header{"Location": {"https://elsewhere.test/v1/pets"}}}},
	{name: "429", fault: fake.Fault{Status: 429}},
	{name: "429 cut off", fault: fake.Fault{Status: 429, Wire: fake.WireTruncate}},
	{name: "429 with an odd Retry-After", fault: fake.Fault{Status: 429, RetryAfter: "soon"}},
	{name: "429 with Retry-After", stay: 3 * time.Second, fault: fake.Fault{Status: 429, RetryAfter: "3"}},
	// The value is a fraction of a second, so the fake takes it as a wait of this call, and not of all
	// clients of the key.
	{name: "503 with Retry-After", stay: 2500 * time.Millisecond, fault: fake.Fault{Status: 503, RetryAfter: "2.5"}},
}, beforeAndAfter())

// beforeAndAfter returns the kinds that may come before or after the request is carried out. These
// are the responses whose status leaves open which it was, and all that happens on the wire.
func beforeAndAfter() (all []*kind) {
	add := func(name string, whole bool, f fake.Fault) {
		if f.Validate() == nil { // a refused connection after a commit is impossible
			all = append(all, &kind{name: name, whole: whole, fault: f})
		}
	}
	for after, when := range map[bool]string{false: "", true: " after commit"} {
		for _, status := range []int{408, 500, 502, 503, 504} {
			add(strconv.Itoa(status)+when, false, fake.Fault{Status: status, AfterCommit: after})
		}
		for _, wire := range fake.Wire("").Values() {
			add(string(wire)+when, wire == fake.WireLoginPage, fake.Fault{Wire: wire, AfterCommit: after})
		}
	}
	slices.SortFunc(all, func(a, b *kind) int { return strings.Compare(a.name, b.name) }) // the same for each seed
	return all
}

// inject makes the service give each request the failure that its header names.
func inject(srv *fake.Server) map[string]*fake.Injection {
	injected := map[string]*fake.Injection{}
	for _, k := range everyKind {
		f := k.fault
		f.Times = fake.Forever
		f.Match = func(r *http.Request) bool { return r.Header.Get(kindHeader) == k.name }
		injected[k.name] = srv.Inject(f)
	}
	return injected
}
