package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWork(t *testing.T) {
	server := fake.NewTestServer(t, fake.WithStrict())
	t.Setenv("PETSTORE_PROCESSES", "4")
	t.Setenv("PETSTORE_BASE_URL", server.URL())
	t.Setenv("PETSTORE_API_KEY", server.APIKey())
	require.NoError(t, work())
	require.Len(t, server.Requests(), requests)
}
