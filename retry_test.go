package petstore_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httputil"
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
	errNotHTTP = errors.New(`malformed HTTP response "220 mail.test ESMTP"`)
	errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
)

// TestRetryBudget has an outage: calls have a hundred retries between them, and then none.
func TestRetryBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down, up := []responder{status(503, ``)}, []responder{status(200, "[]")}
		client, service := scripted(t, up)
		for range 20 { // all retries are there already
			require.NoError(t, list(client))
		}
		service.responders = down
		requests := func(f func()) int {
			before := len(service.sent())
			f()
			return len(service.sent()) - before
		}
		assert.Equal(t, 1100, requests(func() {
			var group sync.WaitGroup
			for range 1000 {
				group.Go(func() { _ = list(client) })
			}
			group.Wait()
		}), "each call once, and 100 retries between them")
		assert.Equal(t, 1, requests(func() { _ = list(client) }), "and then none")
		other, err := client.ForKey("key-of-another")
		require.NoError(t, err)
		// Who has been told to wait, sent nothing or gave up takes none of the retries.
		for range 150 {
			service.responders = []responder{func(r *http.Request) (*http.Response, error) {
				call, _ := petstore.CallFromContext(r.Context())
				return []responder{status(429, "", "Retry-After: 1"), fails(errRefused), up[0]}[call.Attempt-1](r)
			}}
			require.NoError(t, list(other))
			ctx, cancel := context.WithCancel(t.Context())
			service.responders = []responder{func(r *http.Request) (*http.Response, error) {
				cancel()
				return down[0](r)
			}}
			_, err = other.ListPets(ctx, petstore.ListPetsParams{})
			require.ErrorIs(t, err, context.Canceled)
		}
		service.responders = down
		assert.Equal(t, 4, requests(func() { _ = list(other) }), "another key has retries of its own")
		service.responders = up
		for range 10 {
			require.NoError(t, list(client))
		}
		service.responders = down
		assert.Equal(t, 2, requests(func() { _ = list(client) }), "ten successes pay for a retry")
	})
}

// The backoff doubles up to its maximum; its second half is random.
func TestBackoff(t *testing.T) {
	for _, policy := range []petstore.RetryPolicy{
		{MaxAttempts: 6, MaxDelay: time.Minute}, {MaxAttempts: 6, BaseDelay: 3 * time.Second, MaxDelay: 10 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, service := scripted(t, []responder{status(503, "")})
			require.Error(t, list(client, petstore.WithRetryPolicy(policy)))
			longest := max(policy.BaseDelay, 500*time.Millisecond)
			for n, r := range service.sent()[1:] {
				pause := r.at.Sub(service.sent()[n].at)
				assert.True(t, longest/2 <= pause && pause <= longest, "%v instead of %v", pause, longest)
				longest = min(2*longest, policy.MaxDelay)
			}
		})
	}
}

// Calls without a limiter that get their 429 together are not sent again together.
func TestRetriesAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, service := scripted(t, []responder{status(429, "", "Retry-After: 60")})
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() { _ = list(client, petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 2})) })
		}
		group.Wait()
		times := map[time.Time]bool{}
		for _, r := range service.sent()[20:] {
			times[r.at] = true
		}
		assert.Greater(t, len(times), 10)
	})
}

