package petstoreotel

import (
	"context"
	"errors"
	"net/url"
	"runtime"
	"sync"
	"weak"

	"go.opentelemetry.io/otel/metric"

	"github.com/petstore/petstore-go"
)

// clients are those that sent through a transport. It keeps none of them alive.
type clients struct {
	seen sync.Map // weak.Pointer[petstore.Client] → *client
}

// client is what is known of one beside what it says itself.
type client struct {
	server     server
	attributes metric.MeasurementOption
}

func newClient(c *petstore.Client) *client {
	at := &url.URL{}
	if u, err := url.Parse(c.BaseURL()); err == nil {
		at = u
	}
	s := serverOf(at)
	return &client{s, s.attributes()}
}

// of returns what is known of c, and remembers c as long as it lives.
func (cs *clients) of(c *petstore.Client) *client {
	key := weak.Make(c)
	if known, ok := cs.seen.Load(key); ok {
		return known.(*client)
	}
	known, there := cs.seen.LoadOrStore(key, newClient(c))
	if !there && c != nil {
		runtime.AddCleanup(c, func(key weak.Pointer[petstore.Client]) { cs.seen.Delete(key) }, key)
	}
	return known.(*client)
}

// figures are those of all clients of a server.
type figures struct {
	waiting   int
	rateLimit petstore.RateLimit
}

// add takes of two rate limits the one with fewer requests left.
func (f *figures) add(c *petstore.Client) {
	f.waiting += c.Waiting()
	r := c.RateLimit()
	if f.rateLimit.IsZero() || !r.IsZero() && r.Remaining < f.rateLimit.Remaining {
		f.rateLimit = r
	}
}

// figures are those of now, by server.
func (cs *clients) figures() map[server]*figures {
	all := make(map[server]*figures)
	cs.seen.Range(func(key, value any) bool {
		at := value.(*client).server
		if all[at] == nil {
			all[at] = &figures{}
		}
		all[at].add(key.(weak.Pointer[petstore.Client]).Value()) // nil, of which nothing waits, until it is forgotten
		return true
	})
	return all
}

// watch makes the meter ask for the figures whenever it collects.
func (cs *clients) watch(meter metric.Meter) (stop func(), err error) {
	waiting, err1 := meter.Int64ObservableUpDownCounter(MetricWaitingCalls, metric.WithUnit("{call}"),
		metric.WithDescription("Calls that wait for the rate limit."))
	limit, err2 := meter.Int64ObservableGauge(MetricLimit, metric.WithUnit("{request}"),
		metric.WithDescription("Requests that the current window of the rate limit allows."))
	remaining, err3 := meter.Int64ObservableGauge(MetricRemaining, metric.WithUnit("{request}"),
		metric.WithDescription("Requests left in the current window of the rate limit."))
	if err := errors.Join(err1, err2, err3); err != nil {
		return func() {}, err
	}
	registration, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for at, f := range cs.figures() {
			attributes := at.attributes()
			o.ObserveInt64(waiting, int64(f.waiting), attributes)
			if !f.rateLimit.IsZero() {
				o.ObserveInt64(limit, int64(f.rateLimit.Limit), attributes)
				o.ObserveInt64(remaining, int64(f.rateLimit.Remaining), attributes)
			}
		}
		return nil
	}, waiting, limit, remaining)
	if err != nil {
		return func() {}, err
	}
	return func() { _ = registration.Unregister() }, nil // of a meter that has been shut down
}
