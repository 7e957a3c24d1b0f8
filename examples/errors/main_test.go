package main

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

func TestOnFake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		require.NoError(t, onFake(t.Context(), &out))
		want, err := os.ReadFile("testdata/output.txt")
		require.NoError(t, err)
		assert.Equal(t, string(want), out.String())
	})
}

func TestHandleOfARetryAtInThePast(t *testing.T) {
	assert.Equal(t, "try again later", handle(&petstore.RateLimitError{}))
	assert.Equal(t, "try again in 0s", handle(&petstore.RateLimitError{RetryAt: time.Unix(0, 0)}))
}
