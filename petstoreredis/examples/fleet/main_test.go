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
	if address := os.Getenv(redisVariable); address == "" {
		goleak.VerifyTestMain(m)
	} else if err := work(context.Background(), address); err != nil {
		panic(err)
	}
}

func TestFleet(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(t.Context(), &out, 3, 20, 3*time.Second))
	assert.Regexp(t, `^3 processes share a key of 20 requests in 3s\n36 requests in \d+\.\d s, 429s: 0\n$`, out.String())
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.Error(t, run(ctx, &out, 2, 10, time.Minute), "interrupted")
}
