package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

var (
	errReset   = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
)

// TestRetryByResponse has an example of each rule; internal/retry has all statuses, and internal/wire
// all errors.
func TestRetryByResponse(t *testing.T) {
	type row struct {
		name    string
		respond responder
		reads   int // requests of listPets and getPet
		create  int // requests of createPet
		unknown bool
		invalid bool
	}
	rows := []row{
		{"404", status(404, ``), 1, 1, false, false},
		{"429", status(429, ``), 4, 4, false, false},
		{"503", status(503, ``), 4, 1, true, false},
		{"3xx", status(307, ``, "Location: https://elsewhere.test/v1/pets"), 1, 1, true, false},
		{"a documented status of another kind", status(206, `[]`), 1, 1, true, true},
		{"connection reset", fails(errReset), 4, 1, true, false},
		{"dial refused", fails(errRefused), 4, 4, false, false},
		{"not HTTP", fails(errors.New(`malformed HTTP response "hello"`)), 1, 1, true, true},
	}
	for _, row := range rows {
		for operation := range calls(nil) {
			t.Run(row.name+" to "+operation, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					client, service := scripted(t, []responder{row.respond})
					err := calls(client)[operation](t)
					require.Error(t, err)
					want := row.reads
					if operation == "createPet" {
						want = row.create
					}
					assert.Len(t, service.sent(), want)
					assert.Equal(t, row.unknown && operation == "createPet", errors.Is(err, petstore.ErrOutcomeUnknown), "%v", err)
					assert.Equal(t, row.invalid, errors.Is(err, petstore.ErrInvalidResponse), "%v", err)
					assert.NotErrorIs(t, err, context.DeadlineExceeded)
					assert.NotContains(t, err.Error(), "giving up")
					assert.Equal(t, want, attemptsOf(t, err))
				})
			})
		}
	}
}

func attemptsOf(t *testing.T, err error) int {
	if e, ok := errors.AsType[*petstore.APIError](err); ok {
		return e.Attempts
	}
	if e, ok := errors.AsType[*petstore.ResponseError](err); ok {
		return e.Attempts
	}
	e, ok := errors.AsType[*petstore.TransportError](err)
	require.True(t, ok, "%T", err)
	return e.Attempts
}

func TestRetry(t *testing.T) {
	t.Run("repeats a read, never a create, after a response that was cut off", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			client, _ := scripted(t, []responder{cutOff(200, io.ErrUnexpectedEOF), cutOff(200, errReset), status(200, twoPets)})
			result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
			require.NoError(t, err)
			assert.Equal(t, 3, result.Attempts)
			assert.Len(t, result.Pets, 2)

			client, service := scripted(t, []responder{cutOff(201, io.ErrUnexpectedEOF)})
			_, err = client.CreatePet(t.Context(), newPet())
			require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
			require.ErrorIs(t, err, petstore.ErrInvalidResponse)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			assert.Len(t, service.sent(), 1)
		})
	})
	t.Run("sends the body of a create again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			client, service := scripted(t, []responder{status(429, ``), fails(errRefused), success("createPet")})
			result, err := client.CreatePet(t.Context(), newPet())
			require.NoError(t, err)
			assert.Equal(t, 3, result.Attempts)
			for _, r := range service.sent() {
				assert.Equal(t, `{"name":"Rex","categoryId":3,"status":"available"}`, r.body)
				assert.EqualValues(t, len(r.body), r.contentLength)
			}
		})
	})
	t.Run("sends a create again that a server of HTTP/2 has not processed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			goAway := func(r *http.Request) (*http.Response, error) {
				httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{})
				return nil, errors.New("http2: Transport: cannot retry err [http2: Transport received Server's graceful shutdown GOAWAY] " +
					"after Request.Body was written; define Request.GetBody to avoid this error")
			}
			client, _ := scripted(t, []responder{goAway, success("createPet")})
			result, err := client.CreatePet(t.Context(), newPet())
			require.NoError(t, err)
			assert.Equal(t, 2, result.Attempts)
		})
	})
	t.Run("backs off exponentially with jitter", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			client, service := scripted(t, []responder{status(503, ``)},
				petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 8, BaseDelay: time.Second, MaxDelay: 8 * time.Second}))
			require.Error(t, list(client))
			sent := service.sent()
			require.Len(t, sent, 8)
			for i, full := range []time.Duration{1, 2, 4, 8, 8, 8, 8} {
				gap := sent[i+1].at.Sub(sent[i].at)
				assert.GreaterOrEqual(t, gap, full*time.Second/2)
				assert.LessOrEqual(t, gap, full*time.Second)
			}
		})
	})
}

func TestRetryAfter(t *testing.T) {
	t.Run("is a lower bound of the wait on 429 and 503", func(t *testing.T) {
		for _, code := range []int{429, 503} {
			for value, want := range map[string]time.Duration{"7": 7 * time.Second, "0": 0, "NaN": 0} {
				t.Run(fmt.Sprint(code, " ", value), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						client, service := scripted(t, []responder{status(code, ``, "Retry-After: "+value), success("listPets")})
						require.NoError(t, list(client))
						sent := service.sent()
						require.Len(t, sent, 2)
						gap := sent[1].at.Sub(sent[0].at)
						assert.GreaterOrEqual(t, gap, max(want, 250*time.Millisecond), "never a hot loop")
						assert.LessOrEqual(t, gap, want+2*time.Second)
					})
				})
			}
		}
	})
	t.Run("is overruled by the later end of a used-up window", func(t *testing.T) {
		for name, c := range map[string]struct {
			remaining int
			atLeast   time.Duration
			atMost    time.Duration
		}{
			"used up":  {0, 40 * time.Second, 42 * time.Second},
			"not used": {5, 2 * time.Second, 4 * time.Second},
		} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					headers := append(quota(60, c.remaining, 40*time.Second), "Retry-After: 2")
					client, service := scripted(t, []responder{status(429, ``, headers...), success("listPets")})
					require.NoError(t, list(client))
					gap := service.sent()[1].at.Sub(service.sent()[0].at)
					assert.GreaterOrEqual(t, gap, c.atLeast)
					assert.LessOrEqual(t, gap, c.atMost)
				})
			})
		}
	})
}

func TestRetryBudget(t *testing.T) {
	t.Run("limits the retries of an outage", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			client, service := scripted(t, []responder{status(503, ``)})
			var group sync.WaitGroup
			for range 1000 {
				group.Go(func() { _, _ = client.ListPets(t.Context(), petstore.ListPetsParams{}) })
			}
			group.Wait()
			assert.Len(t, service.sent(), 1100, "each call once, and 100 retries between them")
		})
	})
	t.Run("is not spent on requests that were not sent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			away := responder(func(r *http.Request) (*http.Response, error) {
				if time.Since(start) < 5*time.Second {
					return nil, errRefused
				}
				return response(r, 200, strings.NewReader("[]"), quota(1000, 900, time.Minute)...), nil
			})
			client, err := petstore.NewClient("https://service.test/v1", testKey,
				petstore.WithHTTPClient(&http.Client{Transport: away}),
				petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 100}))
			require.NoError(t, err)
			var all sync.WaitGroup
			for range 64 {
				all.Go(func() { assert.NoError(t, list(client)) })
			}
			all.Wait()
			assert.Less(t, time.Since(start), time.Minute)
		})
	})
}
