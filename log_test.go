package petstore_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"regexp"
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
	return slog.New(slog.NewTextHandler(text, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == "call_id" || a.Key == "key_id" {
			return slog.String(a.Key, "id")
		}
		if a.Value.Kind() == slog.KindTime {
			return slog.Time(a.Key, a.Value.Time().UTC())
		}
		return a
	}}))
}

func TestWithLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
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
		for field := range reflect.TypeFor[petstore.AttemptDoneInfo]().Fields() {
			if field.Name != "Call" && field.Name != "Sent" { // other attributes have what these two say
				assert.Regexp(t, `"petstore: attempt" .* `+attribute(field.Name)+`[.=]`, text.String())
			}
		}
	})
}

// attribute returns the name that the log has for a field.
func attribute(field string) string {
	words := regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(field, "${1}_$2")
	return strings.NewReplacer("status_code", "status", "err", "error").Replace(strings.ToLower(words))
}

// TestLogOfAKey has what happens to a key, and the lines from Info upwards.
func TestLogOfAKey(t *testing.T) {
	for name, row := range map[string]struct {
		happens func(t *testing.T, server *fake.Server, client *petstore.Client)
		want    []string // level, message, and some attributes
	}{
		"the minute is used up": {
			func(t *testing.T, server *fake.Server, client *petstore.Client) {
				server.Inject(fake.Fault{Status: 429, RetryAfter: "20", Times: 2})
				require.NoError(t, list(client))
			},
			[]string{"WARN rate limit closed minute 60", "INFO rate limit open again minute 60"},
		},
		"a ban, during which nothing is sent": {
			func(t *testing.T, server *fake.Server, client *petstore.Client) {
				server.BanKey(server.APIKey(), 10*time.Hour)
				for range 6 {
					require.ErrorIs(t, list(client), petstore.ErrRateLimited)
				}
				time.Sleep(10*time.Hour + time.Minute)
				require.NoError(t, list(client))
			},
			[]string{"WARN rate limit closed ban 60", "INFO rate limit open again ban 60"},
		},
		"a queue, which is usual near the limit": {
			func(t *testing.T, _ *fake.Server, client *petstore.Client) {
				for range 150 {
					require.NoError(t, list(client))
				}
			}, nil,
		},
		"a key that is refused until it works again": {
			func(t *testing.T, server *fake.Server, client *petstore.Client) {
				for range 2 {
					server.RevokeKey(server.APIKey())
					require.Error(t, list(client))
					require.Error(t, list(client))
					server.AddKey(server.APIKey(), fake.PlanFree)
					require.NoError(t, list(client))
				}
			},
			[]string{"WARN key refused", "WARN key refused"},
		},
		"a write in doubt, and the deprecated operation": {
			func(t *testing.T, server *fake.Server, client *petstore.Client) {
				server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Status: 502})
				require.Error(t, create(client))
				for range 2 {
					require.Error(t, get(client))
				}
			},
			[]string{"WARN outcome unknown", "WARN deprecated operation"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
				var text bytes.Buffer
				row.happens(t, server, server.Client(petstore.WithLogger(logTo(&text, slog.LevelInfo))))
				var lines []string
				for line := range strings.Lines(text.String()) {
					shown := found(` (?:level|scope|limit)=(\S+)`, line)
					shown[0] += " " + found(`msg="petstore: ([^"]+)"`, line)[0]
					lines = append(lines, strings.Join(shown, " "))
				}
				assert.Equal(t, row.want, lines, &text)
			}, fake.WithPlan(fake.PlanFree))
		})
	}
}

// A key that rotates for ever must not fill the memory.
func TestLogForgetsKeys(t *testing.T) {
	var text bytes.Buffer
	n := 0
	client, _ := rotating(t, func(context.Context) (string, error) { n++; return fmt.Sprint("key-", n), nil },
		[]responder{status(401, "")}, once, petstore.WithLogger(logTo(&text, slog.LevelInfo)))
	for range 1001 {
		require.Error(t, list(client))
	}
	n = 0 // the first key again: that it had a line is forgotten
	require.Error(t, list(client))
	assert.Equal(t, 1002, strings.Count(text.String(), "key refused"))
}
