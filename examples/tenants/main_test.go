package main

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/faketest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun(t *testing.T) {
	faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
		var out, log strings.Builder
		require.NoError(t, run(t.Context(), server, slog.New(slog.NewTextHandler(&log, nil)), &out))
		assert.Contains(t, out.String(), "zoo: 0 pets\nfarm: rate limited\npond: stopped\n")
		assert.Regexp(t, `"petstore: rate limit closed" tenant=farm .* scope=ban`, log.String())
		assert.Equal(t, strings.Count(log.String(), "\n"), strings.Count(log.String(), " tenant=farm "), "all lines are of the farm")
		for key, calls := range map[string]int{
			"key-of-the-zoo": 1, "new-key-of-the-zoo": 1, "key-of-the-farm": 2, "key-of-the-pond": 1,
		} {
			assert.Len(t, server.RequestsFor(key), calls, key)
		}
	})
}
