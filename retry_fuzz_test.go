package petstore

import (
	"math"
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/petstore/petstore-go/internal/headers"
	"github.com/stretchr/testify/assert"
)

// FuzzRetryPolicy takes a policy and a response. It compares the waits with math/big, which cannot
// overflow, and the decision with the table of the package documentation.
func FuzzRetryPolicy(f *testing.F) {
	f.Add(4, int64(500*time.Millisecond), int64(30*time.Second), 1, 503, int64(0), true, false)
	f.Add(0, int64(0), int64(0), 3, 429, int64(time.Minute), false, false)
	f.Add(9, int64(1), int64(0), 70, 500, int64(0), true, true)
	f.Add(2, int64(math.MaxInt64/3), int64(math.MaxInt64), 1, 503, int64(time.Second), true, false)
	f.Add(2, int64(time.Hour), int64(0), 1, 501, int64(0), true, false)
	f.Add(2, int64(0), int64(1), 1, 0, int64(0), false, true)
	f.Add(-1, int64(-1), int64(-1), -1, 302, int64(-1), false, false)
	f.Add(2, int64(2), int64(1), 1, 201, int64(0), false, false)
	f.Add(math.MaxInt, int64(math.MaxInt64), int64(0), math.MaxInt-1, 408, int64(headers.MaxRetryAfter), true, false)
	f.Fuzz(func(t *testing.T, most int, base, longest int64, attempts, code int, retryAfter int64, repeatable, sent bool) {
		p := RetryPolicy{most, time.Duration(base), time.Duration(longest)}
		var config callConfig
		err := WithRetryPolicy(p).applyCall(&config)
		valid := most >= 0 && base >= 0 && longest >= 0 && (longest == 0 || longest >= base)
		assert.Equal(t, valid, err == nil, "%v", err)
		if !valid {
			return
		}
		attempts = max(attempts, 1)
		checkBackoff(t, config.retry, attempts)
		config.maxWait = math.MaxInt64
		operation := createPet
		if repeatable {
			operation = listPets
		}
		a := attemptOf(t, operation, &config)
		a.number, a.received, a.statusCode, a.sent = attempts, time.Now(), code, sent || code != 0
		a.retryAfter = min(max(time.Duration(retryAfter), 0), headers.MaxRetryAfter)
		checkPlan(t, a)
	})
}

// checkBackoff checks that the pause is at least half of, and at most, the base delay doubled with
// each attempt, up to MaxDelay.
func checkBackoff(t *testing.T, p RetryPolicy, attempts int) {
	t.Helper()
	full := big.NewInt(int64(p.BaseDelay))
	full.Lsh(full, uint(min(attempts-1, 64)))
	if most := big.NewInt(int64(p.MaxDelay)); full.Cmp(most) > 0 {
		full = most
	}
	d := p.backoff(attempts)
	assert.GreaterOrEqual(t, int64(d), full.Int64()/2, "attempt %d of %+v", attempts, p)
	assert.LessOrEqual(t, int64(d), full.Int64(), "attempt %d of %+v", attempts, p)
}

// attemptOf returns an attempt that is not sent.
func attemptOf(t *testing.T, o *operation, config *callConfig) *attempt {
	k := &call{client: &Client{clientParts: clientParts{retries: new(retryBudget)}}, operation: o, config: config}
	k.ctx = callContext{t.Context(), k}
	k.first.call = k
	k.first.begin(time.Now())
	return &k.first
}

// checkPlan checks whether the request is sent again, and that it is not sent before Retry-After.
func checkPlan(t *testing.T, a *attempt) {
	t.Helper()
	k := a.call
	p := k.decide(a)
	if p.again {
		assert.Less(t, a.number, k.config.retry.MaxAttempts)
		assert.GreaterOrEqual(t, p.pause, time.Duration(0))
		assert.LessOrEqual(t, a.retryAfter, waitOf(p, a), "Retry-After is a lower bound")
	}
	assert.Equal(t, p.again, a.number < k.config.retry.MaxAttempts && toBeRepeated(k.operation, a))
	asked := a.statusCode == http.StatusTooManyRequests || a.statusCode == http.StatusServiceUnavailable
	if asked && a.retryAfter > time.Hour {
		k.config.maxWait = a.retryAfter - time.Minute // time has passed since the response
		assert.False(t, k.decide(a).again, "the wait would exceed WithMaxWait")
	}
}

// waitOf returns the wait after the response for which the service asked.
func waitOf(p plan, a *attempt) time.Duration {
	switch a.statusCode {
	case http.StatusTooManyRequests:
		return p.notBefore.Sub(a.received)
	case http.StatusServiceUnavailable:
		return p.pause
	}
	return math.MaxInt64
}

// toBeRepeated is the table of the package documentation, written independently of worthRepeating.
func toBeRepeated(o *operation, a *attempt) bool {
	switch {
	case a.statusCode == http.StatusTooManyRequests:
		return true
	case a.statusCode == 0:
		return o == listPets || !a.sent
	case a.statusCode == http.StatusNotImplemented, o == createPet:
		return false
	}
	return a.statusCode == http.StatusRequestTimeout || a.statusCode >= 500
}

func TestRetryAfterWithLongBackoff(t *testing.T) {
	p := RetryPolicy{BaseDelay: math.MaxInt64, MaxDelay: math.MaxInt64}.withDefaults()
	config := callConfig{retry: p, maxWait: math.MaxInt64}
	for range 2000 { // the backoff is random, and one in a hundred is long enough for an overflow
		a := attemptOf(t, listPets, &config)
		a.number, a.statusCode, a.retryAfter = 1, http.StatusServiceUnavailable, headers.MaxRetryAfter
		plan := a.call.decide(a)
		assert.True(t, plan.again)
		assert.GreaterOrEqual(t, plan.pause, headers.MaxRetryAfter)
	}
}
