package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithLatency(time.Second))
		stop, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		added, err := work(stop, server, 10)
		require.NoError(t, err)
		assert.Equal(t, 3, added, "the third was in flight")
		assert.Len(t, server.Pets(), 3)
	})
}
