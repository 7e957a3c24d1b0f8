package main

import (
	"context"
	"fmt"
	"os"
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
	text := os.Getenv(jobVariable)
	if text == "" {
		goleak.VerifyTestMain(m)
	}
	if err := work(context.Background(), text); err != nil {
		panic(err)
	}
}

func TestFleet_getsByWithoutOne429(t *testing.T) {
	var out strings.Builder
	require.NoError(t, fleet{workers: 4, requests: 8, limit: 20, minute: 3 * time.Second}.run(t.Context(), &out))
	assert.Regexp(t, `^4 processes share a key of 20 requests in 3s\n32 requests in \d+\.\d s, 429s: 0\n$`, out.String())
}

func TestWork(t *testing.T) {
	service := fake.NewTestServer(t)
	require.NoError(t, work(t.Context(), fmt.Sprintf(`{"Redis":%q,"Service":%q,"Key":%q,"Requests":3}`,
		miniredis.RunT(t).Addr(), service.URL(), service.APIKey())))
	assert.Len(t, service.Requests(), 3)
	require.Error(t, work(t.Context(), "junk"))
}

func TestFleet_endsWhenItIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	start := time.Now()
	err := fleet{workers: 2, requests: 100, limit: 10, minute: time.Minute}.run(ctx, t.Output())
	require.EqualError(t, err, "interrupted")
	assert.Less(t, time.Since(start), 20*time.Second)
}
