package petstore_test

import (
	"context"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

func TestWithAPIKeyFunc(t *testing.T) {
	const first, second = "first-key", "second-key"
	unauthorized, created := status(401, ""), status(201, onePet)
	for name, c := range map[string]struct {
		call      func(*petstore.Client, ...petstore.CallOption) error
		keys      []string
		responses []responder
		refused   []bool // Call.KeyRefused in each call of the function
		fails     bool
	}{
		"a 401, and another key":     {create, []string{first, second}, []responder{unauthorized, created}, []bool{false, true}, false},
		"a 401, and the same key":    {create, []string{first, first}, []responder{unauthorized}, []bool{false, true}, true},
		"a 401 for another key, too": {create, []string{first, second}, []responder{unauthorized, unauthorized}, []bool{false, true}, true},
		"a key for each attempt":     {list, []string{first, second}, []responder{status(503, ""), status(200, "[]")}, []bool{false, false}, false},
		"a 401 before the last response": {
			list, []string{first, second, second}, []responder{unauthorized, status(503, ""), status(200, "[]")}, []bool{false, true, false}, false,
		},
	} {
		virtual(t, name, func(t *testing.T) {
			var refused []bool
			client, service := rotating(t, func(ctx context.Context) (string, error) {
				call, _ := petstore.CallFromContext(ctx)
				refused = append(refused, call.KeyRefused)
				return c.keys[len(refused)-1], nil
			}, c.responses)
			err := c.call(client)
			require.Len(t, service.sent(), len(c.responses))
			for n, r := range service.sent() {
				assert.Equal(t, "Bearer "+c.keys[n], r.header.Get("Authorization"))
			}
			assert.Equal(t, c.refused, refused)
			if !c.fails {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, petstore.ErrUnauthorized)
			require.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
			assert.Equal(t, len(c.responses), as[*petstore.APIError](t, err).Attempts)
		})
	}
	client, service := scripted(t, []responder{unauthorized})
	require.ErrorIs(t, list(client), petstore.ErrUnauthorized)
	assert.Len(t, service.sent(), 1, "a fixed key is not tried again")
}

func TestAPIKeyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	write := func(key string, at time.Time) {
		require.NoError(t, os.WriteFile(file, []byte(key+"\n"), 0o600))
		require.NoError(t, os.Chtimes(file, at, at))
	}
	then := time.Now().Add(-time.Hour)
	write("key-1", then)
	service := &service{responders: []responder{status(200, `[]`), status(200, `[]`), status(401, ``), status(200, `[]`)}}
	t.Setenv("PETSTORE_BASE_URL", "https://service.test/v1")
	t.Setenv("PETSTORE_API_KEY_FILE", file)
	client, err := petstore.NewClientFromEnv(petstore.WithLimiter(nil), petstore.WithHTTPClient(&http.Client{Transport: service}))
	require.NoError(t, err)
	require.NoError(t, list(client))
	write("key-2", then.Add(time.Minute))
	require.NoError(t, list(client), "the file has changed")
	write("key-3", then.Add(time.Minute)) // unnoticed
	require.NoError(t, list(client), "the service has refused the key")
	for n, key := range []string{"key-1", "key-2", "key-2", "key-3"} {
		assert.Equal(t, "Bearer "+key, service.sent()[n].header.Get("Authorization"))
	}
	require.NoError(t, os.Remove(file))
	err = list(client)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorIs(t, err, petstore.ErrNotSent)
	assert.ErrorContains(t, err, "petstore: listPets: API key file: no such file")
}

func TestUnwrapOfItself(t *testing.T) {
	client, _ := scripted(t, nil, petstore.WithLimiter(new(unwrapsItself)))
	client.ReopenLimit()
}

// unwrapsItself is a limiter whose Unwrap returns itself.
type unwrapsItself struct{ limiterFunc }

func (l *unwrapsItself) Unwrap() petstore.Limiter { return l }
