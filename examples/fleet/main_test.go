package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/fake"
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
	assert.Regexp(t, `^4 processes share a key of 20 requests in 3s\n32 requests in \d+\.\d s, 429s: 0\n$`, out.String())
}

func TestWorker(t *testing.T) {
	service := fake.NewTestServer(t)
	t.Setenv(jobVariable, fmt.Sprintf(`{"Redis":%q,"Service":%q,"Key":%q,"Requests":3}`,
		miniredis.RunT(t).Addr(), service.URL(), service.APIKey()))
	worker, err := runWorker(t.Context())
	assert.True(t, worker)
	require.NoError(t, err)
	assert.Len(t, service.Requests(), 3)
}

func TestFleetEndsWhenItIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	start := time.Now()
	err := fleet{workers: 2, requests: 100, limit: 10, minute: time.Minute}.run(ctx, t.Output())
	require.EqualError(t, err, "interrupted")
	assert.Less(t, time.Since(start), 20*time.Second)
}
