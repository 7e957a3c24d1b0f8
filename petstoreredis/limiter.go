package petstoreredis

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/time/rate"

	"github.com/petstore/petstore-go"
)

// Limiter is a [petstore.Limiter] whose budget is shared by all processes that use the same name in
// the same Redis. [NewLimiter] returns one; pass it to all clients of the key in this process with
// [petstore.WithLimiter]. It is safe for concurrent use. It need not be closed: it has no goroutine,
// and no timer unless a call waits or a permit is held. The caller closes the client of Redis.
type Limiter struct {
	store  store
	config config

	mu    sync.Mutex
	calls queue
	stats Stats // what has been counted
	shown petstore.RateLimit
	pot   pot       // the last reply
	heard time.Time // when it came; zero before the first one

	held      int       // unused permits of the pot
	heldUntil time.Time // when they lapse
	taken     int       // permits of this pot so far
	grantedAt time.Time // when the last ones came
	usedAt    time.Time // when a permit was drawn or given to a call
	report    report
	reportAt  time.Time // when to send it
	reopen    bool

	closedUntil time.Time // the pot is empty until then; zero if it is not
	polls       int       // replies in a row that had no permit for a call
	askAt       time.Time // when to ask for permits again
	command     *command  // that is on its way
	failed      bool      // the last one has failed, and is tried again
	alarm       *time.Timer

	outage *outage
	lines  *rate.Limiter // about outages
}

// NewLimiter returns a limiter that keeps its state in rdb under a name, such as the key's owner
// and plan. All limiters with the same name share one budget. Only a hash of the name leaves the
// process, so it may be the API key.
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
		opt(&config)
	}
	if err := config.check(); err != nil {
		return nil, err
	}
	hash := sha256.Sum256([]byte(name))
	l := &Limiter{
		store:  store{rdb, redis.NewScript(potScript).Hash(), config.prefix + hex.EncodeToString(hash[:])},
		config: config,
		stats:  Stats{Name: hex.EncodeToString(hash[:6])},
		lines:  rate.NewLimiter(rate.Every(lineEvery), linesAtOnce),
	}
	if config.meters != nil {
		if err := l.measure(config.meters); err != nil {
			return nil, fmt.Errorf("petstoreredis: %w", err)
		}
	}
	return l, nil
}

// RateLimit implements [petstore.Limiter]. It does no I/O. The limiter has one budget, whatever the
// key.
func (l *Limiter) RateLimit(string) petstore.RateLimit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shown
}

// Reopen lets one request of all processes ask the service, although a 429 or a day that is used up
// has closed the key. The others know after at most ten seconds, and follow if it succeeds.
func (l *Limiter) Reopen(keyID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.reopen, l.closedUntil, l.askAt = true, time.Time{}, now
	if l.outage != nil {
		l.outage.limiter.(interface{ Reopen(keyID string) }).Reopen(keyID) // as its comment says
	}
	l.pump(now)
}

// Flush reports the outcomes of requests to Redis, and returns unused permits. A program that ends
// right after its last call should call it: otherwise the others do without these permits until the
// end of the window. It does nothing while Redis is away. The error is that of Redis.
func (l *Limiter) Flush(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.outage == nil {
		now := time.Now()
		if l.giveBack(now); !l.reportAt.IsZero() {
			l.reportAt = now
		}
		l.pump(now)
		c := l.command
		if c == nil {
			return nil
		}
		l.mu.Unlock()
		select {
		case <-c.inTime.Done():
		case <-ctx.Done():
		}
		l.mu.Lock()
		if ctx.Err() != nil {
			return fmt.Errorf("petstoreredis: flush: %w", context.Cause(ctx))
		}
	}
	return fmt.Errorf("petstoreredis: flush: %w", l.outage.err)
}

// permit allows one request to be sent.
type permit struct {
	limiter  *Limiter
	window   int64           // of the pot; 0 without Redis
	probe    bool            // others wait for its response
	alone    petstore.Permit // of the limiter for the time without Redis, or nil
	released bool
}

// Release implements [petstore.Permit].
func (p *permit) Release(o petstore.Observation) {
	l := p.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.released {
		return
	}
	p.released = true
	l.stats.InFlight--
	now := time.Now()
	if p.alone != nil {
		p.alone.Release(o)
	}
	if o.RateLimit.Limit > 0 {
		l.shown = o.RateLimit
	}
	unused := o.Delivery == petstore.DeliveryNotTried || o.Delivery == petstore.DeliveryNotSent
	if unused && !p.probe && p.window == l.pot.Window && now.Before(l.heldUntil) {
		l.held++
	} else {
		l.report.add(p.window, &o)
		if l.reportAt.IsZero() {
			l.reportAt = now.Add(reportAfter)
		}
		if p.probe || l.report.Rejected { // others wait for it
			l.reportAt = now
		}
	}
	l.pump(now)
}
