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
	"github.com/petstore/petstore-go/internal/queue"
	"github.com/petstore/petstore-go/internal/quota"
)

// Limiter is a [petstore.Limiter] whose budget is shared by all processes that use the same name in
// the same Redis. [NewLimiter] returns one; pass it to all clients of the key in this process with
// [petstore.WithLimiter]. It is safe for concurrent use. It need not be closed: it has no goroutine,
// and no timer unless a call waits or a permit is held. The caller closes the client of Redis.
type Limiter struct {
	store  store
	config config
	id     string // of this process, new for every Limiter

	mu     sync.Mutex
	stats  Stats // what has been counted
	known  knowledge
	offset quota.Offset
	last   quota.Observation // the last response with a limit, of the latest window

	calls queue.Queue[*permit]

	unused       []slot    // permits that no call has asked for yet
	until        time.Time // end of the lease of all permits
	granted      int       // number of permits of the last reply that had any
	grantedAt    time.Time // when that reply came
	usedAt       time.Time // when the last of these permits was given to a call
	inFlight     int
	probes       int       // probes in flight
	lastResponse time.Time // when the last request ended

	traffic
	fallback fallback
}

var _ petstore.Limiter = (*Limiter)(nil)

// NewLimiter returns a limiter that keeps its state in rdb under a name, such as that of the key's
// owner and plan. All limiters with the same name share one budget. All processes must use the same
// version of this package: those of another version have a budget of their own, as if they did not
// know of the others. Only a hash of the name leaves the process, so it may be the API key.
//
// NewLimiter does no I/O. It returns a [petstore.ArgumentError] if rdb is nil, the name is empty, or
// an option is invalid.
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
	l := &Limiter{
		store:  newStore(rdb, config.prefix, hex.EncodeToString(hash[:])),
		config: config,
		id:     rand.Text(),
		stats:  Stats{Name: hex.EncodeToString(hash[:6])},
	}
	l.calls.Init((*budget)(l), l.longestTrip)
	return l, nil
}

// RateLimit implements [petstore.Limiter]. It does no I/O.
func (l *Limiter) RateLimit(string) petstore.RateLimit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return petstore.RateLimit(l.known.rateLimit)
}

// Reopen implements [petstore.Client.ReopenLimit] for all processes: the first one that has a call sends the
// request. keyID is ignored, because the limiter has one budget.
func (l *Limiter) Reopen(string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.known.reopen()
	if s := l.fallback.share; s != nil {
		s.reopen(now)
	}
	l.rejected = quota.Observation{}
	l.reopens, l.urgent = true, true
	l.dispatch(now)
}

// Flush reports the outcomes of requests to Redis, and returns unused permits. A program that ends
// right after its last call should call it, so that the other processes need not wait for the end of
// the lease. In other programs it happens a moment later anyway. During a fallback Flush does
// nothing. The error is that of Redis.
func (l *Limiter) Flush(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fallback.share != nil {
		return nil
	}
	var err error
	for l.busy && l.fallback.share == nil && err == nil {
		err = l.awaitReply(ctx)
	}
	if l.fallback.share == nil && err == nil {
		l.returnUnused()
		l.send(time.Now())
		err = l.awaitReply(ctx)
	}
	if l.fallback.share != nil {
		err = l.fallback.reason
	}
	if err != nil {
		return fmt.Errorf("petstoreredis: flush: %w", err)
	}
	return nil
}

// rules decide what a call has to wait for.
type rules interface {
	// earliest returns a time before which a request cannot be admitted if that many others of this
	// process go before it. It returns now if no limit is known to prevent it.
	earliest(now time.Time, before int) time.Time
	// scope returns the limit because of which a request must wait until at; empty if there is none.
	scope(now, at time.Time) quota.Scope
}

// rules returns what decides now: the share during a fallback, else what Redis has replied.
func (l *Limiter) rules() rules {
	if l.fallback.share != nil {
		return l.fallback.share
	}
	return &l.known
}
