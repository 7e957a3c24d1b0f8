package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// operation is what a call may ask for. Whatever depends on one reads it here, but for what the
// checks expect of its effect.
type operation struct {
	name   string
	times  int  // how often it is drawn
	writes bool // it must not be repeated
	ask    func(c *call, ctx context.Context, client *petstore.Client, opts []petstore.CallOption)
}

var operations = []*operation{
	{petstore.OpListPets, 1, false, func(c *call, ctx context.Context, client *petstore.Client, opts []petstore.CallOption) {
		result, err := client.ListPets(ctx, petstore.ListPetsParams{Limit: c.limit}, opts...)
		c.returned(result, result == nil, err)
	}},
	{petstore.OpGetPet, 1, false, func(c *call, ctx context.Context, client *petstore.Client, opts []petstore.CallOption) {
		result, err := client.GetPet(ctx, c.id, opts...) // it lives until 5 December 2030
		c.returned(result, result == nil, err)
	}},
	{petstore.OpCreatePet, 3, true, func(c *call, ctx context.Context, client *petstore.Client, opts []petstore.CallOption) {
		result, err := client.CreatePet(ctx, c.pet, opts...)
		c.returned(result, result == nil, err)
	}},
}

// drawn has each operation as often as it is drawn.
var drawn = func() (all []*operation) {
	for _, o := range operations {
		all = append(all, slices.Repeat([]*operation{o}, o.times)...)
	}
	return all
}()

// call is one call, as it was drawn, with its result.
type call struct {
	operation *operation
	pet       petstore.NewPet // of createPet; its name is unique
	id        int64           // of getPet
	limit     int             // of listPets
	kinds     []*kind         // failure of each request; further requests have none
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
	maxWait, attemptTimeout time.Duration
	callTimeout             time.Duration // 0 for none
	retry                   petstore.RetryPolicy
}

// policy is a short name for tables.
type policy = petstore.RetryPolicy

// usual has the defaults of package petstore.
var usual = bounds{
	maxWait: 2 * time.Minute, attemptTimeout: 30 * time.Second,
	retry: policy{MaxAttempts: 4, BaseDelay: 500 * time.Millisecond, MaxDelay: 30 * time.Second},
}

// limits are what a call is drawn from.
var limits = []bounds{
	usual,
	usual,
	{
		maxWait: 10 * time.Minute, attemptTimeout: 5 * time.Second,
		retry: policy{MaxAttempts: 7, BaseDelay: 50 * time.Millisecond, MaxDelay: time.Second},
	},
	{
		maxWait: 5 * time.Second, attemptTimeout: 500 * time.Millisecond,
		retry: policy{MaxAttempts: 2, MaxDelay: time.Minute},
	},
	{
		maxWait: time.Minute, attemptTimeout: 10 * time.Second, callTimeout: 3 * time.Second,
		retry: policy{MaxAttempts: 3, MaxDelay: time.Second},
	},
	{attemptTimeout: 10 * time.Second, retry: policy{MaxAttempts: 1, MaxDelay: time.Second}},
}

