package petstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

// uncomparable is a limiter that cannot be compared.
type uncomparable struct {
	closed
	_ []int
}

func TestOptionsAreValues(t *testing.T) {
	hc, logger, limiter, trace := &http.Client{}, slog.Default(), petstore.NewLimiter(), &petstore.ClientTrace{}
	key := func(context.Context) (string, error) { return "a-secret", nil }
	wrap := func(rt http.RoundTripper) http.RoundTripper { return rt }
	for want, option := range map[string]func() fmt.Stringer{
		"WithMaxWait(5s)":                  func() fmt.Stringer { return petstore.WithMaxWait(5 * time.Second) },
		"WithAttemptTimeout(0s)":           func() fmt.Stringer { return petstore.WithAttemptTimeout(0) },
		"WithCallTimeout(1m0s)":            func() fmt.Stringer { return petstore.WithCallTimeout(time.Minute) },
		"WithBackground()":                 func() fmt.Stringer { return petstore.WithBackground() },
		"WithRawBody()":                    func() fmt.Stringer { return petstore.WithRawBody() },
		`WithHeader("X-Tenant", …)`:        func() fmt.Stringer { return petstore.WithHeader("X-Tenant", "a-secret") },
		`WithUserAgent("app/1.2")`:         func() fmt.Stringer { return petstore.WithUserAgent("app/1.2") },
		"WithInsecureHTTP()":               func() fmt.Stringer { return petstore.WithInsecureHTTP() },
		"WithMaxResponseBytes(100)":        func() fmt.Stringer { return petstore.WithMaxResponseBytes(100) },
		"WithHTTPClient(*http.Client)":     func() fmt.Stringer { return petstore.WithHTTPClient(hc) },
		"WithLogger(*slog.Logger)":         func() fmt.Stringer { return petstore.WithLogger(logger) },
		"WithTrace(*petstore.ClientTrace)": func() fmt.Stringer { return petstore.WithTrace(trace) },
		"WithLimiter(*petstore.limiter)":   func() fmt.Stringer { return petstore.WithLimiter(limiter) },
		"WithLimiter(<nil>)":               func() fmt.Stringer { return petstore.WithLimiter(nil) },
		"Processes(8)":                     func() fmt.Stringer { return petstore.Processes(8) },
		"BackgroundReserve(20)":            func() fmt.Stringer { return petstore.BackgroundReserve(20) },
		"Options()":                        func() fmt.Stringer { return petstore.Options() },
		"Options(WithMaxWait(0s), Options())": func() fmt.Stringer {
			return petstore.Options(petstore.WithMaxWait(0), petstore.Options())
		},
		"WithRetryPolicy({MaxAttempts:1 BaseDelay:0s MaxDelay:0s})": func() fmt.Stringer {
			return petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1})
		},
	} {
		assert.Equal(t, want, option().String())
		assert.Equal(t, want, fmt.Sprintf("%#v", option()))
		assert.True(t, option() == option(), want) //nolint:testifylint // it is about ==
	}
	for want, o := range map[string]petstore.Option{
		"WithAPIKeyFunc(func)":           petstore.WithAPIKeyFunc(key),
		"WithTransport(func)":            petstore.WithTransport(wrap),
		"WithLimiter(*petstore.Limiter)": petstore.WithLimiter(uncomparable{}),
	} {
		assert.Equal(t, want, o.String())
		assert.True(t, o == o, want) //nolint:gocritic,testifylint // some values do not equal themselves, or panic
	}
	assert.False(t, petstore.WithMaxWait(0) == petstore.WithMaxWait(1))                                    //nolint:testifylint // it is about ==
	assert.False(t, petstore.WithMaxWait(0) == petstore.WithCallTimeout(0))                                //nolint:testifylint // it is about ==
	assert.False(t, petstore.Option(petstore.WithMaxWait(0)) == petstore.Options(petstore.WithMaxWait(0))) //nolint:testifylint // it is about ==
}

func TestOptions(t *testing.T) {
	client, service := scripted(t, []responder{status(503, "")}, petstore.Options(
		petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}), petstore.Options(), petstore.WithHeader("X-A", "1")))
	require.Error(t, list(client))
	assert.Len(t, service.sent(), 1)
	assert.Equal(t, "1", service.sent()[0].header.Get("X-A"))

	_, err := petstore.NewClient("https://service.test/v1", testKey, petstore.Options(nil))
	require.ErrorIs(t, err, petstore.ErrInvalidArgument)
	_, err = petstore.NewClient("https://service.test/v1", testKey, petstore.Options(petstore.WithMaxWait(-1)))
	require.ErrorIs(t, err, petstore.ErrInvalidArgument)
	_, err = petstore.NewClient("https://service.test/v1", testKey, petstore.WithLimiter(uncomparable{}))
	require.NoError(t, err)
}
