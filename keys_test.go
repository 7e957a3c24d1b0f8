package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/faketest"
	"github.com/petstore/petstore-go/ratelimit"
)

func TestWithAPIKeyFunc(t *testing.T) {
	const first, second = "first-key", "second-key"
	refused, busy, created, listed := status(401, ""), status(503, ""), status(201, onePet), status(200, "[]")
	for name, c := range map[string]struct {
		call      callFunc
		keys      []string
		responses []responder
		fails     bool // with the 401
	}{
		"a 401, and another key":      {create, []string{first, second}, []responder{refused, created}, false},
		"a 401, and the same key":     {create, []string{first, first}, []responder{refused}, true},
		"a 401 for another key, too":  {create, []string{first, second}, []responder{refused, refused}, true},
		"a key for each attempt":      {list, []string{first, second}, []responder{busy, listed}, false},
		"a 401 after another attempt": {list, []string{first, first, second}, []responder{busy, refused, listed}, false},
	} {
		virtual(t, name, func(t *testing.T) {
			asked := 0
			client, service := rotating(t, func(ctx context.Context) (string, error) {
				call, _ := petstore.CallFromContext(ctx)
				asked++
				assert.Equal(t, asked, call.Attempt, "the one that the key is for")
				return c.keys[min(asked, len(c.keys))-1], nil
			}, c.responses)
			err := c.call(client)
			require.Len(t, service.sent(), len(c.responses))
			for n, r := range service.sent() {
				assert.Equal(t, "Bearer "+c.keys[n], r.header.Get("Authorization"))
			}
			assert.Equal(t, c.fails, errors.Is(err, petstore.ErrUnauthorized))
			assert.Equal(t, c.fails, err != nil)
		})
	}
	virtual(t, "a key that takes longer than an attempt may", func(t *testing.T) {
		client, _ := rotating(t, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}, nil, petstore.WithAttemptTimeout(time.Second))
		err := list(client)
		require.ErrorIs(t, err, petstore.ErrTimeout)
		require.ErrorIs(t, err, petstore.ErrNotSent)
		require.NotErrorIs(t, err, context.DeadlineExceeded, "which is for the caller's deadline")
	})
	t.Run("no valid key", func(t *testing.T) {
		sealed := errors.New("sealed")
		for key, failure := range map[string]error{"": sealed, "not a key": nil} {
			client, _ := rotating(t, func(context.Context) (string, error) { return key, failure }, nil)
			err := create(client)
			require.ErrorIs(t, err, petstore.ErrAPIKey)
			require.ErrorIs(t, err, petstore.ErrNotSent)
			assert.Equal(t, failure != nil, errors.Is(err, sealed))
		}
	})
	client, service := scripted(t, []responder{refused})
	require.ErrorIs(t, list(client), petstore.ErrUnauthorized)
	assert.Len(t, service.sent(), 1, "a fixed key is not tried again")
}

// TestKeyThatRotates has forty callers of a key that a vault renews each 37 seconds. The old key works
// for another second. A call that has waited for the limit must not send the key from before its wait.
func TestKeyThatRotates(t *testing.T) {
	faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
		var current atomic.Pointer[string]
		renew := func(n int) {
			key, old := fmt.Sprint("key-number-", n), current.Load()
			server.AddKey(key, fake.PlanPro)
			current.Store(&key)
			time.Sleep(time.Second)
			if old != nil {
				server.RevokeKey(*old)
			}
		}
		renew(0)
		client, err := petstore.NewClient("http://localhost/v1", "", petstore.WithHTTPClient(server.HTTPClient()),
			petstore.WithAPIKeyFunc(func(context.Context) (string, error) { return *current.Load(), nil }))
		require.NoError(t, err)
		var all sync.WaitGroup
		all.Go(func() {
			for n := range 8 {
				time.Sleep(36 * time.Second)
				renew(n + 1)
			}
		})
		for range 40 {
			all.Go(func() {
				for range 30 {
					assert.NoError(t, list(client))
					time.Sleep(time.Second)
				}
			})
		}
		all.Wait()
		for _, r := range server.Requests() {
			assert.Equal(t, http.StatusOK, r.StatusCode)
		}
	})
}

