package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/testkit"
)

func TestMain(m *testing.M) {
	_ = os.Unsetenv("PETSTORE_BASE_URL") // no test calls a real service
	goleak.VerifyTestMain(m)
}

func Example() {
	main()
	// Output:
	// 1 Rex, available
	// added Nala with id 3, pending
	// 998 of 1000 requests left in this window
}

func TestRun_service(t *testing.T) {
	testkit.Loopback(t)
	server := fake.NewTestServer(t)
	t.Setenv("PETSTORE_BASE_URL", server.URL())
	t.Setenv("PETSTORE_API_KEY", server.APIKey())
	require.NoError(t, run(t.Context()))
	assert.Len(t, server.Requests(), 2)
}
