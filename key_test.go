package petstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/ratelimit"
)

func TestWithAPIKeyFunc(t *testing.T) {
	const first, second, third = "first-key", "second-key", "third-key"
	refused, busy, created, listed := status(401, ""), status(503, ""), status(201, onePet), status(200, "[]")
	limited, unauthorized := status(429, "", "Retry-After: 3600"), petstore.ErrUnauthorized
	once := func(c *petstore.Client, _ ...petstore.CallOption) error {
		return create(c, petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}))
	}
	for name, c := range map[string]struct {
		call      callFunc
		keys      []string
		responses []responder
		backsOff  bool
		want      error // nil for a success
	}{
		"a 401, and another key":     {create, []string{first, second}, []responder{refused, created}, false, nil},
		"a 401, and no retry":        {once, []string{first, second}, []responder{refused}, false, unauthorized},
		"a 401, and the same key":    {create, []string{first, first}, []responder{refused}, false, unauthorized},
		"a 401 for another key, too": {create, []string{first, second, third}, []responder{refused, refused}, false, unauthorized},
		"a 429, and another key":     {list, []string{first, second}, []responder{limited, listed}, false, nil},
		"a 503, and then a 401":      {list, []string{first, first, second}, []responder{busy, refused, listed}, true, nil},
	} {
		virtual(t, name, func(t *testing.T) {
			asked, limiter := 0, ratelimit.New()
			// A limiter that takes 100 ms, as over a network, is no reason to ask for the key
			// again.
			slow := limiterFunc(func(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error) {
				time.Sleep(100 * time.Millisecond)
				return limiter.Acquire(ctx, r)
			})
			client, service := rotating(t, func(ctx context.Context) (string, error) {
				call, _ := petstore.CallFromContext(ctx)
				asked++
				assert.Equal(t, asked, call.Attempt, "the one that the key is for")
				return c.keys[min(asked, len(c.keys))-1], nil
			}, c.responses, petstore.WithLimiter(slow))
			start := time.Now()
			err := c.call(client)
			assert.Equal(t, c.backsOff, time.Since(start) > 400*time.Millisecond, "another key needs no pause")
			require.Len(t, service.sent(), len(c.responses), "%v", err)
			for n, r := range service.sent() {
				assert.Equal(t, "Bearer "+c.keys[n], r.header.Get("Authorization"))
			}
			require.ErrorIs(t, err, c.want)
			if c.want != nil {
				assert.IsType(t, new(petstore.APIError), err)
			}
		})
	}
	virtual(t, "a call that waits for its permit sends the key that is valid then", func(t *testing.T) {
		// A vault renews the key each 37 seconds.
		current := func() string { return fmt.Sprint("key-number-", time.Now().Unix()/37) }
		permit, asked := new(permits), 0
		away := time.Now().Add(time.Hour) // from then on, there are no keys
		limiter := limiterFunc(func(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error) {
			c, _ := petstore.CallFromContext(ctx)
			assert.Equal(t, r.Key, c.KeyID)
			asked++
			<-time.After(time.Duration(13*(asked%3)) * time.Second)
			return permit.Acquire(ctx, r)
		})
		sent := 0
		client, _ := rotating(t, func(context.Context) (string, error) {
			if time.Now().After(away) {
				return "", errors.New("the store of keys is away")
			}
			return current(), nil
		}, []responder{func(r *http.Request) (*http.Response, error) {
			assert.Equal(t, "Bearer "+current(), r.Header.Get("Authorization"))
			sent++
			return status([]int{503, 200}[sent%2], "[]")(r)
		}}, petstore.WithLimiter(limiter))
		for range 15 {
			require.NoError(t, list(client, petstore.WithMaxWait(time.Hour)))
		}
		var err error
		for err == nil { // each third call does not wait for its permit, and so asks for no second key
			away = time.Now()
			err = list(client, petstore.WithMaxWait(time.Hour))
		}
		require.ErrorIs(t, err, petstore.ErrAPIKey)
		unused := slices.DeleteFunc(permit.released, func(o ratelimit.Outcome) bool { return o.StatusCode != 0 })
		assert.Equal(t, slices.Repeat([]ratelimit.Outcome{{}}, asked-sent), unused, "nothing was sent with them")
		assert.Greater(t, asked, sent+5)
	})
	fixed, service := scripted(t, []responder{refused})
	require.ErrorIs(t, list(fixed), petstore.ErrUnauthorized)
	assert.Len(t, service.sent(), 1, "a fixed key is not tried again")
}

func TestAPIKeyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.Symlink(file, file+"-link"))
	client, service := rotating(t, petstore.APIKeyFile(file+"-link"), []responder{status(200, `[]`)})
	for n, key := range []string{"key-1", "key-2"} {
		require.NoError(t, os.WriteFile(file, []byte(" "+key+"\n"), 0o600))
		require.NoError(t, list(client))
		assert.Equal(t, "Bearer "+key, service.sent()[n].header.Get("Authorization"))
	}
}

