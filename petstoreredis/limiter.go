package petstoreredis

import (
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/petstore/petstore-go/ratelimit"
)

// Limiter is a [petstore.Limiter] whose budgets are shared by all processes that use the same
// Redis. [NewLimiter] returns one; pass it to all clients of this process with
// [petstore.WithLimiter], also to those of different keys: each key has a budget of its own. It is
// safe for concurrent use. It need not be closed: it has no goroutine and no timer at rest. The
// caller closes the client of Redis. A program that ends right after its last call should call
// Flush before.
type Limiter struct {
	*ratelimit.Limiter
	pot *pot
}

// NewLimiter returns a limiter that keeps its state in rdb, in a hash for each API key, whose name
// ends in its [petstore.Call].KeyID.
//
// NewLimiter does no I/O. It returns a [petstore.ArgumentError] if rdb is nil or an option is
// invalid.
func NewLimiter(rdb redis.UniversalClient, opts ...Option) (*Limiter, error) {
	if v := reflect.ValueOf(rdb); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, argumentError("rdb", "is nil")
	}
	c := config{timeout: 2 * time.Second, prefix: "petstore:"}
	for _, opt := range opts {
		if opt == nil {
			return nil, argumentError("opts", "has a nil option")
		}
		opt(&c)
	}
	switch {
	case c.share < 0:
		return nil, argumentError("WithShare", "is negative")
	case c.timeout <= 0:
		return nil, argumentError("WithTimeout", "is not positive")
	}
	p := newPot(rdb, c)
	if c.meters != nil {
		if err := p.measure(c.meters); err != nil {
			return nil, err
		}
	}
	return &Limiter{ratelimit.New(ratelimit.Shared(p.exchange), ratelimit.Processes(p.processes)), p}, nil
}

// Stats returns the state of the limiter. It does no I/O.
func (l *Limiter) Stats() Stats { return l.pot.stats() }
