package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/petstore/petstore-go"
)

// operations has what a call may ask for; what stands here more often is drawn more often.
var operations = []string{
	petstore.OpListPets, petstore.OpGetPet, // it lives until 5 December 2030
	petstore.OpCreatePet, petstore.OpCreatePet, petstore.OpCreatePet,
}

// call is one call: what was drawn for it, and its result.
type call struct {
	operation string
	pet       petstore.NewPet // of createPet; its name is unique
	id        int64           // of getPet
	limit     int             // of listPets
	kinds     []*kind         // kind of failure of each request; later requests have none
	pause     time.Duration   // before the call
	patience  time.Duration   // after which the caller gives up; 0 for never
	cancels   bool            // the caller gives up by a cancel, not a deadline

	maxWait, attemptTimeout, callTimeout time.Duration // 0 for none
	retry                                petstore.RetryPolicy

	began    time.Time
	took     time.Duration
	result   *result // nil without one
	err      error
	over     bool // the caller's context had ended when the call returned
	panicked any

	mu       sync.Mutex
	requests []*request // recorded by the recorder
}

// result is what the caller of a method gets.
type result struct {
	pets     []petstore.Pet
	attempts int
}

// drawCall draws a call. trouble is the probability that one of its requests fails.
func drawCall(r *rand.Rand, trouble float64, name string) *call {
	c := &call{
		operation: pick(r, operations...),
		pet: petstore.NewPet{
			Name: name, CategoryID: r.Int64(),
			Status: pick(r, "", petstore.PetStatusAvailable, petstore.PetStatusPending, petstore.PetStatusSold),
		},
		id:             1 + r.Int64N(missing),
		limit:          r.IntN(11),
		pause:          upTo(r, 2*time.Second),
		maxWait:        pick(r, 0, 5*time.Second, 2*time.Minute, 2*time.Minute, 10*time.Minute),
		attemptTimeout: pick(r, 500*time.Millisecond, 5*time.Second, 10*time.Second, 30*time.Second),
		callTimeout:    pick(r, 0, 0, 0, 0, 3*time.Second),
		retry: petstore.RetryPolicy{
			MaxAttempts: pick(r, 1, 2, 4, 7), BaseDelay: pick(r, 0, 50*time.Millisecond),
			MaxDelay: pick(r, time.Second, time.Minute),
		},
	}
	if chance(r, .15) {
		c.patience, c.cancels = 1+upTo(r, 4*time.Second), chance(r, .5)
	}
	for range c.retry.MaxAttempts {
		k := plain
		if chance(r, trouble) {
			k = pick(r, kinds...)
		}
		c.kinds = append(c.kinds, k)
	}
	return c
}

// writes reports whether the call must not be repeated.
func (c *call) writes() bool { return c.operation == petstore.OpCreatePet }

// callKey is the context's key for the *call.
type callKey struct{}

// errImpatient is the cause of the context's end when a caller gives up.
var errImpatient = errors.New("the caller lost patience")

// run makes the call.
func (c *call) run(ctx context.Context, client *petstore.Client) {
	defer func() { c.panicked = recover() }()
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
	c.ask(ctx, client,
		petstore.WithMaxWait(c.maxWait), petstore.WithRetryPolicy(c.retry),
		petstore.WithAttemptTimeout(c.attemptTimeout), petstore.WithCallTimeout(c.callTimeout))
}

// ask calls the method of the operation.
func (c *call) ask(ctx context.Context, client *petstore.Client, opts ...petstore.CallOption) {
	switch c.operation {
	case petstore.OpListPets:
		got, err := client.ListPets(ctx, petstore.ListPetsParams{Limit: c.limit}, opts...)
		if c.err = err; got != nil {
			c.result = &result{got.Pets, got.Attempts}
		}
	case petstore.OpGetPet:
		got, err := client.GetPet(ctx, c.id, opts...)
		if c.err = err; got != nil {
			c.result = &result{[]petstore.Pet{got.Pet}, got.Attempts}
		}
	case petstore.OpCreatePet:
		got, err := client.CreatePet(ctx, c.pet, opts...)
		if c.err = err; got != nil {
			c.result = &result{[]petstore.Pet{got.Pet}, got.Attempts}
		}
	}
}

// The outcomes of a call, as its caller knows them.
const (
	done    = "done"
	notDone = "not done"
	unknown = "unknown"
)

func (c *call) outcome() string {
	switch {
	case c.err == nil:
		return done
	case errors.Is(c.err, petstore.ErrOutcomeUnknown):
		return unknown
	}
	return notDone
}

// attempts returns the number of requests that the result or error reports, -1 without one.
func (c *call) attempts() int {
	if c.result != nil {
		return c.result.attempts
	}
	switch e := c.err.(type) { // the type itself is what is promised
	case *petstore.TransportError:
		return e.Attempts
	case *petstore.ResponseError:
		return e.Attempts
	case *petstore.APIError:
		return e.Attempts
	case *petstore.RateLimitError:
		return e.Attempts
	}
	return -1
}

func (c *call) String() string {
	s := fmt.Sprintf("%s %s: %s after %v", c.operation, c.pet.Name, c.outcome(), c.took)
	s += fmt.Sprintf(", patience %v, timeouts %v and %v", c.patience, c.attemptTimeout, c.callTimeout)
	for _, q := range c.requests {
		s += fmt.Sprintf("; %s → %d %v", q.kind.name, q.status, q.err)
	}
	return fmt.Sprintf("%s; error: %v", s, c.err)
}