func TestNewClientFromEnv(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "key")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	const base, hidden = "https://service.test/v1", "two words"
	const ofFile, both = "PETSTORE_API_KEY_FILE: ", "is set although PETSTORE_API_KEY is set"
	for name, c := range map[string]struct{ base, key, file, insecure, processes, want string }{
		"key":          {base: base, key: testKey},
		"file":         {base: base, file: file("  " + testKey + "\n")},
		"insecure":     {base: "http://service.test/v1", key: testKey, insecure: "1"},
		"no base URL":  {key: testKey, want: "PETSTORE_BASE_URL: is not set"},
		"base URL":     {base: "http://service.test/v1", key: testKey, want: "PETSTORE_BASE_URL: is plain http"},
		"no key":       {base: base, want: "PETSTORE_API_KEY: is not set, nor is PETSTORE_API_KEY_FILE"},
		"both":         {base: base, key: testKey, file: file(""), want: ofFile + both},
		"no such file": {base: base, file: "/nowhere/" + hidden, want: ofFile + "no such file"},
		"a wrong key":  {base: base, key: hidden, want: "PETSTORE_API_KEY: has a character"},
		"a wrong file": {base: base, file: file(hidden), want: ofFile + "has a character"},
		"not 0 or 1":   {base: base, key: testKey, insecure: "yes", want: "PETSTORE_INSECURE_HTTP: is neither 0 nor 1"},
		"processes":    {base: base, key: testKey, processes: "0", want: "PETSTORE_PROCESSES: is not a number of processes"},
	} {
		t.Run(name, func(t *testing.T) {
			for variable, value := range map[string]string{
				"BASE_URL": c.base, "API_KEY": c.key, "API_KEY_FILE": c.file, "INSECURE_HTTP": c.insecure, "PROCESSES": c.processes,
			} {
				t.Setenv("PETSTORE_"+variable, value)
			}
			client, err := petstore.NewClientFromEnv()
			if c.want == "" {
				require.NoError(t, err)
				assert.Equal(t, "petstore.Client("+c.base+")", client.String())
				return
			}
			require.ErrorContains(t, err, c.want)
			require.ErrorIs(t, err, petstore.ErrInvalidArgument)
			assert.NotContains(t, err.Error(), hidden)
		})
	}
	t.Setenv("PETSTORE_BASE_URL", base)
	own := petstore.WithAPIKeyFunc(petstore.APIKeyFile("key"))
	_, err := petstore.NewClientFromEnv(own)
	require.NoError(t, err, "a key function needs no key in the environment")
	t.Setenv("PETSTORE_API_KEY", testKey)
	_, err = petstore.NewClientFromEnv(own)
	require.ErrorContains(t, err, "PETSTORE_API_KEY: is set although WithAPIKeyFunc is used")
	t.Setenv("PETSTORE_PROCESSES", "4")
	_, err = petstore.NewClientFromEnv(petstore.WithLimiter(nil))
	require.NoError(t, err, "an option overrides the variable")
	faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
		var processes int
		client, err := petstore.NewClientFromEnv(petstore.WithHTTPClient(server.HTTPClient()),
			petstore.WithTrace(&petstore.ClientTrace{
				LimitClosed: func(_ context.Context, _ petstore.Call, l ratelimit.Lockout) { processes = l.Processes },
			}))
		require.NoError(t, err)
		server.BanKey(testKey, time.Hour)
		require.Error(t, list(client))
		assert.Equal(t, 4, processes)
	}, fake.WithKey(testKey, fake.PlanFree))
}

func TestAPIKeyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	client, service := rotating(t, petstore.APIKeyFile(file), []responder{status(200, `[]`)})
	for n, key := range []string{"key-1", "key-2"} {
		require.NoError(t, os.WriteFile(file, []byte(key+"\n"), 0o600))
		require.NoError(t, list(client))
		assert.Equal(t, "Bearer "+key, service.sent()[n].header.Get("Authorization"))
	}
	require.NoError(t, os.Remove(file))
	require.ErrorIs(t, list(client), fs.ErrNotExist)
}
