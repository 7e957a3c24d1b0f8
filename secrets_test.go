package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// TestKeyIsInNoOutput searches the client, its options, its limiter, all results and all kinds of
// errors for the key. The service repeats the key in its responses.
func TestKeyIsInNoOutput(t *testing.T) {
	keyFunc := petstore.WithAPIKeyFunc(func(context.Context) (string, error) { return secretKey, nil })
	limiter := petstore.NewLimiter()
	client := repeating(t, petstore.WithLimiter(limiter))
	assertKeyNotIn(t, "a new client", client)
	listed, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	created, err := client.CreatePet(t.Context(), newPet())
	require.NoError(t, err)
	got, err := client.GetPet(t.Context(), created.Pet.ID)
	require.NoError(t, err)
	rotating, err := petstore.NewClient("https://service.test/v1", "", keyFunc)
	require.NoError(t, err)
	for name, v := range map[string]any{
		"a used client": client, "a client by value": reflect.ValueOf(client).Elem().Interface(),
		"its limiter": limiter, "a rotating client": rotating,
		"WithAPIKeyFunc": keyFunc, "clients in a list": []any{client, rotating}, "clients in a map": map[string]any{"c": client},
		"a struct around a client": struct{ client *petstore.Client }{client},
		"a list":                   listed, "a creation": created, "a pet": got, "a list by value": *listed,
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

// echo returns a fault whose headers contain the key.
func echo() fake.Fault {
	return fake.Fault{Times: fake.Forever, Header: http.Header{
		"X-Echo": {"Bearer " + secretKey}, "Location": {"https://elsewhere.test/?key=" + url.QueryEscape(secretKey)},
		"X-Json": {`{"key":"` + strings.ReplaceAll(secretKey, "/", `\/`) + `"}`}, "Set-Cookie": {"key=" + secretKey},
	}}
}

// repeating returns a client of a fake that repeats the key in its headers.
func repeating(t *testing.T, opts ...petstore.Option) *petstore.Client {
	t.Helper()
	srv := fake.NewServer(fake.WithKey(secretKey, fake.PlanFree))
	t.Cleanup(srv.Close)
	srv.Inject(echo())
	opts = append([]petstore.Option{petstore.WithHTTPClient(&http.Client{Transport: srv.Transport()})}, opts...)
	client, err := petstore.NewClient("https://service.test/v1", secretKey, opts...)
	require.NoError(t, err)
	return client
}

// failures returns functions that cause each kind of error, with the key in each place where it can
// be.
func failures() map[string]func(*testing.T) error {
	all := map[string]func(*testing.T) error{
		"an argument": func(_ *testing.T) error {
			_, err := petstore.NewClient("https://user:"+secretKey+"@service.test/v1?"+secretKey, secretKey)
			return err
		},
		"an invalid key": func(_ *testing.T) error {
			_, err := petstore.NewClient("https://service.test/v1", secretKey+" ")
			return err
		},
		"an option": func(_ *testing.T) error {
			_, err := petstore.NewClient("https://service.test/v1", secretKey, petstore.WithHeader("Authorization", "Bearer "+secretKey))
			return err
		},
		"a header's value": func(_ *testing.T) error {
			_, err := petstore.NewClient("https://service.test/v1", secretKey, petstore.WithHeader("X-Key", secretKey+"\n"))
			return err
		},
		"a limit that is used up": func(t *testing.T) error {
			client := repeating(t, petstore.WithMaxWait(0))
			for range fake.PlanFree.PerMinute {
				require.NoError(t, list(client))
			}
			return list(client)
		},
		"a function that fails": func(t *testing.T) error {
			return withKeyFunc(t, "", vaultError{errors.New("no lease for " + secretKey)})
		},
		"a function that fails with its key": func(t *testing.T) error {
			return withKeyFunc(t, secretKey, vaultError{&url.Error{Op: "Get", URL: "https://vault.test/" + secretKey, Err: errors.New(secretKey)}})
		},
		"a function that returns an invalid key": func(t *testing.T) error { return withKeyFunc(t, secretKey+"\r\n", nil) },
		"a transport that repeats the key": func(t *testing.T) error {
			return through(t, &service{responders: []responder{fails(errors.New("cannot send Bearer " + secretKey))}}, create)
		},
		"a body that is cut off": func(t *testing.T) error {
			return through(t, &service{responders: []responder{cutOff(500, errors.New("stream of "+secretKey+" was reset"))}}, create)
		},
		"an untrusted certificate": func(t *testing.T) error {
			client, err := petstore.NewClient(serveTLS(t, nil).URL+"/v1", secretKey)
			require.NoError(t, err)
			return create(client)
		},
		"an attempt that timed out": func(t *testing.T) (err error) {
			synctest.Test(t, func(t *testing.T) { err = through(t, &service{responders: []responder{hangs}}, create) })
			return err
		},
		"a cancel with a cause": func(t *testing.T) (err error) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("enough"))
				defer cancel()
				client := keyed(t, &service{responders: []responder{status(503, secretKey, "X-Echo: "+secretKey), hangs}})
				_, err = client.ListPets(ctx, petstore.ListPetsParams{})
			})
			return err
		},
	}
	for _, wire := range []fake.Wire{fake.WireReset, fake.WireClose, fake.WireTruncate, fake.WireGarbage, fake.WireRefuse} {
		all["a connection: "+wire.String()] = func(t *testing.T) error { return struck(t, fake.Fault{Wire: wire}) }
	}
	for _, code := range []int{201, 202, 302, 400, 401, 404, 408, 429, 503, 999} {
		for name, body := range map[string]string{
			"plain": secretKey, "an Error object": `{"code":"` + secretKey + `","message":"no such key: ` + secretKey + `","status":0}`,
			"escaped": `{"code":"` + strings.ReplaceAll(secretKey, "+", `\u002b`) + `","message":"` + strings.ReplaceAll(secretKey, "/", `\/`) + `"}`,
			"HTML":    "<html>" + template.HTMLEscapeString(secretKey) + "</html>", "URL": "?" + url.QueryEscape(secretKey),
			"too large": strings.Repeat(secretKey, 100_000),
		} {
			all[fmt.Sprintf("status %d, %s", code, name)] = func(t *testing.T) error {
				return struck(t, fake.Fault{Status: code, Body: []byte(body), RetryAfter: "9"})
			}
		}
	}
	for name, bytes := range map[string]string{
		"no HTTP": secretKey + "\r\n\r\n", "a status line": "HTTP/1.1 " + secretKey + "\r\n\r\n",
		"a reason": "HTTP/1.1 418 " + secretKey + "\r\n\r\n", "a status of 0": "HTTP/1.1 000 " + secretKey + "\r\n\r\n",
		"a header line":   "HTTP/1.1 200 OK\r\n" + secretKey + "\r\n\r\n",
		"a header name":   "HTTP/1.1 200 OK\r\n" + secretKey + ": x\r\n\r\n",
		"a length":        "HTTP/1.1 200 OK\r\nContent-Length: " + secretKey + "\r\n\r\n",
		"an encoding":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + secretKey + "\r\n\r\n",
		"a chunk":         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + secretKey + "\r\n",
		"a location":      "HTTP/1.1 302 OK\r\nLocation: ://" + secretKey + "\r\n\r\n",
		"a media type":    "HTTP/1.1 200 OK\r\nContent-Type: " + secretKey + "/" + secretKey + "\r\n\r\n[]",
		"a body encoding": "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + secretKey,
		"a field":         "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[{\"" + secretKey + "\":1}]",
		"a name twice":    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[{\"" + secretKey + "\":1,\"" + secretKey + "\":2}]",
	} {
		all["bytes: "+name] = func(t *testing.T) error { return through(t, replaying([]byte(bytes)), list) }
	}
	return all
}

// keyed returns a client with secretKey and a transport.
func keyed(t *testing.T, transport http.RoundTripper, opts ...petstore.Option) *petstore.Client {
	t.Helper()
	opts = append([]petstore.Option{
		petstore.WithHTTPClient(&http.Client{Transport: transport}), petstore.WithLimiter(nil), petstore.WithMaxWait(0),
		petstore.WithMaxResponseBytes(1 << 20), petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 2, BaseDelay: 1}),
	}, opts...)
	client, err := petstore.NewClient("http://127.0.0.1/v1", secretKey, opts...)
	require.NoError(t, err)
	return client
}

