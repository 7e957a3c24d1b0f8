package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFleet(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(&out, 3, 20, 3*time.Second))
	assert.Regexp(t, `^3 workers share a key of 20 requests in 3s\n36 requests in \d+\.\d s, 429s: 0\n$`, out.String())
}
