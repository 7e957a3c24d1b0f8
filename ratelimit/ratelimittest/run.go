// Package ratelimittest tests limiters: [ratelimit.Limiter], and others that keep the requests of a
// client within the limit of a server, such as one that several processes share through a file or a
// database.
//
// Most callers should use [Run], which needs no real time. A limiter with sockets or files does not
// work in a testing/synctest bubble; [RunRealTime] is for these.
package ratelimittest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// Limiter has the methods of a limiter that a client calls. *[ratelimit.Limiter] is one.
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
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r.check(&client{newLimiter(t), t, 50 * time.Millisecond})
			})
		})
	}
}

// RunRealTime is like [Run], but its subtests run in parallel, in real time. That takes some
// seconds.
func RunRealTime(t *testing.T, newLimiter func(t *testing.T) Limiter) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.check(&client{newLimiter(t), t, 300 * time.Millisecond})
		})
	}
}
