package petstore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/ratelimit"
)

var (
	errReset   = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	errNotHTTP = errors.New(`malformed HTTP response "220 mail.test ESMTP"`)
	errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
)

// remove is a write without a body.
func remove(c *petstore.Client, opts ...petstore.CallOption) error {
	_, err := c.Do(context.Background(), http.MethodDelete, "pets/7", nil, nil, opts...)
	return err
}

// TestRetryByResponse has one example of each rule. All statuses are tested in internal/retry, and
// all errors in internal/wire.
func TestRetryByResponse(t *testing.T) {
	open := fmt.Errorf("circuit open: %w", petstore.ErrNotSent)
	type row struct {
		respond          responder
		reads, writes    int // requests
		unknown, invalid bool
		notSent          bool // none of the requests was written
	}
	rows := map[string]row{
		"404":                             {respond: status(404, ``), reads: 1, writes: 1},
		"429":                             {respond: status(429, ``), reads: 4, writes: 4},
		"503":                             {respond: status(503, ``), reads: 4, writes: 1, unknown: true},
		"307":                             {respond: status(307, ``), reads: 1, writes: 1, unknown: true},
		"connection reset":                {respond: fails(errReset), reads: 4, writes: 1, unknown: true},
		"dial refused":                    {respond: fails(errRefused), reads: 4, writes: 4, notSent: true},
		"refused by the user's transport": {respond: fails(open), reads: 1, writes: 1, notSent: true},
		"not HTTP":                        {respond: fails(errNotHTTP), reads: 1, writes: 1, unknown: true, invalid: true},
		"not HTTP, as the attempt times out": {respond: func(*http.Request) (*http.Response, error) {
			time.Sleep(31 * time.Second)
			return nil, errNotHTTP
		}, reads: 1, writes: 1, unknown: true, invalid: true},
		"neither a response nor an error": {respond: func(*http.Request) (*http.Response, error) {
			return nil, nil
		}, reads: 1, writes: 1, unknown: true},
		"a response without a header": {respond: func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusNotFound}, nil
		}, reads: 1, writes: 1},
	}
	for operation, sample := range withRemove() {
		rows := maps.Clone(rows)
		// After a status of success, a write was carried out, whatever is wrong with the response.
		if wrong := (row{reads: 1, writes: 1, unknown: true, invalid: true}); sample.body != "" {
			wrong.respond = status(206, sample.body)
			rows["a success of another status"] = wrong
			wrong.respond = status(sample.code, "<html>")
			rows["a success that is no JSON"] = wrong
			wrong.respond, wrong.reads = cutOff(sample.code, io.ErrUnexpectedEOF), 4
			rows["a success that is cut off"] = wrong
		}
		for name, row := range rows {
			virtual(t, name+" to "+operation, func(t *testing.T) {
				client, service := scripted(t, []responder{row.respond})
				err := sample.call(client)
				require.Error(t, err)
				want := row.reads
				if sample.writes {
					want = row.writes
				}
				assert.Len(t, service.sent(), want)
				assert.Equal(t, row.unknown && sample.writes, errors.Is(err, petstore.ErrOutcomeUnknown), "%v", err)
				assert.Equal(t, row.invalid, errors.Is(err, petstore.ErrInvalidResponse), "%v", err)
				assert.Equal(t, row.notSent, errors.Is(err, petstore.ErrNotSent), "%v", err)
				assert.Equal(t, row.notSent && want == 4, strings.Contains(err.Error(), "(4 tries)"), "%v", err)
				assert.NotErrorIs(t, err, context.DeadlineExceeded)
				assert.NotContains(t, err.Error(), "giving up")
				if row.notSent {
					want = 0
				}
				assert.Equal(t, want, attempts(t, err))
			})
		}
	}
}

func withRemove() map[string]sample {
	all := maps.Clone(samples)
	all["remove"] = sample{call: remove, writes: true}
	return all
}

// attempts returns the number of requests that an error reports.
func attempts(t *testing.T, err error) int {
	t.Helper()
	switch e := err.(type) { // the type itself is promised
	case *petstore.APIError:
		return e.Attempts
	case *petstore.RateLimitError:
		return e.Attempts
	case *petstore.ResponseError:
		return e.Attempts
	}
	return as[*petstore.TransportError](t, err).Attempts
}

// staleDialer dials a service that closes each connection when it has read its second request. So many
// connections are open before the first response.
func staleDialer(atFirst int64, read *atomic.Int64) func(context.Context, string, string) (net.Conn, error) {
	var open sync.WaitGroup
	open.Add(int(atFirst))
	return func(context.Context, string, string) (net.Conn, error) {
		conn, service := net.Pipe()
		go func() {
			defer service.Close()
			for reader, n := bufio.NewReader(service), 1; ; n++ {
				if _, err := http.ReadRequest(reader); err != nil {
					return
				}
				if read.Add(1) <= atFirst {
					open.Done()
					open.Wait()
				}
				if n == 2 {
					return
				}
				_, _ = io.WriteString(service, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]")
			}
		}()
		return conn, nil
	}
}

