package petstoreotel

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/petstore/petstore-go"
)

// budgetKey identifies an API key at a service.
type budgetKey struct {
	server server
	keyID  string
}

// budget is the known state of the rate limit of one API key.
type budget struct {
	seen      time.Time          // when anything was last learned
	sent      time.Time          // when the request was sent whose response gave rateLimit
	rateLimit petstore.RateLimit // zero: not known
	closures  map[petstore.LimitScope]closure
}

// closure is a time until which no request may be sent, and when it was learned.
type closure struct{ learned, until time.Time }

// maxBudgets is the number of API keys that are kept apart. A program has one or two, unless each
// of its own users has one.
const maxBudgets = 1000

// budgets are those of the API keys in use.
type budgets struct {
	mu    sync.Mutex
	known map[budgetKey]*budget
}

// of returns the budget of a key. If there are too many, it forgets any other one: the gauges show
// the key with the fewest requests left, and one of a thousand hardly changes that.
func (bs *budgets) of(key budgetKey, now time.Time) *budget {
	b := bs.known[key]
	if b == nil {
		b = &budget{closures: make(map[petstore.LimitScope]closure)}
		for other := range bs.known {
			if len(bs.known) < maxBudgets {
				break
			}
			delete(bs.known, other)
		}
		bs.known[key] = b
	}
	b.seen = now
	return b
}

// observe takes over the rate limit of a response.
func (bs *budgets) observe(key budgetKey, info petstore.AttemptDoneInfo) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	now := time.Now()
	b, sent := bs.of(key, now), now.Add(-info.Duration)
	r := info.RateLimit
	switch {
	case r.IsZero():
	case r.Limit == b.rateLimit.Limit && r.Reset.Equal(b.rateLimit.Reset):
		b.rateLimit.Remaining = min(b.rateLimit.Remaining, r.Remaining) // responses may overtake each other
	case !sent.Before(b.sent):
		b.rateLimit, b.sent = r, sent
	}
	if info.StatusCode == http.StatusTooManyRequests || r.IsZero() || r.Remaining == 0 {
		return
	}
	maps.DeleteFunc(b.closures, func(_ petstore.LimitScope, c closure) bool {
		return sent.After(c.learned) // earlier requests say nothing about it
	})
}

// closed records that no request may be sent before until.
func (bs *budgets) closed(key budgetKey, scope petstore.LimitScope, until time.Time) {
	now := time.Now()
	if scope == "" || !until.After(now) {
		return
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	b := bs.of(key, now)
	if until.After(b.closures[scope].until) {
		b.closures[scope] = closure{now, until}
	}
}

// figures are the values of the gauges of a server, over all of its API keys.
type figures struct {
	rateLimit   petstore.RateLimit // of the key with the fewest requests left
	closedUntil map[petstore.LimitScope]time.Time
}

// figures returns the current values by server. It forgets outdated budgets: a program that sends
// nothing would otherwise show the same number of requests for ever.
func (bs *budgets) figures(now time.Time) map[server]*figures {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	all := make(map[server]*figures)
	for key, b := range bs.known {
		maps.DeleteFunc(b.closures, func(_ petstore.LimitScope, c closure) bool { return !c.until.After(now) })
		if len(b.closures) == 0 && b.outdated(now) {
			delete(bs.known, key)
			continue
		}
		if all[key.server] == nil {
			all[key.server] = &figures{closedUntil: make(map[petstore.LimitScope]time.Time)}
		}
		all[key.server].add(b)
	}
	return all
}

// outdated reports whether the window is over. Its Reset is by the clock of the service, which may
// be behind, but a minute after the last response a window of a minute is over in any case.
func (b *budget) outdated(now time.Time) bool {
	return now.Sub(b.seen) > time.Minute && now.Sub(b.rateLimit.Reset) > time.Minute
}

// add keeps the smaller of two budgets. A closed gate leaves no requests, whatever the last
// response said: that of a ban may describe a window with room.
func (f *figures) add(b *budget) {
	r := b.rateLimit
	for scope, c := range b.closures {
		r.Remaining = 0
		if c.until.After(f.closedUntil[scope]) {
			f.closedUntil[scope] = c.until
		}
	}
	if !b.rateLimit.IsZero() && (f.rateLimit.IsZero() || r.Remaining < f.rateLimit.Remaining) {
		f.rateLimit = r
	}
}

// watch has the meter read the figures whenever it collects, until stop is called.
func (bs *budgets) watch(meter metric.Meter) (stop func()) {
	limit, err1 := meter.Int64ObservableGauge("petstore.client.rate_limit.limit", metric.WithUnit("{request}"),
		metric.WithDescription("Requests that the current window of the rate limit allows."))
	remaining, err2 := meter.Int64ObservableGauge("petstore.client.rate_limit.remaining", metric.WithUnit("{request}"),
		metric.WithDescription("Requests left in the current window of the rate limit."))
	closedUntil, err3 := meter.Float64ObservableGauge("petstore.client.rate_limit.closed_until", metric.WithUnit("s"),
		metric.WithDescription("When the gate that the rate limit has closed opens, as Unix time."))
	if err := errors.Join(err1, err2, err3); err != nil {
		otel.Handle(err)
		return func() {}
	}
	registration, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for at, f := range bs.figures(time.Now()) {
			served := metric.WithAttributes(at.attributes()...)
			if !f.rateLimit.IsZero() {
				o.ObserveInt64(limit, int64(f.rateLimit.Limit), served)
				o.ObserveInt64(remaining, int64(f.rateLimit.Remaining), served)
			}
			for scope, until := range f.closedUntil {
				o.ObserveFloat64(closedUntil, float64(until.UnixMilli())/1000, served,
					metric.WithAttributes(attribute.String("petstore.rate_limit.scope", string(scope))))
			}
		}
		return nil
	}, limit, remaining, closedUntil)
	if err != nil {
		otel.Handle(err)
		return func() {}
	}
	return func() { _ = registration.Unregister() } // which fails for a meter that has been shut down
}
