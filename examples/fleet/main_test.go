package main

import (
	"context"
	"os"
	"regexp"
	"runtime"
	"strings"
	"syscall"
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

func TestFleetRunsWithoutARedisServer(t *testing.T) {
	t.Setenv("PATH", "")
	var out strings.Builder
	require.NoError(t, fleet{workers: 2, requests: 5, limit: 20, minute: time.Second}.run(t.Context(), &out))
	assert.Contains(t, out.String(), "through miniredis")
}

func TestFleetEndsWhenItIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	start := time.Now()
	err := fleet{workers: 2, requests: 100, limit: 10, minute: time.Minute}.run(ctx, t.Output())
	require.EqualError(t, err, "interrupted")
	assert.Less(t, time.Since(start), 20*time.Second)
}

func TestFleetEndsWhenItIsTerminated(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("has no signal to send")
	}
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			ctx, stop := untilStopped()
			defer stop()
			require.NoError(t, self.Signal(signal))
			<-ctx.Done()
		})
	}
}

func TestFleetRefusesFlagsThatMakeNoSense(t *testing.T) {
	assert.Error(t, fleet{}.run(t.Context(), t.Output()))
}
