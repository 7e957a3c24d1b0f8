package ratelimittest

import (
	"testing"

	"github.com/petstore/petstore-go/ratelimit"
)

func TestRun(t *testing.T) {
	Run(t, func(*testing.T) Limiter { return ratelimit.New() })
}
