package main

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain is a worker if the fleet has started it, and the tests otherwise.
func TestMain(m *testing.M) {
	worker, err := runWorker(context.Background())
	switch {
	case err != nil:
		panic(err)
	case !worker:
		goleak.VerifyTestMain(m)
	}
}

func TestFleetGetsByWithoutOne429(t *testing.T) {
	var out strings.Builder
	require.NoError(t, fleet{workers: 4, requests: 8, limit: 20, minute: 3 * time.Second}.run(t.Context(), &out))
	t.Log(out.String())
	assert.Contains(t, out.String(), "4 processes share a key of 20 requests in 3s")
	assert.Len(t, regexp.MustCompile(`(?m)^ +[1-4] +8 +0 +\d+\.\d s$`).FindAllString(out.String(), -1), 4)
	assert.Regexp(t, `(?m)^ +total +32 +0 +\d+\.\d s$`, out.String())
}

func TestFleetEndsWhenItIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	start := time.Now()
	err := fleet{workers: 2, requests: 100, limit: 10, minute: time.Minute}.run(ctx, t.Output())
	require.EqualError(t, err, "interrupted")
	assert.Less(t, time.Since(start), 20*time.Second)
}

func TestFleetRefusesFlagsThatMakeNoSense(t *testing.T) {
	assert.Error(t, fleet{}.run(t.Context(), t.Output()))
}
