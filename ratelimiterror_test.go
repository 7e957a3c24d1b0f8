package petstore_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

func TestRateLimitErrorRetryAtIsNotInThePast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slowly := func(r *http.Request) (*http.Response, error) {
			body := io.MultiReader(strings.NewReader("{"), sleepyReader(5*time.Second))
			return response(r, 429, body, "Retry-After: 1"), nil
		}
		client, _ := scripted(t, []responder{slowly}, petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}))
		limited, ok := errors.AsType[*petstore.RateLimitError](list(client))
		require.True(t, ok)
		assert.Equal(t, time.Now(), limited.RetryAt)
	})
}

// sleepyReader is a body that ends after some time.
type sleepyReader time.Duration

func (r sleepyReader) Read([]byte) (int, error) {
	<-time.After(time.Duration(r))
	return 0, io.EOF
}

func TestRateLimitErrorRetryAfterHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for d, want := range map[time.Duration]string{
			time.Second: "1", 1001 * time.Millisecond: "2", -time.Hour: "1", 0: "1", 10 * time.Hour: "36000",
		} {
			assert.Equal(t, want, (&petstore.RateLimitError{RetryAt: time.Now().Add(d)}).RetryAfterHeader())
		}
		assert.Empty(t, new(petstore.RateLimitError).RetryAfterHeader())
	})
}
