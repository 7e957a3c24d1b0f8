package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/petstore/petstore-go"
)

// operations has what a call may ask for. What stands here twice is drawn twice as often.
var operations = []string{
	petstore.OpListPets, petstore.OpGetPet, // it lives until 5 December 2030
	petstore.OpCreatePet, petstore.OpCreatePet, petstore.OpCreatePet,
}

// call is one call: what was drawn for it, the requests that it sent, and its result.
type call struct {
	operation string
	pet       petstore.NewPet // of createPet; its name is unique
	id        int64           // of getPet
	limit     int             // of listPets
	faults    []int           // of its requests, as indexes
	pause     time.Duration   // before the call
	patience  time.Duration   // after which the caller's context ends; 0 for never
	cancels   bool            // the caller cancels the context, which has no deadline

	maxWait, attemptTimeout, callTimeout time.Duration // a callTimeout of 0 is none
	retry                                petstore.RetryPolicy

	requests []*request // by the recorder
	began    time.Time
	took     time.Duration
	over     bool           // the caller's context had ended when the call returned
	pets     []petstore.Pet // of the result; nil without one
	attempts int            // requests, by the result or the error; -1 for an error of no type of ours
	err      error
}

// drawCall draws a call. trouble is the probability that one of its requests meets a fault.
func drawCall(r *rand.Rand, trouble float64, name string) *call {
	c := &call{
		operation: pick(r, operations...),
		pet: petstore.NewPet{
			Name: name, CategoryID: r.Int64(),
			Status: pick(r, "", petstore.PetStatusAvailable, petstore.PetStatusPending, petstore.PetStatusSold),
		},
		id:             1 + r.Int64N(8), // some are missing at the beginning
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
	if r.Float64() < .15 {
		c.patience, c.cancels = 1+upTo(r, 4*time.Second), r.IntN(2) == 0
	}
	for range c.retry.MaxAttempts {
		f := 0
		if r.Float64() < trouble {
			f = r.IntN(len(faults))
		}
		c.faults = append(c.faults, f)
	}
	return c
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func upTo(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d) + 1)) }

// writes reports whether the service must carry out the call at most once.
func (c *call) writes() bool { return c.operation == petstore.OpCreatePet }

// callKey is the context's key for the *call.
type callKey struct{}

// errImpatient is the cause of the end of the caller's context.
var errImpatient = errors.New("the caller lost patience")

// run makes the call.
func (c *call) run(ctx context.Context, client *petstore.Client) {
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, callKey{}, c))
	defer cancel(nil)
	if c.cancels {
		defer time.AfterFunc(c.patience, func() { cancel(errImpatient) }).Stop()
	} else if c.patience > 0 {
		limited, end := context.WithTimeoutCause(ctx, c.patience, errImpatient)
		defer end()
		ctx = limited
	}
	c.began = time.Now()
	c.ask(ctx, client,
		petstore.WithMaxWait(c.maxWait), petstore.WithRetryPolicy(c.retry),
		petstore.WithAttemptTimeout(c.attemptTimeout), petstore.WithCallTimeout(c.callTimeout))
	c.took, c.over = time.Since(c.began), ctx.Err() != nil
}

// ask calls the method of the operation.
func (c *call) ask(ctx context.Context, client *petstore.Client, opts ...petstore.CallOption) {
	c.attempts = -1
	switch c.operation {
	case petstore.OpListPets:
		got, err := client.ListPets(ctx, petstore.ListPetsParams{Limit: c.limit}, opts...)
		if c.err = err; got != nil {
			c.pets, c.attempts = got.Pets, got.Attempts
		}
	case petstore.OpGetPet:
		got, err := client.GetPet(ctx, c.id, opts...)
		if c.err = err; got != nil {
			c.pets, c.attempts = []petstore.Pet{got.Pet}, got.Attempts
		}
	case petstore.OpCreatePet:
		got, err := client.CreatePet(ctx, c.pet, opts...)
		if c.err = err; got != nil {
			c.pets, c.attempts = []petstore.Pet{got.Pet}, got.Attempts
		}
	}
	switch e := c.err.(type) { // the type of the error itself is promised, not one that it wraps
	case *petstore.TransportError:
		c.attempts = e.Attempts
	case *petstore.ResponseError:
		c.attempts = e.Attempts
	case *petstore.APIError:
		c.attempts = e.Attempts
	case *petstore.RateLimitError:
		c.attempts = e.Attempts
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

func (c *call) String() string {
	s := fmt.Sprintf("%s %s: %s after %v, patience %v, timeouts %v and %v",
		c.operation, c.pet.Name, c.outcome(), c.took, c.patience, c.attemptTimeout, c.callTimeout)
	for _, q := range c.requests {
		s += fmt.Sprintf("; %v → %d %v", faults[q.fault], q.status, q.err)
	}
	return fmt.Sprintf("%s; error: %v", s, c.err)
}
