package petstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
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

// TestKeyIsInNoOutput searches the client, its options, its limiter, all results, all kinds of
// errors, and what traces and the log get of each attempt for the key. The service repeats the key
// in its responses.
func TestKeyIsInNoOutput(t *testing.T) {
	keyFunc := petstore.WithAPIKeyFunc(func(context.Context) (string, error) { return secretKey, nil })
	limiter := ratelimit.New()
	client, _ := echoing(t, []responder{status(200, twoPets, echo...), status(201, onePet, echo...)},
		petstore.WithLimiter(limiter), petstore.WithTrace(hooked(
			func(ctx context.Context, _ petstore.Call, function string) {
				assertKeyNotIn(t, "the context of "+function, ctx)
			})))
	listed, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	created, err := client.CreatePet(t.Context(), newPet())
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
	rotates, _ := rotating(t, func(context.Context) (string, error) { return secretKey, vaultError{inVault} }, nil)
	assertKeyNotIn(t, "a function that fails", create(rotates))
	object := `{"code":"` + secretKey + `","message":"no such key: ` + secretKey + `","status":0}`
	bodies := []string{secretKey, object, `{"` + secretKey + `":1,"` + secretKey + `":1}`}
	rows := [][]responder{
		{fails(errors.New("cannot send Bearer " + secretKey))}, {fails(errors.New("malformed HTTP response " + secretKey))},
		{cutOff(500, errors.New("stream of "+secretKey+" was reset"))}, {status(503, secretKey, echo...), hangs},
		{partly(201)}, {partly(404)},
	}
	for _, code := range []int{201, 202, 302, 401, 429} {
		for _, body := range bodies {
			rows = append(rows, []responder{status(code, body, append(echo, "Retry-After: 9")...)})
		}
	}
	for n, responders := range rows {
		for _, call := range []callFunc{create, list} {
			virtual(t, fmt.Sprint("error ", n), func(t *testing.T) {
				client, log := echoing(t, responders, petstore.WithCallTimeout(time.Second), petstore.WithMaxWait(0))
				err := call(client)
				require.Error(t, err)
				assertKeyNotIn(t, "the error", err)
				assert.False(t, hasKey(log.String()), "the log: %s", log)
			})
		}
	}
}

// echo has headers with the key.
var echo = []string{"X-Echo: Bearer " + secretKey, "Set-Cookie: key=" + secretKey, "X-Request-Id: " + secretKey}

// partly responds with a body that is cut off within the key.
func partly(code int) responder {
	return func(r *http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader(secretKey[:17]), failingReader{func() error { return errReset }})
		return response(r, code, body), nil
	}
}

// echoing returns a client with secretKey and its log. Its traces are searched for the key.
func echoing(t *testing.T, responders []responder, opts ...petstore.Option) (*petstore.Client, *bytes.Buffer) {
	t.Helper()
	log := new(bytes.Buffer)
	trace := petstore.WithTrace(&petstore.ClientTrace{
		AttemptDone: func(_ context.Context, info petstore.AttemptDoneInfo) { assertKeyNotIn(t, "AttemptDone", info) },
		CallDone:    func(_ context.Context, info petstore.CallDoneInfo) { assertKeyNotIn(t, "CallDone", info) },
	})
	opts = append(opts, trace, petstore.WithLogger(logTo(log, slog.LevelDebug)))
	// The transport keeps the key, as a connection keeps what it has sent.
	return newClient(t, &service{responders: responders}, secretKey, opts...), log
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
