package petstoreredis_test

import (
	"testing"

	"github.com/petstore/petstore-go/ratelimit/ratelimittest"
)

func TestLimiterRules(t *testing.T) {
	ratelimittest.RunRealTime(t, func(t *testing.T) ratelimittest.Limiter {
		s := newRedisServer(t)
		return s.limiter(t)
	})
}