// TestKeyIsInNoOutput searches for the key in the client, its options, its limiter, all results,
// and in everything that is passed to a trace or to the log. The service repeats the key in its responses.
func TestKeyIsInNoOutput(t *testing.T) {
	keyFunc := petstore.WithAPIKeyFunc(func(context.Context) (string, error) { return secretKey, nil })
	limiter := ratelimit.New()
	client, _ := echoing(t, []responder{status(200, twoPets, echo...), status(201, onePet, echo...)},
		petstore.WithLimiter(limiter), petstore.WithTrace(hooked(
			func(name string, ctx context.Context, _ petstore.Call, _ any) {
				assertKeyNotIn(t, "the context of "+name, ctx) // the context does not change during the search
			})))
	listed, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	created, err := client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex"})
	require.NoError(t, err)
	for name, v := range map[string]any{
		"a client": client, "a client by value": reflect.ValueOf(client).Elem().Interface(),
		"a struct around a client": struct{ client *petstore.Client }{client},
		"a rotating client":        newClient(t, nil, "", keyFunc), "WithAPIKeyFunc": keyFunc,
		"its limiter": limiter, "a list": *listed, "a creation": created,
	} {
		assertKeyNotIn(t, name, v)
	}
	inVault := &url.Error{Op: "Get", URL: "https://vault.test/" + secretKey, Err: errors.New(secretKey)}
	rotates, _ := rotating(t, func(context.Context) (string, error) { return secretKey, inVault }, nil)
	assertKeyNotIn(t, "a function that fails", create(rotates))
}

func TestKeyIsInNoError(t *testing.T) {
	object := `{"code":"` + secretKey + `","message":"no such key: ` + secretKey + `","status":0}`
	bodies := map[string]string{
		"the key": secretKey, "an Error object": object, "names": `{"` + secretKey + `":1,"` + secretKey + `":1}`,
	}
	rows := map[string][]responder{
		"an error of the transport": {fails(errors.New("cannot send Bearer " + secretKey))},
		"a response without HTTP":   {fails(errors.New("malformed HTTP response " + secretKey))},
		"a stream that is reset":    {cutOff("", 500, errors.New("stream of "+secretKey+" was reset"))},
		"a 503, and then silence":   {status(503, secretKey, echo...), hangs},
		"a 201 cut off in the key":  {cutOff(secretKey[:17], 201, errReset)},
		"a 404 cut off in the key":  {cutOff(secretKey[:17], 404, errReset)},
	}
	for _, code := range []int{201, 202, 302, 401, 429} {
		for what, body := range bodies {
			rows[fmt.Sprintf("a %d with %s", code, what)] = []responder{status(code, body, append(echo, "Retry-After: 9")...)}
		}
	}
	for what, responders := range rows {
		for operation, sample := range samples {
			virtual(t, operation+" that meets "+what, func(t *testing.T) {
				client, log := echoing(t, responders, petstore.WithCallTimeout(time.Second), petstore.WithMaxWait(0))
				err := sample.call(client)
				require.Error(t, err)
				assertKeyNotIn(t, "the error", err)
				assert.False(t, hasKey(log.String()), "the log: %s", log)
			})
		}
	}
}

// echo has headers with the key.
var echo = []string{"X-Echo: Bearer " + secretKey, "Set-Cookie: key=" + secretKey, "X-Request-Id: " + secretKey}

// echoing returns a client with secretKey, and its log. It searches all that traces get for the
// key.
func echoing(t *testing.T, responders []responder, opts ...petstore.Option) (*petstore.Client, *bytes.Buffer) {
	t.Helper()
	log := new(bytes.Buffer)
	trace := petstore.WithTrace(hooked(func(name string, _ context.Context, _ petstore.Call, more any) {
		assertKeyNotIn(t, name, more)
	}))
	opts = append(opts, trace, petstore.WithLogger(logTo(log, slog.LevelDebug)))
	// This transport keeps requests with the key, as buffers of a connection do: no text of the
	// client may show them.
	return newClient(t, &service{responders: responders}, secretKey, opts...), log
}

// secretKey has characters of each kind that a key may have, also those that some format escapes.
const secretKey = "Zx9+secret/key~4711.of_the-house=="

// hasKey reports whether a text has the key, or a part of it, in some form.
func hasKey(text string) bool {
	return slices.ContainsFunc([]string{
		secretKey[:16], secretKey[len(secretKey)-16:], fmt.Sprintf("%x", secretKey), fmt.Sprintf("%X", secretKey),
		strings.Trim(fmt.Sprint([]byte(secretKey)), "[]"),
	}, func(form string) bool { return strings.Contains(text, form) })
}

// failure has the text that a failed test prints for a value: all that the value leads to, also by
// unexported fields, except variables of closures.
type failure string

func (f *failure) Errorf(format string, args ...any) { *f += failure(fmt.Sprintf(format, args...)) }

// assertKeyNotIn checks that the key is in no text that a failed test, fmt, log/slog and
// encoding/json write of v.
func assertKeyNotIn(t *testing.T, name string, v any) {
	t.Helper()
	var dump failure
	assert.Equal(&dump, []any{v}, []any{nil})
	var b strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		fmt.Fprintf(&b, verb+"\n", v)
	}
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "value", v, slog.Group("g", "value", v))
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "value", v, slog.Group("g", "value", v))
	text, err := json.Marshal(v)
	fmt.Fprintln(&b, dump, string(text), err)
	assert.False(t, hasKey(b.String()), name)
	if err, ok := v.(error); ok {
		assertShortLine(t, err)
	}
}