// TestRetryTable compares what the client does with the table in its documentation. It must have
// each row of that table, and each status must be in one of the rows, whatever happens to its body.
func TestRetryTable(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(doc), "//\tresponse or failure ")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n//\n")
	again := func(code int) bool { return code == 408 || code >= 500 && code != 501 }
	final := func(code int) bool { return code >= 400 && code != 429 && !again(code) }
	dial := func(err error) responder { return fails(&net.OpError{Op: "dial", Err: err}) }
	noRoute := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no route today")
	}}
	dumped := func(r *http.Request) (*http.Response, error) { // a transport may read the request
		_, _ = httputil.DumpRequestOut(r, true)
		return noRoute.RoundTrip(r)
	}
	rows := map[string][]responder{
		"429":                     bodies(func(code int) bool { return code == 429 }),
		"408, 5xx other than 501": bodies(again),
		"3xx, never followed":     bodies(func(code int) bool { return code/100 == 3 }),
		"other 4xx, 501":          bodies(final),
		"a 2xx with another status or body": append(
			bodies(func(code int) bool { return code/100 == 2 && code > 201 }), success("<html>"), success("")),
		"reset, cut off, attempt timed out":      {fails(errReset), cutOffSuccess, hangs},
		"nothing was written, as a refused dial": {fails(errRefused), noRoute.RoundTrip, dumped},
		"unknown host, TLS certificate of either": {
			dial(&net.DNSError{IsNotFound: true}), dial(&tls.CertificateVerificationError{Err: io.EOF}),
			fails(&net.OpError{Op: "remote error", Err: tls.AlertError(116)}), // of the server, about ours
		},
		"a response that is not HTTP": {fails(errNotHTTP)},
	}
	for _, row := range strings.Split(table, "\n//\t")[1:] {
		name := strings.TrimSpace(row[:42])
		require.NotEmpty(t, rows[name], "%q is not in this test", name)
		notSent := strings.HasPrefix(name, "nothing") || strings.HasPrefix(name, "unknown")
		for n, respond := range rows[name] {
			for operation, sample := range samples {
				synctest.Test(t, func(t *testing.T) {
					says := row[42:64]
					if sample.writes {
						says = row[64:]
					}
					client, service := scripted(t, []responder{respond})
					err, text := sample.call(client), fmt.Sprint(operation, name, n)
					require.Error(t, err, text)
					doubt := strings.Contains(says, "ErrOutcomeUnknown")
					require.Equal(t, strings.Contains(says, "again"), len(service.sent()) > 1, text)
					require.Equal(t, doubt, errors.Is(err, petstore.ErrOutcomeUnknown), text)
					require.Equal(t, doubt, strings.Contains(err.Error(), "may have been c"), text)
					require.Equal(t, notSent, errors.Is(err, petstore.ErrNotSent), text)
				})
			}
		}
		delete(rows, name)
	}
	assert.Empty(t, rows, "the table lacks rows")
}

// bodies returns responses with each status, whose body is empty, is cut off or does not end.
func bodies(in func(code int) bool) (all []responder) {
	for code := 200; code < 600; code++ {
		if in(code) {
			all = append(all, status(code, ""), cutOff(code, errReset), stalls(code))
		}
	}
	return all
}

// cutOffSuccess cuts off the documented success.
func cutOffSuccess(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		return cutOff(201, errReset)(r)
	}
	return cutOff(200, errReset)(r)
}

// success responds with the documented status, and a body.
func success(body string) responder {
	return func(r *http.Request) (*http.Response, error) {
		code := http.StatusOK
		if r.Method == http.MethodPost {
			code = http.StatusCreated
		}
		return status(code, body)(r)
	}
}

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := func(d time.Duration) error { return &petstore.RateLimitError{RetryAt: time.Now().Add(d)} }
		const busy = 1500 * time.Millisecond
		api := &petstore.APIError{RetryAfter: busy}
		for _, row := range []struct {
			err    error
			after  time.Duration
			header string // in whole seconds; empty if the time is not known
		}{
			{refused(1001 * time.Millisecond), 1001 * time.Millisecond, "2"}, {refused(-time.Hour), 0, "1"},
			{refused(math.MaxInt64), math.MaxInt64, "9223372037"}, {&petstore.RateLimitError{}, 0, ""},
			{api, busy, "2"}, {fmt.Errorf("import: %w", api), busy, "2"}, {&petstore.RateLimitError{Err: api}, busy, "2"},
			{&petstore.APIError{}, 0, ""}, {&petstore.APIError{RetryAfter: busy, OutcomeUnknown: true}, 0, ""}, {nil, 0, ""},
		} {
			after, known := petstore.RetryAfter(row.err)
			header, ok := petstore.RetryAfterHeader(row.err)
			assert.Equal(t, row.header != "", known, "%v", row.err)
			assert.Equal(t, row.header != "", ok, "%v", row.err)
			assert.Equal(t, row.after, after, "%v", row.err)
			assert.Equal(t, row.header, header, "%v", row.err)
		}
		client, _ := scripted(t, []responder{status(503, "", "Retry-After: 30")}, petstore.WithMaxWait(0))
		err := list(client)
		for _, want := range []time.Duration{30 * time.Second, 10 * time.Second, 0} {
			left, ok := petstore.RetryAfter(err)
			assert.True(t, ok)
			assert.Equal(t, want, left, "it counts down")
			time.Sleep(20 * time.Second)
		}
	})
}
