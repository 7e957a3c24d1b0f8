package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

func TestWithAPIKeyFuncAfter401(t *testing.T) {
	for name, c := range map[string]struct {
		keys      []string
		responses []responder
		sent      int
		attempts  int
		fails     bool
	}{
		"another key":                  {[]string{"old-key", "new-key"}, []responder{status(401, ""), status(201, onePet)}, 2, 2, false},
		"the same key":                 {[]string{"old-key", "old-key"}, []responder{status(401, "")}, 1, 1, true},
		"another key, refused as well": {[]string{"old-key", "new-key"}, []responder{status(401, ""), status(401, "")}, 2, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			var refused []bool
			service := &service{responders: c.responses}
			client, err := petstore.NewClient("https://service.test/v1", "", petstore.WithAPIKeyFunc(
				func(ctx context.Context) (string, error) {
					call, _ := petstore.CallFromContext(ctx)
					refused = append(refused, call.KeyRefused)
					return c.keys[len(refused)-1], nil
				}), petstore.WithHTTPClient(&http.Client{Transport: service}))
			require.NoError(t, err)
			result, err := client.CreatePet(t.Context(), newPet())
			assert.Len(t, service.sent(), c.sent)
			assert.Equal(t, []bool{false, true}, refused)
			if !c.fails {
				require.NoError(t, err)
				assert.Equal(t, c.attempts, result.Attempts)
				return
			}
			require.ErrorIs(t, err, petstore.ErrUnauthorized)
			require.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
			e, _ := errors.AsType[*petstore.APIError](err)
			assert.Equal(t, c.attempts, e.Attempts)
		})
	}
	client, service := scripted(t, []responder{status(401, "")})
	require.ErrorIs(t, list(client), petstore.ErrUnauthorized)
	assert.Len(t, service.sent(), 1, "a fixed key is not tried again")
}

func TestWithAPIKeyFunc(t *testing.T) {
	t.Run("is called before each attempt", func(t *testing.T) {
		keys := 0
		client, err := petstore.NewClient("https://service.test/v1", "", petstore.WithLimiter(nil),
			petstore.WithHTTPClient(&http.Client{Transport: &service{responders: []responder{
				wantKey(t, "key-1", 503), wantKey(t, "key-2", 200),
			}}}),
			petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: time.Nanosecond}),
			petstore.WithAPIKeyFunc(func(context.Context) (string, error) {
				keys++
				return fmt.Sprintf("key-%d", keys), nil
			}))
		require.NoError(t, err)
		result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		assert.Equal(t, 2, result.Attempts)
	})
	t.Run("fails the call with nothing sent if it fails", func(t *testing.T) {
		boom := errors.New("vault is sealed")
		for name, f := range map[string]func(context.Context) (string, error){
			"an error": func(context.Context) (string, error) { return "", boom },
			"no token": func(context.Context) (string, error) { return "hush hush", nil },
		} {
			service := &service{responders: []responder{status(200, `[]`)}}
			client, err := petstore.NewClient("https://service.test/v1", "", petstore.WithLimiter(nil),
				petstore.WithHTTPClient(&http.Client{Transport: service}), petstore.WithAPIKeyFunc(f))
			require.NoError(t, err)
			_, err = client.CreatePet(t.Context(), newPet())
			transport, ok := errors.AsType[*petstore.TransportError](err)
			require.True(t, ok, "%s: %T", name, err)
			assert.False(t, transport.Sent)
			assert.Equal(t, name == "an error", errors.Is(err, boom))
			assert.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
			assert.NotContains(t, err.Error(), "hush")
			assert.Empty(t, service.sent())
		}
	})
}

func wantKey(t *testing.T, key string, code int) responder {
	return func(req *http.Request) (*http.Response, error) {
		assert.Equal(t, "Bearer "+key, req.Header.Get("Authorization"))
		return response(req, code, strings.NewReader(`[]`)), nil
	}
}
