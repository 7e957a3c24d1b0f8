package petstoreotel

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/petstore/petstore-go"
)

func (i *instrumentation) limitClosed(ctx context.Context, info petstore.LimitInfo) {
	k, _ := i.callOf(ctx)
	i.lockout(ctx, k, info.Call, info.Scope, info.Until)
}

func (i *instrumentation) limitOpened(ctx context.Context, info petstore.LimitInfo) {
	k, _ := i.callOf(ctx)
	for _, scope := range []petstore.LimitScope{petstore.ScopeMinute, petstore.ScopeDay, petstore.ScopeBan} {
		i.lockout(ctx, k, info.Call, scope, time.Time{})
	}
}

// lockout records until when the rate limit is closed for the key of a call; zero: it is open.
func (i *instrumentation) lockout(
	ctx context.Context, k *call, c petstore.Call, scope petstore.LimitScope, until time.Time,
) {
	latest, known := i.lockouts.set(lockout{c.BaseURL, scope, c.KeyID}, until)
	if !known {
		return
	}
	var seconds float64
	if !latest.IsZero() {
		seconds = float64(latest.UnixMilli()) / 1000
	}
	i.metrics.closedUntil.Record(ctx, seconds, metric.WithAttributes(k.server...),
		metric.WithAttributes(attribute.String("petstore.rate_limit.scope", string(scope))))
}

// lockout is a limit that is closed for a key.
type lockout struct {
	baseURL string
	scope   petstore.LimitScope
	keyID   string
}

// lockouts has the end of each lockout. Keys are no attributes, so that a key that is open must not
// hide another one that is closed.
type lockouts struct {
	mu    sync.Mutex
	until map[lockout]time.Time
}

// set sets the end of a lockout, or removes it if until is zero. It returns the latest end of those
// with the same server and scope, and whether there is anything to record.
func (l *lockouts) set(of lockout, until time.Time) (latest time.Time, known bool) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	_, known = l.until[of]
	delete(l.until, of)
	if of.scope != "" && until.After(now) {
		l.until[of], known = until, true
	}
	for other, end := range l.until {
		if !end.After(now) {
			delete(l.until, other)
		} else if other.baseURL == of.baseURL && other.scope == of.scope && end.After(latest) {
			latest = end
		}
	}
	return latest, known
}
