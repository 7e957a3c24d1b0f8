package ratelimit

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/internal/loopback"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) {
	loopback.SkipExamples()
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

// acquire asks for a permit for a new call.
func (l *limiter) acquire(ctx context.Context, maxWait time.Duration) (Permit, *Error) {
	return l.ask(ctx, Request{MaxWait: maxWait})
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

// carry simulates a request and its response, which take 20 to 200 ms.
func carry(s *Service, rng *rand.Rand) Outcome {
	sent := time.Now()
	whole := 20*time.Millisecond + time.Duration(rng.Int64N(int64(180*time.Millisecond)))
	out := time.Duration(rng.Int64N(int64(whole)))
	time.Sleep(out)
	o := s.Answer()
	time.Sleep(whole - out)
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
	})
	test(t, "the first calls of many keys take no long: none looks at all others", func(t *testing.T, l *limiter) {
		for i := range 20_000 {
			l.permitFor(Request{Key: string(rune(i))}).Release(ok(60, 59, time.Minute))
		}
	})
	test(t, "Reopen reaches a key after 12,000 others", func(t *testing.T, l *limiter) {
		for i := range 12_000 {
			l.permitFor(Request{Key: string(rune(i))}).Release(tooMany(60, 0, time.Minute, 100*time.Hour))
		}
		l.Reopen(string(rune(0)))
		l.permitFor(Request{Key: string(rune(0))}).Release(ok(60, 59, time.Minute))
	})
}

func TestLimiterInSeveralBubbles(t *testing.T) {
	l := &limiter{New(), t}
	l.one(ok(60, 0, time.Minute))
	for range 3 { // the time in each bubble begins in the year 2000
		synctest.Test(t, func(t *testing.T) {
			l := &limiter{l.Limiter, t}
			s := newService(60)
			rng := rand.New(rand.NewPCG(5, 5))
			for range 150 {
				l.permit().Release(carry(s, rng))
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

func TestLimiterBackground(t *testing.T) {
	test(t, "one request in ten is for calls that waited a minute", func(t *testing.T, l *limiter) {
		s := newService(60)
		stop := time.Now().Add(5 * time.Minute)
		var all sync.WaitGroup
		work := func(inBackground bool, count *int) {
			for time.Now().Before(stop) {
				p := l.permitFor(Request{Background: inBackground, MaxWait: time.Hour})
				*count++
				p.Release(carry(s, rand.New(rand.NewPCG(6, uint64(*count)))))
			}
		}
		counts := make([]int, 101)
		for g := range 100 {
			all.Go(func() { work(false, &counts[g]) })
		}
		time.Sleep(time.Millisecond)
		all.Go(func() { work(true, &counts[100]) })
		all.Wait()
		assert.Equal(t, 5, counts[100], "it is alone, and waits a minute each time")
		assert.Zero(t, s.Rejected)
	})
}

func TestWaitersOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var q queue
	var want []*waiter
	for i := range 2000 {
		if n := len(want); n > 0 && random.IntN(5) < 2 {
			w := want[random.IntN(n)]
			q.remove(w)
			want = slices.DeleteFunc(want, func(other *waiter) bool { return other == w })
		} else {
			w := &waiter{number: uint64(i)}
			w.Asked, w.Background = time.Unix(random.Int64N(100), 0), random.IntN(2) == 0
			q.waiters = slices.Insert(q.waiters, q.place(w), w)
			want = append(want, w)
		}
		slices.SortFunc(want, (*waiter).compare)
		require.Equal(t, want, q.waiters)
	}
}
