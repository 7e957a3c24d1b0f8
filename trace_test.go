package petstore_test

import (
	"bytes"
	"context"
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
	"github.com/petstore/petstore-go/ratelimit"
)

type markKey struct{}

// hook is a function of a trace: its name, its context and call, and what else it gets.
type hook func(name string, ctx context.Context, c petstore.Call, more any)

// hooked returns a trace that marks the context of each call, and calls the hook in each function.
func hooked(h hook) *petstore.ClientTrace {
	wait := func(name string) func(context.Context, petstore.Call, ratelimit.Wait) {
		return func(ctx context.Context, c petstore.Call, w ratelimit.Wait) { h(name, ctx, c, w) }
	}
	limit := func(name string) func(context.Context, petstore.Call, ratelimit.Lockout) {
		return func(ctx context.Context, c petstore.Call, l ratelimit.Lockout) { h(name, ctx, c, l) }
	}
	return &petstore.ClientTrace{
		CallStart: func(ctx context.Context, c petstore.Call) context.Context {
			ctx = context.WithValue(ctx, markKey{}, "call")
			h("CallStart", ctx, c, nil)
			return ctx
		},
		CallDone:     func(ctx context.Context, i petstore.CallDoneInfo) { h("CallDone", ctx, i.Call, i) },
		AttemptStart: func(ctx context.Context, c petstore.Call) { h("AttemptStart", ctx, c, nil) },
		AttemptDone:  func(ctx context.Context, i petstore.AttemptDoneInfo) { h("AttemptDone", ctx, i.Call, i) },
		WaitStart:    wait("WaitStart"), WaitDone: wait("WaitDone"),
		LimitClosed: limit("LimitClosed"), LimitOpened: limit("LimitOpened"),
	}
}

func TestClientTrace(t *testing.T) {
	virtual(t, "gets the events of a call in order", func(t *testing.T) {
		var events []string
		var done petstore.CallDoneInfo
		first := petstore.WithTrace(hooked(func(name string, ctx context.Context, c petstore.Call, more any) {
			switch i := more.(type) {
			case petstore.AttemptDoneInfo:
				name += fmt.Sprintf(" %d %d of %d, %v, sent %v: %v", i.StatusCode,
					i.RateLimit.Remaining, i.RateLimit.Limit, i.RetryAfter, i.Sent, i.Err)
			case ratelimit.Wait:
				name += fmt.Sprintf(" for %v: %v", i.Duration.Round(time.Second), i.Reason)
			case petstore.CallDoneInfo:
				name += fmt.Sprint(" after ", i.Duration.Round(time.Second))
				done = i
			}
			events = append(events, name)
			assert.Equal(t, "call", ctx.Value(markKey{}))
			assert.NoError(t, ctx.Err(), name)
			found, _ := petstore.CallFromContext(ctx)
			assert.Equal(t, c, found, name)
		}))
		second := petstore.WithTrace(&petstore.ClientTrace{
			CallStart: func(ctx context.Context, _ petstore.Call) context.Context {
				events = append(events, "second CallStart")
				assert.Equal(t, "call", ctx.Value(markKey{}))
				return nil
			},
		})
		client, _ := scripted(t, []responder{
			status(429, "", append(quota(10, 0, 0), "Retry-After: 3")...), fails(errReset),
			status(200, "[]", quota(10, 8, time.Minute)...), status(200, "no JSON"),
		}, petstore.WithLimiter(ratelimit.New()), petstore.WithCallTimeout(time.Minute), first, second)
		require.NoError(t, list(client))
		assert.Equal(t, []string{
			"CallStart", "second CallStart", "AttemptStart", "LimitClosed", "AttemptDone 429 0 of 10, 3s, sent true: <nil>",
			"WaitStart for 0s: minute", "WaitDone for 3s: minute",
			"AttemptStart", "AttemptDone 0 0 of 0, 0s, sent true: read tcp: read: connection reset by peer",
			"WaitStart for 0s: backoff", "WaitDone for 1s: backoff",
			"AttemptStart", "LimitOpened", "AttemptDone 200 8 of 10, 0s, sent true: <nil>", "CallDone after 4s",
		}, events)
		_, invalid := client.ListPets(t.Context(), petstore.ListPetsParams{Limit: -1})
		require.Error(t, invalid)
		require.NoError(t, done.Err, "there is no call with an invalid argument")
		err := list(client)
		assert.Equal(t, err, done.Err)
		assert.Equal(t, "invalid_response", done.ErrorType())
		assert.Equal(t, done.Call.ID, as[*petstore.ResponseError](t, err).CallID)
	})
	t.Run("gives the request a context, and headers that are not the client's", func(t *testing.T) {
		client, service := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
			assert.Equal(t, "span", r.Context().Value(markKey{}))
			return status(200, "[]")(r)
		}}, petstore.WithTrace(&petstore.ClientTrace{
			AttemptContext: func(ctx context.Context, c petstore.Call, header http.Header) context.Context {
				for _, name := range []string{"Traceparent", "Authorization", "User-Agent", "Host"} {
					header.Set(name, fmt.Sprint("of attempt ", c.Attempt))
				}
				return context.WithValue(ctx, markKey{}, "span")
			},
		}))
		require.NoError(t, list(client))
		sent := service.sent()[0].header
		assert.Equal(t, "of attempt 1", sent.Get("Traceparent"))
		assert.Equal(t, "Bearer "+testKey, sent.Get("Authorization"))
		assert.Equal(t, "petstore-go/"+petstore.Version, sent.Get("User-Agent"))
		assert.Empty(t, sent.Get("Host"))
	})
}

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
		"the minute is used up": {func(server *fake.Server, client *petstore.Client) {
			server.Inject(fake.Fault{Status: 429, RetryAfter: "20", Times: 2})
			_ = list(client)
		}, []string{"WARN rate limit closed minute 60", "INFO rate limit open again minute 60"}},
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
