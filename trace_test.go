package petstore_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/ratelimit"
)

type markKey struct{}

// hooked returns a trace that marks the context of each call. Each of its functions calls h with
// its name, and with its context, call and other argument.
func hooked(h func(name string, ctx context.Context, c petstore.Call, more any)) *petstore.ClientTrace {
	return &petstore.ClientTrace{
		CallStart: func(ctx context.Context, c petstore.Call) context.Context {
			ctx = context.WithValue(ctx, markKey{}, "call")
			h("CallStart", ctx, c, nil)
			return ctx
		},
		CallDone:     func(ctx context.Context, i petstore.CallDoneInfo) { h("CallDone", ctx, i.Call, i) },
		AttemptStart: func(ctx context.Context, c petstore.Call) { h("AttemptStart", ctx, c, nil) },
		AttemptDone:  func(ctx context.Context, i petstore.AttemptDoneInfo) { h("AttemptDone", ctx, i.Call, i) },
		WaitStart:    func(ctx context.Context, c petstore.Call, w ratelimit.Wait) { h("WaitStart", ctx, c, w) },
		WaitDone:     func(ctx context.Context, c petstore.Call, w ratelimit.Wait) { h("WaitDone", ctx, c, w) },
		LimitClosed:  func(ctx context.Context, c petstore.Call, l ratelimit.Lockout) { h("LimitClosed", ctx, c, l) },
		LimitOpened:  func(ctx context.Context, c petstore.Call, l ratelimit.Lockout) { h("LimitOpened", ctx, c, l) },
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
				for _, name := range []string{"Traceparent", "Authorization", "User-Agent", "Host", "Idempotency-Key"} {
					header.Set(name, fmt.Sprint("of attempt ", c.Attempt))
				}
				header["authorization"] = []string{"not the usual spelling"}
				return context.WithValue(ctx, markKey{}, "span")
			},
		}))
		require.NoError(t, list(client))
		sent := service.sent()[0].header
		assert.Equal(t, "of attempt 1", sent.Get("Traceparent"))
		assert.Equal(t, "Bearer "+testKey, sent.Get("Authorization"))
		assert.NotContains(t, sent, "authorization")
		assert.Equal(t, "petstore-go/"+petstore.Version, sent.Get("User-Agent"))
		assert.Empty(t, sent.Get("Host")+sent.Get("Idempotency-Key"))
	})
}
