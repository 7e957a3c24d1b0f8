package petstore_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
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
			fails(errRefused), status(201, onePet), status(200, onePet),
		}, petstore.WithLogger(logTo(&text, slog.LevelDebug)),
			petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 1, MaxDelay: 1}))
		require.NoError(t, create(client))
		require.NoError(t, get(client))
		testkit.AssertGolden(t, "testdata/log.txt", text.String())
		assert.NotContains(t, text.String(), testKey)
		assert.NotContains(t, text.String(), "Rex", "nothing of a body")
	})
}

// TestLogOfAKey has what may happen to a key, and the lines of the log from level Info upwards.
func TestLogOfAKey(t *testing.T) {
	for name, row := range map[string]struct {
		happens func(server *fake.Server, client *petstore.Client)
		want    []string // level, message, and some attributes
	}{
		"two lockouts, one after the other": {func(server *fake.Server, client *petstore.Client) {
			server.Inject(fake.Fault{Status: 429, RetryAfter: "20", Times: 2})
			_ = list(client)
		}, []string{"WARN rate limit closed minute 60", "WARN rate limit closed minute 60",
			"INFO rate limit open again minute 60"}},
		"a ban, during which nothing is sent": {func(server *fake.Server, client *petstore.Client) {
			server.BanKey(server.APIKey(), 10*time.Hour)
			for range 6 {
				_ = list(client)
			}
			time.Sleep(10*time.Hour + time.Minute)
			_ = list(client)
		}, []string{"WARN rate limit closed ban 60", "INFO rate limit open again ban 60"}},
		"a queue, which is usual near the limit": {func(_ *fake.Server, client *petstore.Client) {
			for range 150 {
				_ = list(client)
			}
		}, nil},
		"a key that is refused until it works again": {func(server *fake.Server, client *petstore.Client) {
			for range 2 {
				server.RevokeKey(server.APIKey())
				_ = list(client)
				server.Inject(fake.Fault{Status: 501})
				_ = list(client)
				_ = list(client)
				server.AddKey(server.APIKey(), fake.PlanFree)
				_ = list(client)
			}
		}, []string{"WARN key refused", "WARN key refused"}},
		"a write in doubt, and the deprecated operation": {func(server *fake.Server, client *petstore.Client) {
			server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Status: 502})
			_ = create(client)
			_ = get(client)
			_ = get(client)
		}, []string{"WARN outcome unknown", "WARN deprecated operation"}},
	} {
		t.Run(name, func(t *testing.T) {
			faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
				var text bytes.Buffer
				row.happens(server, server.Client(petstore.WithLogger(logTo(&text, slog.LevelInfo))))
				var lines []string
				for line := range strings.Lines(text.String()) {
					shown := found(` (?:level|reason|limit)=(\S+)`, line)
					shown[0] += " " + found(`msg="petstore: ([^"]+)"`, line)[0]
					lines = append(lines, strings.Join(shown, " "))
				}
				assert.Equal(t, row.want, lines, &text)
			}, fake.WithPlan(fake.PlanFree))
		})
	}
}

// callingHandler is a user's slog.Handler that makes a call of its own for each line.
type callingHandler struct {
	slog.Handler
	handle func()
}

func (h callingHandler) Handle(ctx context.Context, r slog.Record) error {
	h.handle()
	return h.Handler.Handle(ctx, r)
}

func TestLogHandlerMayCall(t *testing.T) {
	var text bytes.Buffer
	var client *petstore.Client
	log := callingHandler{logTo(&text, slog.LevelInfo).Handler(), func() { assert.NoError(t, get(client)) }}
	client, _ = scripted(t, []responder{status(200, onePet)}, petstore.WithLogger(slog.New(log)))
	require.NoError(t, get(client))
	assert.Contains(t, text.String(), "deprecated operation")
}