func through(t *testing.T, transport http.RoundTripper, call func(*petstore.Client) error) error {
	t.Helper()
	return call(keyed(t, transport))
}

// struck returns the error of a create with a fault, from a service that repeats the key in its
// headers.
func struck(t *testing.T, f fake.Fault) error {
	t.Helper()
	srv := fake.NewServer(fake.WithKey(secretKey, fake.PlanFree))
	t.Cleanup(srv.Close)
	f.Header, f.Times = echo().Header, fake.Forever
	srv.Inject(f)
	return through(t, srv.HTTPClient().Transport, create)
}

func withKeyFunc(t *testing.T, key string, err error) error {
	t.Helper()
	client, errNew := petstore.NewClient("https://service.test/v1", "", petstore.WithLimiter(nil),
		petstore.WithAPIKeyFunc(func(context.Context) (string, error) { return key, err }))
	require.NoError(t, errNew)
	got := create(client)
	if err != nil {
		require.ErrorIs(t, got, err)
	}
	return got
}

// panicIn is the environment variable with the kind of panic for a process of this test.
const panicIn = "PETSTORE_TEST_PANIC"

func TestKeyIsInNoPanic(t *testing.T) {
	switch os.Getenv(panicIn) {
	case "client":
		panic(repeating(t))
	case "error":
		panic(struck(t, fake.Fault{Status: 401, Body: []byte(secretKey)}))
	case "transport":
		_ = through(t, &service{responders: []responder{func(req *http.Request) (*http.Response, error) { panic(req.Context()) }}}, create)
	}
	for _, what := range []string{"client", "error", "transport"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), panicIn+"="+what, "GOTRACEBACK=system")
		out, err := cmd.CombinedOutput()
		exit, ok := errors.AsType[*exec.ExitError](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, 2, exit.ExitCode())
		assert.Contains(t, string(out), "panic: ", what)
		assert.Contains(t, string(out), "goroutine ", what)
		assertNoSecret(t, string(out), "a panic with "+what)
	}
}
