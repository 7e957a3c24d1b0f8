package main

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/golden"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOnFake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		require.NoError(t, onFake(t.Context(), &out))
		golden.Assert(t, "testdata/output.txt", out.String())
	})
}

func TestHandleOfACancelledCall(t *testing.T) {
	server := fake.NewTestServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := server.Client().ListPets(ctx, petstore.ListPetsParams{})
	assert.Equal(t, "this program was asked to stop", handle(err))
}

func TestHandleOfARetryAtInThePast(t *testing.T) {
	assert.Equal(t, "try again later", handle(&petstore.RateLimitError{}))
	assert.Equal(t, "try again in 0s", handle(&petstore.RateLimitError{RetryAt: time.Unix(0, 0)}))
}
