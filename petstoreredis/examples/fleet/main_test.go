package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain is a worker if the fleet has started it, and the tests otherwise.
func TestMain(m *testing.M) {
	address := os.Getenv(redisVariable)
	if address == "" {
		goleak.VerifyTestMain(m)
	}
	if err := work(context.Background(), address); err != nil {
		panic(err)
	}
}

func TestFleet_getsByWithoutOne429(t *testing.T) {
	var out strings.Builder
	require.NoError(t, fleet{workers: 3, limit: 20, minute: 3 * time.Second}.run(t.Context(), &out))
	assert.Regexp(t, `^3 processes share a key of 20 requests in 3s\n36 requests in \d+\.\d s, 429s: 0\n$`, out.String())
}

func TestFleet_endsWhenItIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	start := time.Now()
	err := fleet{workers: 2, limit: 10, minute: time.Minute}.run(ctx, t.Output())
	require.EqualError(t, err, "interrupted")
	assert.Less(t, time.Since(start), 20*time.Second)
}
