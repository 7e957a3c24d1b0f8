package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/ratelimit"
)

func TestWithAPIKeyFunc(t *testing.T) {
	const first, second, third = "first-key", "second-key", "third-key"
	refused, busy, created, listed := status(401, ""), status(503, ""), status(201, onePet), status(200, "[]")
	for name, c := range map[string]struct {
		call      callFunc
		keys      []string
		responses []responder
		fails     bool // with the 401
	}{
		"a 401, and another key":      {create, []string{first, second}, []responder{refused, created}, false},
		"a 401, and the same key":     {create, []string{first, first}, []responder{refused}, true},
		"a 401 for another key, too":  {create, []string{first, second, third}, []responder{refused, refused}, true},
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
			start := time.Now()
			err := c.call(client)
			assert.Equal(t, strings.Contains(name, "attempt"), time.Now().After(start), "another key needs no pause")
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
	t.Run("a call that has ended asks for no key and no permit", func(t *testing.T) {
		client, _ := rotating(t, func(context.Context) (string, error) { panic("for a key") }, nil,
			petstore.WithLimiter(limiterFunc(nil)))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := client.GetPet(ctx, 7)
		require.ErrorIs(t, err, petstore.ErrNotSent)
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

// A vault renews the key each 37 seconds. A call that has waited for a permit sends the key of that
// moment, and gives back the permit of the key from before its wait.
func TestKeyThatRotates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		current := func() string { return fmt.Sprint("key-number-", time.Now().Unix()/37) }
		permit, asked := new(permits), 0
		limiter := limiterFunc(func(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error) {
			c, _ := petstore.CallFromContext(ctx)
			assert.Equal(t, r.Key, c.KeyID)
			asked++
			<-time.After(time.Duration(13*(asked%3)) * time.Second)
			return permit.Acquire(ctx, r)
		})
		sent := 0
		client, _ := rotating(t, func(context.Context) (string, error) { return current(), nil },
			[]responder{func(r *http.Request) (*http.Response, error) {
				assert.Equal(t, "Bearer "+current(), r.Header.Get("Authorization"))
				sent++
				return status([]int{503, 200}[sent%2], "[]")(r)
			}}, petstore.WithLimiter(limiter))
		for range 15 {
			require.NoError(t, list(client, petstore.WithMaxWait(time.Hour)))
		}
		unused := slices.DeleteFunc(permit.released, func(o ratelimit.Outcome) bool { return o.StatusCode != 0 })
		assert.Equal(t, slices.Repeat([]ratelimit.Outcome{{}}, asked-sent), unused, "nothing was sent with them")
		assert.Greater(t, asked, sent+5)
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
		"base URL":     {base: "http://service.test/v1", key: testKey, insecure: "0", want: "PETSTORE_BASE_URL: is plain http"},
		"no key":       {base: base, want: "PETSTORE_API_KEY: is not set, nor is PETSTORE_API_KEY_FILE"},
		"both":         {base: base, key: testKey, file: file(""), want: ofFile + both},
		"no such file": {base: base, file: "/nowhere/" + hidden, want: ofFile + "no such file"},
		"a wrong key":  {base: base, key: hidden, want: "PETSTORE_API_KEY: has a character"},
		"a wrong file": {base: base, file: file(hidden), want: ofFile + "has a character"},
		"not 0 or 1":   {base: base, key: testKey, insecure: "yes", want: "PETSTORE_INSECURE_HTTP: is neither 0 nor 1"},
		"processes":    {base: base, key: testKey, processes: "0", want: "PETSTORE_PROCESSES: is not a number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PETSTORE_BASE_URL", c.base)
			t.Setenv("PETSTORE_API_KEY", c.key)
			t.Setenv("PETSTORE_API_KEY_FILE", c.file)
			t.Setenv("PETSTORE_INSECURE_HTTP", c.insecure)
			t.Setenv("PETSTORE_PROCESSES", c.processes)
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
	client, err := petstore.NewClientFromEnv(refusesBy(os.ErrClosed))
	require.NoError(t, err)
	require.ErrorIs(t, list(client), os.ErrClosed, "an option overrides the variable")
	processes := 0
	client, err = petstore.NewClientFromEnv(petstore.WithMaxWait(0),
		petstore.WithHTTPClient(&http.Client{Transport: status(429, "", "Retry-After: 60")}),
		petstore.WithTrace(&petstore.ClientTrace{
			LimitClosed: func(_ context.Context, _ petstore.Call, l ratelimit.Lockout) { processes = l.Processes },
		}))
	require.NoError(t, err)
	require.ErrorIs(t, list(client), petstore.ErrRateLimited)
	assert.Equal(t, 4, processes)
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
