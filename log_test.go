package petstore_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/faketest"
	"github.com/petstore/petstore-go/internal/testkit"
)

// logTo returns a logger that writes to text, with a constant call_id and key_id, and times in UTC
// wherever the test runs. Read text only when all calls have ended.
func logTo(text io.Writer, level slog.Level) *slog.Logger {
	replace := func(_ []string, a slog.Attr) slog.Attr {
		switch {
		case a.Key == "call_id", a.Key == "key_id":
			return slog.String(a.Key, "id")
		case a.Value.Kind() == slog.KindTime:
			return slog.Time(a.Key, a.Value.Time().UTC())
		}
		return a
	}
	return slog.New(slog.NewTextHandler(text, &slog.HandlerOptions{Level: level, ReplaceAttr: replace}))
}

func TestWithLogger(t *testing.T) {
	var text bytes.Buffer
	silent, _ := scripted(t, []responder{status(401, "")},
		petstore.WithLogger(logTo(&text, slog.LevelDebug)), petstore.WithLogger(nil))
	require.Error(t, list(silent))
	assert.Empty(t, text.String(), "nil replaces the logger")
	synctest.Test(t, func(t *testing.T) {
		client, _ := scripted(t, []responder{
			status(429, testKey, append(quota(60, 0, time.Minute), "Retry-After: 60")...),
			fails(fmt.Errorf("a\nb: %w", errRefused)), status(201, onePet), status(200, onePet), status(400, ""),
		}, petstore.WithLogger(logTo(&text, slog.LevelDebug)),
			petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 1, MaxDelay: 1}))
		require.NoError(t, create(client))
		require.NoError(t, get(client))
		require.ErrorIs(t, create(client), petstore.ErrBadRequest)
		testkit.AssertGolden(t, "testdata/log.txt", text.String())
		assert.NotContains(t, text.String(), testKey)
		assert.NotContains(t, text.String(), "Rex", "nothing of a body")
	})
}

// The tests of ratelimit have more lockouts.
func TestLogFromInfo(t *testing.T) {
	faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
		var text bytes.Buffer
		client := server.Client(petstore.WithLogger(logTo(&text, slog.LevelInfo)))
		usedUp := http.Header{"X-RateLimit-Remaining": {"0"}, "X-RateLimit-Reset": {"946684805"}}
		server.Inject(fake.Fault{Status: 429, RetryAfter: "20", Times: 2, Header: usedUp}) // two lockouts in a row
		require.NoError(t, list(client))
		for range 2 { // each time two 401s: the second is not logged, since the key has not worked in between
			server.RevokeKey(server.APIKey())
			require.ErrorIs(t, list(client), petstore.ErrUnauthorized)
			server.Inject(fake.Fault{Status: 501})
			require.Error(t, list(client))
			require.ErrorIs(t, list(client), petstore.ErrUnauthorized)
			server.AddKey(server.APIKey(), fake.PlanFree)
			require.NoError(t, create(client))
		}
		server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Status: 502, Body: []byte("x")})
		require.ErrorIs(t, create(client), petstore.ErrOutcomeUnknown)
		for range 2 { // the operation is deprecated
			require.ErrorIs(t, get(client), petstore.ErrNotFound)
		}
		testkit.AssertGolden(t, "testdata/log-info.txt", text.String())
	}, fake.WithPlan(fake.PlanFree))
}

// A handler of the log may make a call: here, whenever it writes an attribute.
func TestLogHandlerMayCall(t *testing.T) {
	var text bytes.Buffer
	var client *petstore.Client
	options := slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		assert.NoError(t, get(client))
		return a
	}}
	client, _ = scripted(t, []responder{status(200, onePet)}, petstore.WithLogger(slog.New(slog.NewTextHandler(&text, &options))))
	require.NoError(t, get(client))
	assert.Equal(t, 1, strings.Count(text.String(), "deprecated operation"))
}