func TestRetryOfAStaleConnection(t *testing.T) {
	virtual(t, "dials, if the transport is the client's own", func(t *testing.T) {
		const dead = 20
		var read atomic.Int64
		client, err := petstore.NewClient("http://service.test/v1", testKey, petstore.WithInsecureHTTP(),
			petstore.WithLimiter(nil), petstore.WithTransport(func(own http.RoundTripper) http.RoundTripper {
				clone := own.(*http.Transport).Clone()
				clone.DialContext = staleDialer(dead, &read)
				return clone
			}))
		require.NoError(t, err)
		defer client.CloseIdleConnections()
		for range dead {
			go func() { _ = list(client, once) }()
		}
		synctest.Wait()
		start := time.Now()
		result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		assert.Equal(t, 2, result.Attempts)
		assert.Zero(t, time.Since(start))
	})
	virtual(t, "is immediate the first time, and has a permit like any other", func(t *testing.T) {
		var read, acquired atomic.Int64
		// Three connections are open at first: net/http closes one when it is kept from repeating a
		// request on it.
		transport := &http.Transport{MaxIdleConnsPerHost: 3, DialContext: staleDialer(3, &read)}
		defer transport.CloseIdleConnections()
		limiter := limiterFunc(func(context.Context, ratelimit.Request) (ratelimit.Permit, error) {
			acquired.Add(1)
			return new(permits), nil
		})
		client, err := petstore.NewClient("http://service.test/v1", testKey, petstore.WithInsecureHTTP(),
			petstore.WithHTTPClient(&http.Client{Transport: transport}), petstore.WithLimiter(limiter),
			petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 3, BaseDelay: time.Hour}))
		require.NoError(t, err)
		for range 2 {
			go func() { _ = list(client, once) }()
			synctest.Wait()
		}
		require.NoError(t, list(client))
		synctest.Wait()
		start := time.Now()
		result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		assert.Equal(t, 3, result.Attempts)
		assert.GreaterOrEqual(t, time.Since(start), 30*time.Minute, "the next connection was stale, too")
		assert.Less(t, time.Since(start), time.Hour, "one backoff")
		err = list(client, once)
		require.NotErrorIs(t, err, petstore.ErrNotSent, "the service has read it")
		assert.EqualValues(t, 3+3+1, read.Load())
		assert.EqualValues(t, 3+3+1, acquired.Load())
	})
}

func TestRetryAfterAWindowThatIsUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		usedUp := append(quota(10, 0, time.Minute), "Retry-After: 1", "Date: "+start.UTC().Format(http.TimeFormat))
		client, _ := scripted(t, []responder{status(429, "", usedUp...), status(200, "[]")})
		require.NoError(t, list(client), "without a limiter, too")
		assert.GreaterOrEqual(t, time.Since(start), time.Minute)
	})
}

func TestRetrySendsTheBodyAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, service := scripted(t, []responder{status(429, ``), fails(errRefused), status(201, onePet)})
		result, err := client.CreatePet(t.Context(), newPet())
		require.NoError(t, err)
		assert.Equal(t, 2, result.Attempts, "requests sent")
		sent := service.sent()
		for _, r := range []recorded{sent[0], sent[2]} {
			assert.Equal(t, `{"name":"Rex","categoryId":3,"status":"available"}`, r.body)
			assert.EqualValues(t, len(r.body), r.contentLength)
		}
	})
}

func TestRetryBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, service := scripted(t, []responder{status(503, ``)})
		var group sync.WaitGroup
		for range 1000 {
			group.Go(func() { _, _ = client.ListPets(t.Context(), petstore.ListPetsParams{}) })
		}
		group.Wait()
		assert.Len(t, service.sent(), 1100, "each call once, and 100 retries between them")
		require.ErrorContains(t, list(client), "503 Service Unavailable: not retried: too many retries lately")
		other, err := client.ForKey("key-of-another")
		require.NoError(t, err)
		require.Error(t, list(other))
		assert.Len(t, service.sent(), 1101+4, "another key has retries of its own")
		// A call that ends has no retry, and so takes none of those that are left.
		ended, end := context.WithCancel(t.Context())
		service.responders = []responder{func(r *http.Request) (*http.Response, error) { end(); return status(503, "")(r) }}
		third, err := client.ForKey("key-of-a-third")
		require.NoError(t, err)
		for range 200 {
			_, err = third.ListPets(ended, petstore.ListPetsParams{})
			require.ErrorIs(t, err, context.Canceled)
			ended, end = context.WithCancel(t.Context())
		}
		end()
		service.responders = []responder{status(503, "")}
		before := len(service.sent())
		require.Error(t, list(third))
		assert.Len(t, service.sent(), before+4)
		before = len(service.sent())
		service.responders = []responder{status(200, "[]")}
		for range 10 {
			require.NoError(t, list(client))
		}
		service.responders = []responder{status(503, "")}
		require.Error(t, list(client))
		assert.Len(t, service.sent(), before+10+2, "ten successes pay for a retry")
	})
}
