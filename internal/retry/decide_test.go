package retry

import (
	"math"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// FuzzDecide checks the waits for arbitrary policies and responses: there is no overflow, and a
// wait is never shorter than Retry-After, nor longer than what is allowed. maxRetryAfter is the
// longest Retry-After that a client believes.
const maxRetryAfter = 366 * 24 * time.Hour

func FuzzDecide(f *testing.F) {
	f.Add(9, int64(1), int64(0), 70, 500, int64(0), true, true)
	f.Add(2, int64(math.MaxInt64/3), int64(math.MaxInt64), 1, 503, int64(time.Second), true, false)
	f.Add(math.MaxInt, int64(math.MaxInt64), int64(0), math.MaxInt-1, 429, int64(maxRetryAfter), false, false)
	f.Fuzz(func(t *testing.T, most int, base, longest int64, attempts, code int, retryAfter int64, repeatable, sent bool) {
		if most < 0 || base < 0 || longest < 0 || longest > 0 && longest < base {
			t.Skip("WithRetryPolicy refuses it")
		}
		f := Facts{
			Policy:     Policy{most, time.Duration(base), time.Duration(longest)}.WithDefaults(),
			Result:     Result{Status: code, Sent: sent || code != 0},
			Repeatable: repeatable,
			Number:     max(attempts, 1),
			Now:        time.Now(),
			RetryAfter: min(max(time.Duration(retryAfter), 0), maxRetryAfter),
			MaxWait:    math.MaxInt64,
			Random:     rand.Int64N,
		}
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

func TestDecide(t *testing.T) {
	longest := Policy{BaseDelay: math.MaxInt64, MaxDelay: math.MaxInt64}.WithDefaults()
	most := func(n int64) int64 { return n - 1 }
	t.Run("a long backoff and a long Retry-After do not overflow", func(t *testing.T) {
		p := Decide(&Facts{
			Result: Result{Sent: true, Status: http.StatusServiceUnavailable}, Repeatable: true, Number: 1, Policy: longest,
			RetryAfter: maxRetryAfter, MaxWait: math.MaxInt64, Now: time.Now(), Random: most,
		})
		assert.True(t, p.Again)
		assert.Equal(t, time.Duration(math.MaxInt64), p.Pause)
	})
	t.Run("a 401 is tried again with another key only", func(t *testing.T) {
		f := Facts{Result: Result{Sent: true, Status: http.StatusUnauthorized}, Number: 1, Policy: Policy{}.WithDefaults()}
		assert.Equal(t, Plan{}, Decide(&f))
		f.NewKey = true
		assert.Equal(t, Plan{Again: true}, Decide(&f))
	})
	t.Run("a read whose connection was stale is sent again at once, and costs nothing", func(t *testing.T) {
		f := Facts{
			Result: Result{Sent: true, Failure: Connection}, Repeatable: true, Stale: true, Number: 1,
			Policy: Policy{}.WithDefaults(), Random: most,
		}
		assert.Equal(t, Plan{Again: true}, Decide(&f))
		f.Repeatable = false
		assert.Equal(t, Plan{}, Decide(&f), "a write may have been carried out")
		f.Repeatable, f.Number = true, f.Policy.MaxAttempts
		assert.Equal(t, Plan{}, Decide(&f))
	})
	t.Run("MaxWait is for waits that the service asks for", func(t *testing.T) {
		f := Facts{
			Result: Result{Sent: true, Status: http.StatusServiceUnavailable}, Repeatable: true, Number: 1,
			Policy: Policy{}.WithDefaults(), Random: most,
		}
		assert.Equal(t, Plan{Again: true, Pause: 500 * time.Millisecond, Costs: true}, Decide(&f))
		f.RetryAfter, f.MaxWait = time.Second, 1500*time.Millisecond
		assert.True(t, Decide(&f).Again, "a wait of exactly MaxWait is allowed")
	})
	t.Run("a 429 is retried after the backoff, and with jitter if there is no limiter", func(t *testing.T) {
		now := time.Unix(1_000_000_000, 0)
		f := Facts{
			Result: Result{Sent: true, Status: http.StatusTooManyRequests}, Number: 2, Policy: Policy{}.WithDefaults(),
			Now: now, MaxWait: time.Minute, Random: most,
		}
		assert.Equal(t, Plan{Again: true, NotBefore: now.Add(time.Second)}, Decide(&f))
		f.OpensAt = now.Add(20 * time.Second)
		assert.Equal(t, Plan{Again: true, NotBefore: f.OpensAt}, Decide(&f))
		f.Unlimited = true
		later := f.OpensAt.Add(500*time.Millisecond - 1)
		assert.Equal(t, Plan{Again: true, NotBefore: later, Pause: later.Sub(now)}, Decide(&f))
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
