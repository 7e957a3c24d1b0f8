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
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/ratelimit"
)

// TestKeyIsInNoOutput searches the client, its options, its limiter, all results, all kinds of
// errors, and what traces and the log get of each attempt for the key. The service repeats the key
// in its responses.
func TestKeyIsInNoOutput(t *testing.T) {
	keyFunc := petstore.WithAPIKeyFunc(func(context.Context) (string, error) { return secretKey, nil })
	limiter := ratelimit.New()
	client := repeating(t, fake.Fault{}, petstore.WithLimiter(limiter))
	listed, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	created, err := client.CreatePet(t.Context(), newPet())
	require.NoError(t, err)
	// No goroutine of net/http uses these contexts, so that they can be dumped.
	traced := newClient(t, status(200, twoPets), secretKey, petstore.WithTrace(hooked(
		func(ctx context.Context, _ petstore.Call, function string) {
			assertKeyNotIn(t, "the context of "+function, ctx)
		})))
	require.NoError(t, list(traced))
	for name, v := range map[string]any{
		"a client": client, "a client by value": reflect.ValueOf(client).Elem().Interface(),
		"a struct around a client": struct{ client *petstore.Client }{client},
		"a rotating client":        newClient(t, nil, "", keyFunc), "WithAPIKeyFunc": keyFunc,
		"a used connection": newClient(t, keeps{text: secretKey}, secretKey),
		"its limiter":       limiter, "a list": *listed, "a creation": created,
	} {
		assertKeyNotIn(t, name, v)
	}
	for name, provoke := range failures() {
		t.Run(name, func(t *testing.T) {
			err := provoke(t)
			require.Error(t, err)
			assertKeyNotIn(t, name, err)
		})
	}
}

// keeps is a transport that keeps a text, as a connection keeps what it has sent.
type keeps struct {
	http.RoundTripper
	text string
}

// repeating returns a client of a fake with a fault that repeats the key in its headers.
func repeating(t *testing.T, f fake.Fault, opts ...petstore.Option) *petstore.Client {
	t.Helper()
	server := fake.NewTestServer(t, fake.WithKey(secretKey, fake.PlanFree))
	f.Times, f.Header = fake.Forever, http.Header{
		"X-Echo": {"Bearer " + secretKey}, "Set-Cookie": {"key=" + secretKey}, "X-Request-Id": {secretKey},
	}
	server.Inject(f)
	return keyed(t, server.HTTPClient().Transport, opts...)
}

// failures returns functions that cause each kind of error, with the key in each place where it can
// be.
func failures() map[string]func(*testing.T) error {
	inVault := &url.Error{Op: "Get", URL: "https://vault.test/" + secretKey, Err: errors.New(secretKey)}
	all := map[string]func(*testing.T) error{
		"a function that fails": func(t *testing.T) error {
			client, _ := rotating(t, func(context.Context) (string, error) { return secretKey, vaultError{inVault} }, nil)
			return create(client)
		},
		"a transport that repeats the key": func(t *testing.T) error {
			return create(keyed(t, fails(errors.New("cannot send Bearer "+secretKey))))
		},
		"a body that is cut off": func(t *testing.T) error {
			return create(keyed(t, cutOff(500, errors.New("stream of "+secretKey+" was reset"))))
		},
		"a deadline after a 503": func(t *testing.T) (err error) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				client := keyed(t, &service{responders: []responder{status(503, secretKey, "X-Echo: "+secretKey), hangs}})
				_, err = client.ListPets(ctx, petstore.ListPetsParams{})
			})
			return err
		},
	}
	for _, wire := range fake.Wire("").Values() {
		if wire != fake.WireStall { // a stall alone ends without an error
			all["a connection: "+string(wire)] = func(t *testing.T) error {
				return create(repeating(t, fake.Fault{Wire: wire}))
			}
		}
	}
	object := `{"code":"` + secretKey + `","message":"no such key: ` + secretKey + `","status":0}`
	for _, code := range []int{201, 202, 302, 401, 429} {
		for _, body := range []string{secretKey, object, `{"` + secretKey + `":1,"` + secretKey + `":1}`} {
			all[fmt.Sprintf("status %d, %.4s", code, body)] = func(t *testing.T) error {
				return create(repeating(t, fake.Fault{Status: code, Body: []byte(body), RetryAfter: "9"}))
			}
		}
	}
	return all
}

// keyed returns a client with secretKey and a transport. Its traces and its log are searched.
func keyed(t *testing.T, transport http.RoundTripper, opts ...petstore.Option) *petstore.Client {
	t.Helper()
	var log bytes.Buffer
	t.Cleanup(func() { assert.False(t, hasKey(log.String()), "the log") })
	trace := petstore.WithTrace(&petstore.ClientTrace{
		AttemptDone: func(_ context.Context, info petstore.AttemptDoneInfo) { assertKeyNotIn(t, "AttemptDone", info) },
		CallDone:    func(_ context.Context, info petstore.CallDoneInfo) { assertKeyNotIn(t, "CallDone", info) },
	})
	opts = append(opts, trace, petstore.WithLogger(logTo(&log, slog.LevelDebug)), petstore.WithMaxWait(0),
		petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 2, BaseDelay: 1}))
	return newClient(t, transport, secretKey, opts...)
}

// secretKey has each kind of character that a key may have and that some format escapes.
const secretKey = "Zx9+secret/key~4711.of_the-house=="

// hasKey reports whether a text has the key, or a part of it, in some form.
func hasKey(text string) bool {
	return slices.ContainsFunc([]string{
		secretKey[:16], secretKey[len(secretKey)-16:], fmt.Sprintf("%x", secretKey), fmt.Sprintf("%X", secretKey),
		strings.Trim(fmt.Sprint([]byte(secretKey)), "[]"),
	}, func(form string) bool { return strings.Contains(text, form) })
}

// failure has the text of a test that failed: all that can be reached from a value, also through
// unexported fields. The variables of a closure cannot be reached.
type failure string

func (f *failure) Errorf(format string, args ...any) { *f += failure(fmt.Sprintf(format, args...)) }

// textsOf returns v as a failed test, fmt, log/slog and encoding/json write it.
func textsOf(v any) string {
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
	return b.String()
}

// assertKeyNotIn checks that the key cannot be found in v, nor in any text made from it.
func assertKeyNotIn(t *testing.T, name string, v any) {
	t.Helper()
	assert.False(t, hasKey(textsOf(v)), name)
	if err, ok := v.(error); ok {
		assertShortLine(t, err)
		for _, inner := range unwrapped(err) {
			assert.False(t, hasKey(textsOf(inner)), "%s, unwrapped", name)
		}
	}
}

// vaultError is an error of the caller's function for WithAPIKeyFunc. Its text contains the key.
// Only errors.Is, errors.As and Unwrap may find it in an error of the client.
type vaultError struct{ error }

// unwrapped returns err and the errors that it wraps, except those of the caller.
func unwrapped(err error) []error {
	all := []error{err}
	switch e := err.(type) { // one layer at a time
	case vaultError, nil:
		return nil
	case interface{ Unwrap() error }:
		all = append(all, unwrapped(e.Unwrap())...)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			all = append(all, unwrapped(inner)...)
		}
	}
	return all
}
