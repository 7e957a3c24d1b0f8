package main

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEachErrorIsProvokedAndToldFromTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		require.NoError(t, onFake(t.Context(), &out))
		want, err := os.ReadFile("testdata/output.txt")
		require.NoError(t, err)
		assert.Equal(t, string(want), out.String())
	})
}
