package ratelimit

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/internal/testkit"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) {
	testkit.SkipExamples()
	goleak.VerifyTestMain(m)
}

// limiter is a limiter in a synctest bubble.
type limiter struct {
	*Limiter
	t *testing.T
}

// test runs f with a limiter that knows nothing yet, and checks that nothing is left in the limiter
// when the calls are over.
func test(t *testing.T, name string, f func(t *testing.T, l *limiter)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := &limiter{New(), t}
			f(t, l)
			synctest.Wait()
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, q := range l.keys {
				assert.Zero(t, q.budget.inFlight, "in flight")
				assert.Zero(t, q.waiting, "waiting")
				assert.Empty(t, q.waiters)
				assert.Nil(t, q.timer, "timer")
			}
		})
	})
}

// ask calls Acquire, and returns its error as an *Error.
func (l *limiter) ask(ctx context.Context, r Request) (Permit, *Error) {
	p, err := l.Acquire(ctx, r)
	if err != nil {
		return nil, err.(*Error)
	}
	return p, nil
}

// permit waits for the permit of a call, which may take an hour.
func (l *limiter) permit() Permit { return l.permitFor(Request{MaxWait: time.Hour}) }

func (l *limiter) permitFor(r Request) Permit {
	l.t.Helper()
	p, err := l.Acquire(l.t.Context(), r)
	require.NoError(l.t, err)
	return p
}

// refused returns why a call gets no permit. It must be refused immediately.
func (l *limiter) refused(r Request) *Error {
	l.t.Helper()
	start := time.Now()
	_, refused := l.ask(l.t.Context(), r)
	require.NotNil(l.t, refused)
	assert.Equal(l.t, start, time.Now(), "no time has passed")
	return refused
}

// one makes a request that must be admitted without a wait for a limit.
func (l *limiter) one(o Outcome) {
	l.t.Helper()
	l.permitFor(Request{}).Release(o)
}

// ok is a 200 that took no time.
func ok(limit, remaining int, reset time.Duration) Outcome {
	now := time.Now()
	return Outcome{
		Sent: now, Received: now, StatusCode: http.StatusOK,
		Window: Window{Limit: limit, Remaining: remaining, Reset: now.Add(reset)}, Date: now.Truncate(time.Second),
	}
}

// tooMany is a 429 that took no time.
func tooMany(limit, remaining int, reset, retryAfter time.Duration) Outcome {
	o := ok(limit, remaining, reset)
	o.StatusCode, o.RetryAfter = http.StatusTooManyRequests, retryAfter
	return o
}

func newService(perMinute int) *Service {
	return &Service{Clock: time.Now, Window: Fixed, PerMinute: perMinute}
}

// carry simulates a request and its response. The service counts the request after half of the time.
func carry(s *Service, took time.Duration) Outcome {
	sent := time.Now()
	time.Sleep(took / 2)
	o := s.Answer()
	time.Sleep(took / 2)
	o.Sent, o.Received = sent, time.Now()
	return o
}

func TestLimiterKeys(t *testing.T) {
	test(t, "budgets without useful knowledge are dropped", func(t *testing.T, l *limiter) {
		for range 10 * manyKeys {
			l.permitFor(Request{Key: time.Now().String()}).Release(ok(60, 59, time.Minute))
			time.Sleep(2 * time.Minute)
		}
		assert.LessOrEqual(t, len(l.keys), manyKeys)
	})
	test(t, "keys with useful knowledge are not", func(t *testing.T, l *limiter) {
		for i := range manyKeys + 10 {
			l.permitFor(Request{Key: string(rune(i))}).Release(tooMany(60, 0, time.Minute, 100*time.Hour))
		}
		asked := l.permitFor(Request{Key: "in flight"})
		for range 10 * manyKeys {
			l.permitFor(Request{Key: time.Now().String()}).Release(ok(60, 59, time.Minute))
			time.Sleep(2 * time.Minute)
		}
		assert.Contains(t, l.keys, "in flight")
		asked.Release(Outcome{})
		assert.Contains(t, l.keys, string(rune(1)))
		assert.LessOrEqual(t, len(l.keys), 3*manyKeys)
		assert.GreaterOrEqual(t, l.sweepAt, 2*manyKeys, "not each new key looks at all others")
	})
}

func TestLimiterReopen(t *testing.T) {
	test(t, "wakes a call that waits", func(t *testing.T, l *limiter) {
		l.one(tooMany(60, 0, time.Minute, time.Hour))
		start := time.Now()
		time.AfterFunc(time.Second, func() { l.Reopen("") })
		l.permit().Release(ok(60, 59, time.Minute))
		assert.Equal(t, time.Second, time.Since(start))
	})
}

func TestLimiterInSeveralBubbles(t *testing.T) {
	l := &limiter{New(), t}
	l.one(ok(60, 0, time.Minute))
	for range 3 { // the time in each bubble begins in the year 2000
		synctest.Test(t, func(t *testing.T) {
			l := &limiter{l.Limiter, t}
			s := newService(60)
			for range 150 {
				l.permit().Release(carry(s, 100*time.Millisecond))
			}
			assert.Zero(t, s.Rejected)
			assert.Less(t, time.Since(s.Arrivals[0]), 3*time.Minute)
			p := l.permit()
			defer p.Release(Outcome{})
		})
	}
	l.one(ok(60, 59, time.Minute))
}

func TestLimiterClock(t *testing.T) {
	test(t, "a Received by another clock is not the time", func(t *testing.T, l *limiter) {
		o := tooMany(60, 5, time.Minute, time.Minute)
		o.Received = o.Received.Round(0).Add(time.Hour)
		l.one(o)
		l.refused(Request{})
	})
}
