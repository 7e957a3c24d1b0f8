package ratelimit

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/internal/testkit"
)

func TestMain(m *testing.M) {
	testkit.SkipExamples()
	goleak.VerifyTestMain(m)
}

// get makes a request that is admitted at once. Its response shows a window of 60 requests. It is a
// 429 if it has a Retry-After.
func get(t testing.TB, l *Limiter, key string, remaining int, reset, retryAfter time.Duration) {
	t.Helper()
	p, err := l.Acquire(t.Context(), Request{Key: key})
	require.NoError(t, err)
	now := time.Now()
	o := Outcome{Sent: now, Received: now, StatusCode: http.StatusOK, RetryAfter: retryAfter}
	if retryAfter > 0 {
		o.StatusCode = http.StatusTooManyRequests
	}
	o.Window = Window{Limit: 60, Remaining: remaining, Reset: now.Add(reset)}
	p.Release(o)
}

func TestErrorText(t *testing.T) {
	early := &Error{Reason: ReasonDay, RetryAt: time.Date(2026, 11, 21, 12, 0, 0, 1, time.UTC), Err: context.Canceled}
	assert.EqualError(t, early, "rate limited (day) until 2026-11-21T12:00:01Z: context canceled", "not too early a time")
	assert.EqualError(t, &Error{Err: context.Canceled}, "rate limited: context canceled")
}

// A limiter forgets a key that is open and idle, if the window of the key is over. It does not
// remember a key that was only asked for its window.
func TestLimiterKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New()
		assert.Zero(t, l.RateLimit("unknown"))
		assert.Empty(t, l.keys)
		get(t, l, "closed", 0, time.Minute, 20*time.Hour)
		get(t, l, "was closed", 0, time.Minute, time.Minute)
		get(t, l, "in flight", 59, time.Minute, 0)
		_, err := l.Acquire(t.Context(), Request{Key: "in flight"})
		require.NoError(t, err)
		get(t, l, "day", 59, 20*time.Hour, 0)
		get(t, l, "waiting", 59, time.Minute, 0)
		tomorrow := Request{Key: "waiting", MaxWait: 100 * time.Hour, NotBefore: time.Now().Add(24 * time.Hour)}
		go func() { _, _ = l.Acquire(t.Context(), tomorrow) }()
		for range 500 {
			get(t, l, time.Now().String(), 59, time.Minute, 0)
			time.Sleep(2 * time.Minute)
		}
		assert.LessOrEqual(t, len(l.keys), 64)
		assert.Subset(t, slices.Collect(maps.Keys(l.keys)), []string{"closed", "was closed", "in flight", "day", "waiting"})
	})
}

// TryAcquire never waits, whatever the request would wait for.
func TestTryAcquire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, start := New(nil), time.Now() // a nil option is skipped
		try := func(r Request) *Error {
			r.MaxWait = 100 * time.Hour
			_, err := l.TryAcquire(r)
			refused, _ := errors.AsType[*Error](err)
			return refused
		}
		assert.Equal(t, &Error{RetryAt: start.Add(time.Hour)}, try(Request{NotBefore: start.Add(time.Hour)}))
		p, err := l.TryAcquire(Request{})
		require.NoError(t, err)
		assert.Equal(t, &Error{}, try(Request{}), "the first request has no response")
		w := Window{Limit: 60, Reset: start.Add(time.Minute)}
		p.Release(Outcome{Sent: start, Received: start, StatusCode: http.StatusOK, Window: w})
		used := &Error{RetryAt: start.Add(time.Minute), Window: w, Reason: ReasonMinute}
		assert.Equal(t, used, try(Request{}))
		time.Sleep(time.Minute)
		assert.Nil(t, try(Request{}))
		assert.Less(t, time.Since(start), time.Minute+1)
	})
}

// BenchmarkLimiter measures the cost of a permit if no request waits.
func BenchmarkLimiter(b *testing.B) {
	l := New()
	b.ReportAllocs()
	for b.Loop() {
		get(b, l, "key", 59, time.Minute, 0)
	}
}
