package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/faketest"
)

func TestRun(t *testing.T) {
	faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
		var out strings.Builder
		start := time.Now()
		require.NoError(t, run(t.Context(), server, &out))
		assert.Regexp(t, `^150 requests from 64 goroutines in 2m\d+s, 429s: 0\n$`, out.String())
		assert.InDelta(t, 120, time.Since(start).Seconds(), 3, "there were waits for two windows")
	}, fake.WithPlan(fake.PlanFree), fake.WithBan(3, time.Hour), fake.WithStrict())
}
