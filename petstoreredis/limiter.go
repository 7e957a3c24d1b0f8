package petstoreredis

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/quota"
)

// Limiter is a [petstore.Limiter] whose budget every process shares that gives the same name to the
// same Redis. [NewLimiter] makes one; give it to all clients of the key in this process through
// [petstore.WithLimiter]. It is safe for concurrent use and needs no closing: at rest it has
// neither goroutine nor timer. The client of Redis belongs to the caller, who closes it.
type Limiter struct {
	store  store
	config config
	id     string // of this process, new for every Limiter
	label  string // in the log

	mu     sync.Mutex
	known  knowledge
	offset quota.Offset
	last   petstore.Observation // the last response with a limit, of the latest window

	queue   queue
	tickets uint64 // issued so far

	unused       []slot    // permits that no call has asked for yet
	until        time.Time // the end of the lease of all that is held
	granted      int       // permits, by the last command that got any
	grantedAt    time.Time // when that was
	usedAt       time.Time // when the last of them was given to a call
	inFlight     int
	first        int       // of those, the probes
	lastResponse time.Time // when the last request ended

	traffic
	timer    *time.Timer
	wakeAt   time.Time
	fallback fallback
}

var (
	_ petstore.Limiter  = (*Limiter)(nil)
	_ petstore.Reopener = (*Limiter)(nil)
)

// NewLimiter returns a limiter whose state is kept by rdb under a name, such as that of the key's
// owner and plan. All limiters with one name share one budget; the processes of a fleet must use
// the same version of this package, or they share the key as two fleets do. Only a hash of the name
// leaves the process, so that it may even be the API key.
//
// NewLimiter does no I/O. It fails with a [petstore.ArgumentError] if rdb is nil, the name is
// empty, or an option is wrong.
func NewLimiter(rdb redis.UniversalClient, name string, opts ...Option) (*Limiter, error) {
	if v := reflect.ValueOf(rdb); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, argumentError("rdb", "is nil")
	}
	if name == "" {
		return nil, argumentError("name", "is empty")
	}
	config := defaults()
	for _, opt := range opts {
		if opt == nil {
			return nil, argumentError("opts", "has a nil option")
		}
		opt.apply(&config)
	}
	if err := config.check(); err != nil {
		return nil, err
	}
	hash := sha256.Sum256([]byte(name))
	return &Limiter{
		store:  newStore(rdb, config.prefix, hex.EncodeToString(hash[:])),
		config: config,
		id:     rand.Text(),
		label:  hex.EncodeToString(hash[:6]),
	}, nil
}

// RateLimit implements [petstore.Limiter]. It does no I/O.
func (l *Limiter) RateLimit() petstore.RateLimit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known.rateLimit
}

// Reopen implements [petstore.Reopener]: all processes learn of it, and the first that has a call
// asks the service. The budget is one for all keys that the name is used for, so that keyID does
// not matter.
func (l *Limiter) Reopen(string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.known.reopen()
	if l.fallback.share != nil {
		l.fallback.share.reopen(now)
	}
	l.reopens, l.urgent = true, true
	l.dispatch(now)
}

// Flush reports to Redis what this process has done, and gives back what it has reserved and not
// used. It is for programs that end right after their last call, so that the others need not wait
// for the end of the lease; otherwise it is done a moment later anyway. While Redis is away Flush
// does nothing. The error is that of Redis.
func (l *Limiter) Flush(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.awaitReply(ctx)
	if err == nil && l.fallback.share == nil {
		err = l.flush(ctx)
	}
	if err != nil {
		return fmt.Errorf("petstoreredis: flush: %w", err)
	}
	return nil
}

// earliest returns a time before which a request cannot be sent that has so many others before it
// in the queue of this process; now, if nothing known prevents it.
func (l *Limiter) earliest(now time.Time, ahead int) time.Time {
	if l.fallback.share != nil {
		return l.fallback.share.earliest(now, ahead)
	}
	return l.known.earliest(now, ahead)
}

// scope returns the limit because of which a request must wait until at, empty if no known one.
func (l *Limiter) scope(now, at time.Time) petstore.LimitScope {
	if l.fallback.share != nil {
		return l.fallback.share.scope(now, at)
	}
	return l.known.scope(now, at)
}

// refusal returns the error for a call whose request cannot be sent before at. Its rate limit is
// that of the whole key, also while this process keeps to its share.
func (l *Limiter) refusal(now, at time.Time) *petstore.RateLimitError {
	e := &petstore.RateLimitError{RateLimit: l.known.rateLimit, Scope: l.scope(now, at), Local: true}
	if at.After(now) {
		e.RetryAt = at
	}
	return e
}

// ended returns the error for a call whose context has ended.
func (l *Limiter) ended(now time.Time, end error) error {
	e := l.refusal(now, l.earliest(now, 0))
	e.Err = end
	return e
}