// drawCall draws the n-th call of a caller.
func drawCall(r *rand.Rand, trouble float64, name string) *call {
	c := &call{
		operation: pick(r, drawn...),
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

var everyKind = kinds()

// callKey is the context's key for the *call.
type callKey struct{}

// errImpatient is the cause of the context's end when a caller gives up.
var errImpatient = errors.New("the caller lost patience")

// run makes the call.
func (c *call) run(ctx context.Context, client *petstore.Client) {
	defer func() { c.panicked = recover() }()
	c.life = ctx
	ctx, cancel := c.impatience(context.WithValue(ctx, callKey{}, c))
	defer cancel()
	c.began = time.Now()
	defer func() { c.took, c.over = time.Since(c.began), ctx.Err() != nil }()
	c.ask(ctx, client)
}

func (c *call) impatience(ctx context.Context) (context.Context, context.CancelFunc) {
	switch {
	case c.patience == 0:
		return context.WithCancel(ctx)
	case !c.cancels:
		return context.WithTimeoutCause(ctx, c.patience, errImpatient)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(c.patience, func() { cancel(errImpatient) })
	return ctx, func() { timer.Stop(); cancel(nil) }
}

// ask calls the operation.
func (c *call) ask(ctx context.Context, client *petstore.Client) {
	opts := []petstore.CallOption{
		petstore.WithMaxWait(c.maxWait), petstore.WithRetryPolicy(c.retry),
		petstore.WithAttemptTimeout(c.attemptTimeout), petstore.WithCallTimeout(c.callTimeout),
		petstore.WithHeader("Chaos-Call", c.pet.Name),
	}
	c.operation.ask(c, ctx, client, opts)
}

// returned keeps a result. A nil pointer of one becomes a nil result.
func (c *call) returned(result any, none bool, err error) {
	if !none {
		c.result = result
	}
	c.err = err
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

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

func upTo(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d) + 1)) }

// kindHeader is the header of a request by which the fake selects its failure.
const kindHeader = "Chaos-Kind"

// requestHeader is the header with the number of a request. net/http may repeat a read with it.
const requestHeader = "Chaos-Request"

// kind is a kind of failure of one request.
type kind struct {
	name  string
	fault fake.Fault
	whole bool          // the service's own response arrives completely
	stay  time.Duration // Retry-After of the response
}

var plain = &kind{name: "none", whole: true}

// kinds returns all kinds of failure. A response that means "not carried out", such as a 400 or a
// 429, comes only before the commit: no client can deal with a service that is wrong about that.
func kinds() []*kind {
	all := slices.Concat(brokenConnections(), oddResponses(), refusals())
	for _, status := range []int{408, 500, 502, 503, 504} {
		all = append(all, beforeAndAfter(fmt.Sprint(status), fake.Fault{Status: status})...)
	}
	for _, wire := range fake.Wire("").Values() {
		for _, k := range beforeAndAfter(string(wire), fake.Fault{Wire: wire}) {
			k.whole = wire == fake.WireLoginPage
			all = append(all, k)
		}
	}
	all = slices.DeleteFunc(all, func(k *kind) bool { return k.fault.Validate() != nil }) // refused after commit
	return all
}

// brokenConnections returns the kinds with slow or broken connections.
func brokenConnections() []*kind {
	const late = 700 * time.Millisecond
	return []*kind{
		{name: "refuse late", fault: fake.Fault{Wire: fake.WireRefuse, Delay: late}},
		{name: "truncate of a 500", fault: fake.Fault{Wire: fake.WireTruncate, Status: 500}},
		{name: "delay", fault: fake.Fault{Delay: late}, whole: true},
		{name: "delay after commit", fault: fake.Fault{Delay: late, AfterCommit: true}, whole: true},
		{
			name:  "reset long after commit",
			fault: fake.Fault{Delay: 2 * time.Second, AfterCommit: true, Wire: fake.WireReset},
		},
	}
}

// oddResponses returns the kinds with odd responses to requests that are carried out.
func oddResponses() []*kind {
	return []*kind{
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
	}
}

// refusals returns the kinds with responses to requests that are not carried out.
func refusals() []*kind {
	elsewhere := http.Header{"Location": {"https://elsewhere.test/v1/pets"}}
	echo := fake.Fault{Status: 400, Message: "what is " + key + "?", Header: http.Header{"X-Echo": {key}}}
	return []*kind{
		{name: "400 that repeats the key", fault: echo},
		{name: "401", fault: fake.Fault{Status: 401}},
		{name: "403", fault: fake.Fault{Status: 403}},
		{name: "404", fault: fake.Fault{Status: 404}},
		{name: "501", fault: fake.Fault{Status: 501}},
		{name: "redirect", fault: fake.Fault{Status: 307, Header: elsewhere}},
		{name: "429", fault: fake.Fault{Status: 429}},
		{name: "429 cut off", fault: fake.Fault{Status: 429, Wire: fake.WireTruncate}},
		{name: "429 with an odd Retry-After", fault: fake.Fault{Status: 429, RetryAfter: "soon"}},
		{
			name: "429 with Retry-After", stay: 3 * time.Second,
			fault: fake.Fault{Status: 429, RetryAfter: "3"},
		},
		{ // a fraction: the fake does not count it as a wait for all clients of the key, only for this call
			name: "503 with Retry-After", stay: 2500 * time.Millisecond,
			fault: fake.Fault{Status: 503, RetryAfter: "2.5"},
		},
	}
}

func beforeAndAfter(name string, f fake.Fault) []*kind {
	before, after := &kind{name: name, fault: f}, &kind{name: name + " after commit", fault: f}
	after.fault.AfterCommit = true
	return []*kind{before, after}
}

// inject makes the service give each request the failure that its header names.
func inject(srv *fake.Server, all []*kind) map[string]*fake.Injection {
	injected := map[string]*fake.Injection{}
	for _, k := range all {
		f := k.fault
		f.Times = fake.Forever
		f.Match = func(r *http.Request) bool { return r.Header.Get(kindHeader) == k.name }
		injected[k.name] = srv.Inject(f)
	}
	return injected
}
