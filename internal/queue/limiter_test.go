package queue

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/internal/quota"
	"github.com/petstore/petstore-go/internal/quota/quotatest"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newLimiter returns a limiter that knows nothing.
func newLimiter() *Limiter { return NewLimiter(quota.Budget{}) }

// acquire asks for a permit for a new call.
func acquire(ctx context.Context, l *Limiter, maxWait time.Duration) (*Permit, *Refusal) {
	return l.Acquire(ctx, Call{MaxWait: maxWait})
}

// reporter is a Reporter.
type reporter func(Wait) (done func(free time.Duration))

func (r reporter) ReportWait(w Wait) func(time.Duration) { return r(w) }

// report is acquire for a call that reports its wait.
func report(ctx context.Context, l *Limiter, maxWait time.Duration, r reporter) (*Permit, *Refusal) {
	return l.Acquire(ctx, Call{MaxWait: maxWait, Reporter: r})
}

// ok is a 200 that took no time.
func ok(limit, remaining int, reset time.Duration) *quota.Observation {
	now := time.Now()
	return &quota.Observation{
		Sent: now, Received: now, StatusCode: http.StatusOK,
		RateLimit: quota.RateLimit{Limit: limit, Remaining: remaining, Reset: now.Add(reset)}, Date: now.Truncate(time.Second),
	}
}

// tooMany is a 429 that took no time.
func tooMany(limit, remaining int, reset, retryAfter time.Duration) *quota.Observation {
	o := ok(limit, remaining, reset)
	o.StatusCode, o.RetryAfter = http.StatusTooManyRequests, retryAfter
	return o
}

// one makes a request that must be admitted immediately.
func one(t *testing.T, l *Limiter, o *quota.Observation) {
	t.Helper()
	p, refused := acquire(t.Context(), l, 0)
	require.Nil(t, refused)
	p.Release(o)
}

func newService(perMinute int) *quotatest.Service {
	return &quotatest.Service{Clock: time.Now, Window: quotatest.Fixed, PerMinute: perMinute}
}

// carry simulates a request and its response, which take 20 to 200 ms.
func carry(s *quotatest.Service, rng *rand.Rand) *quota.Observation {
	sent := time.Now()
	whole := 20*time.Millisecond + time.Duration(rng.Int64N(int64(180*time.Millisecond)))
	out := time.Duration(rng.Int64N(int64(whole)))
	time.Sleep(out)
	o := s.Answer()
	time.Sleep(whole - out)
	o.Sent, o.Received = sent, time.Now()
	return &o
}

// carryLossy is carry over a network that refuses one connection in ten and loses one response in
// ten.
func carryLossy(s *quotatest.Service, rng *rand.Rand) *quota.Observation {
	fate := rng.IntN(10)
	if fate == 0 {
		return &quota.Observation{Received: time.Now()}
	}
	o := carry(s, rng)
	if fate == 1 {
		o = &quota.Observation{Sent: o.Sent}
	}
	return o
}

// ask makes one call as a client does: with the time of the first, and again after a 429 or without a
// response.
func ask(l *Limiter, s *quotatest.Service, rng *rand.Rand) bool {
	call := Call{Asked: time.Now(), MaxWait: 30 * time.Minute}
	for {
		p, refused := l.Acquire(context.Background(), call)
		if refused != nil {
			return false
		}
		o := carry(s, rng)
		p.Release(o)
		if !o.Received.IsZero() && o.StatusCode != http.StatusTooManyRequests {
			return true
		}
	}
}

// assertAtRest checks that finished calls leave nothing behind.
func assertAtRest(t *testing.T, l *Limiter) {
	t.Helper()
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.Zero(t, l.last.budget.InFlight(), "in flight")
	assert.Zero(t, l.last.length(), "waiting")
	assert.True(t, l.last.passes(true), "joined")
	assert.Nil(t, l.last.timer, "timer")
}

// figures returns the number of requests in flight, and of calls in the queue.
func figures(l *Limiter) (inFlight, waiting int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last.budget.InFlight(), l.last.length()
}

func TestLimiterColdStart(t *testing.T) {
	t.Run("one request goes ahead, and its response admits the others", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter()
			assert.Equal(t, quota.RateLimit{}, l.RateLimit(""))
			s := newService(60)
			var all sync.WaitGroup
			for g := range 100 {
				all.Go(func() { assert.True(t, ask(l, s, rand.New(rand.NewPCG(1, uint64(g))))) })
			}
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
			inFlight, _ := figures(l)
			assert.Equal(t, 1, inFlight, "before the first response")
			time.Sleep(5 * time.Second)
			synctest.Wait()
			assert.Len(t, s.Arrivals(), 60, "in the first window")
			_, waiting := figures(l)
			assert.Equal(t, 40, waiting)
			all.Wait()
			assert.Zero(t, s.Rejected())
			assertAtRest(t, l)
		})
	})
}
