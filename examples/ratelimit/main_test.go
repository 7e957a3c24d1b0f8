package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConnect(t *testing.T) {
	for _, url := range []string{"", "https://petstore.example.com/v1"} {
		t.Setenv("PETSTORE_BASE_URL", url)
		t.Setenv("PETSTORE_API_KEY", "key")
		client, done, err := connect(time.Second)
		require.NoError(t, err)
		defer done()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		assert.ErrorIs(t, run(ended, client, 1, io.Discard), context.Canceled)
	}
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree), fake.WithBan(3, time.Hour), fake.WithStrict())
		var out strings.Builder
		start := time.Now()
		require.NoError(t, run(t.Context(), server.Client(), 150, &out))
		assert.Contains(t, out.String(), "150 requests from 64 goroutines")
		assert.Contains(t, out.String(), ", 429s: 0\n")
		assert.Contains(t, out.String(), "needs 2 waits")
		assert.Contains(t, out.String(), "up to 90 here")
		assert.Zero(t, server.Usage(server.APIKey()).Limited)
		assert.Len(t, server.Requests(), 150)
		assert.InDelta(t, 120, time.Since(start).Seconds(), 3, "there were waits for two windows")
	})
}
