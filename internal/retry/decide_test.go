package retry

import (
	"math"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// maxRetryAfter is the longest Retry-After that a client believes.
const maxRetryAfter = 366 * 24 * time.Hour

// FuzzDecide checks the waits for arbitrary policies and responses: there is no overflow, and a
// wait is never shorter than Retry-After, nor longer than what is allowed.
func FuzzDecide(f *testing.F) {
	f.Add(9, int64(1), int64(0), 70, 500, int64(0), true, true)
	f.Add(2, int64(math.MaxInt64/3), int64(math.MaxInt64), 1, 503, int64(time.Second), true, false)
	f.Add(math.MaxInt, int64(math.MaxInt64), int64(0), math.MaxInt-1, 429, int64(maxRetryAfter), false, false)
	f.Fuzz(func(t *testing.T, most int, base, longest int64, attempts, code int, retryAfter int64, repeatable, sent bool) {
		if most < 0 || base < 0 || longest < 0 || longest > 0 && longest < base {
			t.Skip("WithRetryPolicy refuses it")
		}
		f := after(Result{Status: code, Sent: sent || code != 0})
		f.Policy = Policy{most, time.Duration(base), time.Duration(longest)}.WithDefaults()
		f.Repeatable, f.Number, f.Random = repeatable, max(attempts, 1), rand.Int64N
		f.RetryAfter = min(max(time.Duration(retryAfter), 0), maxRetryAfter)
		f.OpensAt = f.Now.Add(f.RetryAfter)
		p := Decide(&f)
		if !p.Again {
			return
		}
		assert.GreaterOrEqual(t, p.Pause, time.Duration(0))
		if code != http.StatusTooManyRequests && (code != http.StatusServiceUnavailable || f.RetryAfter == 0) {
			assert.LessOrEqual(t, p.Pause, f.Policy.MaxDelay)
			return
		}
		assert.LessOrEqual(t, f.RetryAfter, max(p.Pause, p.NotBefore.Sub(f.Now)), "Retry-After is a lower bound")
		f.MaxWait = f.RetryAfter - 1
		assert.False(t, Decide(&f).Again, "the wait would exceed WithMaxWait")
		f.MaxWait, f.Deadline = math.MaxInt64, f.Now.Add(f.RetryAfter)
		p = Decide(&f)
		assert.False(t, p.Again, "the wait would exceed the deadline")
		assert.Equal(t, code == http.StatusServiceUnavailable, p.NotRetried != "")
	})
}

// after returns the facts after the first request of a read. All backoffs are the longest possible.
func after(r Result) Facts {
	return Facts{
		Result: r, Repeatable: true, Number: 1, Policy: Policy{}.WithDefaults(), MaxWait: math.MaxInt64,
		Now: time.Unix(1_000_000_000, 0), Random: func(n int64) int64 { return n - 1 },
	}
}

func TestDecide(t *testing.T) {
	unavailable := Result{Sent: true, Status: http.StatusServiceUnavailable}
	t.Run("a long backoff and a long Retry-After do not overflow", func(t *testing.T) {
		f := after(unavailable)
		f.Policy.BaseDelay, f.Policy.MaxDelay, f.RetryAfter = math.MaxInt64, math.MaxInt64, maxRetryAfter
		assert.Equal(t, Plan{Again: true, Asked: true, Costs: true, Pause: math.MaxInt64}, Decide(&f))
	})
	t.Run("a 401 is tried again with another key only", func(t *testing.T) {
		f := after(Result{Sent: true, Status: http.StatusUnauthorized})
		assert.Equal(t, Plan{}, Decide(&f))
		f.NewKey = true
		assert.Equal(t, Plan{Again: true}, Decide(&f))
	})
	t.Run("a read whose connection was stale is sent again at once, and costs nothing", func(t *testing.T) {
		f := after(Result{Sent: true, Failure: Connection})
		f.Stale = true
		assert.Equal(t, Plan{Again: true}, Decide(&f))
		f.Repeatable = false
		assert.Equal(t, Plan{}, Decide(&f), "a write may have been carried out")
		f.Repeatable, f.Number = true, f.Policy.MaxAttempts
		assert.Equal(t, Plan{}, Decide(&f))
	})
	t.Run("MaxWait is for waits that the service asks for", func(t *testing.T) {
		f := after(unavailable)
		f.MaxWait = 0
		assert.Equal(t, Plan{Again: true, Pause: 500 * time.Millisecond, Costs: true}, Decide(&f))
		f.RetryAfter, f.MaxWait = time.Second, 1500*time.Millisecond
		assert.True(t, Decide(&f).Again, "a wait of exactly MaxWait is allowed")
	})
	t.Run("a request that was not sent costs nothing, and needs time before the deadline", func(t *testing.T) {
		f := after(Result{Failure: Connection})
		assert.Equal(t, Plan{Again: true, Pause: 500 * time.Millisecond}, Decide(&f))
		f.Deadline = f.Now.Add(500 * time.Millisecond)
		assert.Equal(t, Plan{Pause: 500 * time.Millisecond}, Decide(&f))
	})
	t.Run("a 429 is retried after the backoff, and with jitter if there is no limiter", func(t *testing.T) {
		f := after(Result{Sent: true, Status: http.StatusTooManyRequests})
		f.Repeatable, f.Number = false, 2
		assert.Equal(t, Plan{Again: true, NotBefore: f.Now.Add(time.Second)}, Decide(&f))
		f.OpensAt = f.Now.Add(20 * time.Second)
		assert.Equal(t, Plan{Again: true, NotBefore: f.OpensAt}, Decide(&f))
		f.Unlimited = true
		later := f.OpensAt.Add(500*time.Millisecond - 1)
		assert.Equal(t, Plan{Again: true, NotBefore: later, Pause: later.Sub(f.Now)}, Decide(&f))
	})
}

func TestPolicyDefaults(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for given, want := range map[Policy]Policy{
		{}:                          {4, 500 * ms, 30 * s},
		{MaxDelay: 100 * ms}:        {4, 100 * ms, 100 * ms},
		{MaxDelay: 2 * s}:           {4, 500 * ms, 2 * s},
		{BaseDelay: time.Minute}:    {4, time.Minute, time.Minute},
		{MaxAttempts: 1}:            {1, 500 * ms, 30 * s},
		{2, 2 * time.Second, 9 * s}: {2, 2 * s, 9 * s},
	} {
		assert.Equal(t, want, given.WithDefaults(), "%+v", given)
	}
}

// Half of the backoff is random: the smallest and the largest random number give its two bounds.
func TestBackoffJitter(t *testing.T) {
	p := Policy{BaseDelay: 2 * time.Second, MaxDelay: 7 * time.Second}
	for i, full := range []time.Duration{2 * time.Second, 4 * time.Second, 7 * time.Second, 7 * time.Second} {
		assert.Equal(t, full/2, p.Backoff(i+1, func(int64) int64 { return 0 }))
		assert.Equal(t, full, p.Backoff(i+1, func(n int64) int64 { return n - 1 }))
	}
}

func TestTokens(t *testing.T) {
	var b Tokens
	took := func() (n int) {
		for b.Take() {
			n++
		}
		return n
	}
	b.Succeeded()
	assert.Equal(t, 100, took(), "more than full is not possible")
	for range 500 {
		b.Succeeded()
	}
	assert.Equal(t, 50, took(), "ten successes pay for one retry")
	for range 2000 {
		b.Succeeded()
	}
	assert.Equal(t, 100, took())
}
