// Package ratelimittest tests limiters, such as [ratelimit.Limiter]: whether they keep the requests
// of a client within the limit of a server. It can also test a limiter that several processes share
// through a file or a database.
//
// Most callers should use [Run], which needs no real time. A limiter with sockets or files does not
// work in a testing/synctest bubble; use [RunRealTime] for it.
//
// Each rule has a script. If a limiter breaks a rule, the test prints the steps of the script up to
// the wrong one, and what their words mean, such as this for a request that is not sent:
//
//	  0s  get 2 1                   1
//	  0s  ask = 1                   1
//	  0s  unsent                    0
//	50ms  ask = 1                   0
//	WRONG: the number of permits given in this step must be 1, not 0
package ratelimittest

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petstore/petstore-go/internal/scripttest"
	"github.com/petstore/petstore-go/ratelimit"
)

// Limiter has the methods of a limiter that a client calls. *[ratelimit.Limiter] implements it.
type Limiter interface {
	Acquire(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error)
	RateLimit(key string) ratelimit.Window
	Reopen(key string)
}

// Run tests the limiters that newLimiter returns, with one subtest for each rule. Each subtest runs
// in a testing/synctest bubble with a limiter of its own. newLimiter must return a limiter that
// knows nothing yet; it is called in the bubble, with the subtest's t, and may register a cleanup.
// Run must not be called in a bubble.
func Run(t *testing.T, newLimiter func(t *testing.T) Limiter) {
	t.Helper()
	for _, rule := range rules {
		t.Run(rule[0], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newScript(t, newLimiter(t), 50*time.Millisecond).Run(rule[1]) })
		})
	}
}

// RunRealTime is like [Run], but its subtests run in parallel, in real time. That takes some
// seconds.
func RunRealTime(t *testing.T, newLimiter func(t *testing.T) Limiter) {
	t.Helper()
	for _, rule := range rules {
		t.Run(rule[0], func(t *testing.T) {
			t.Parallel()
			newScript(t, newLimiter(t), 300*time.Millisecond).Run(rule[1])
		})
	}
}

// newScript returns a script for a limiter. The windows of its server are short, since some tests
// run in real time.
func newScript(t *testing.T, l Limiter, pause time.Duration) *scripttest.Script {
	s := &scripttest.Script{T: t, Process: &scripttest.Process{Limiter: l}, Pause: pause, Window: 3 * time.Second}
	other := &scripttest.Process{Limiter: l, Key: "other"}
	s.Word("other", "does the word after it with another key", func() { s.DoAs(other) })
	s.Word("remaining", "shows Remaining of RateLimit", func() { s.Shown = fmt.Sprint(s.RateLimit(s.Key).Remaining) })
	return s
}
