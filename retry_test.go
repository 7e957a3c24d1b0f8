package petstore_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
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

// TestRetryBudget has an outage: all calls of a key together have a hundred retries, and then none.
func TestRetryBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down, up := []responder{status(503, ``)}, []responder{status(200, "[]")}
		client, service := scripted(t, up)
		for range 20 { // they add no retry: the budget is full from the start
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
		attempts := 0
		other, err := client.ForKey("key-of-another", petstore.WithTrace(&petstore.ClientTrace{
			CallDone: func(_ context.Context, info petstore.CallDoneInfo) { attempts = info.Call.Attempt },
		}))
		require.NoError(t, err)
		// Retries after a 429 or a refused dial do not count, and a call that is given up has none.
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
			require.Equal(t, 1, attempts, "none begins after the end of the context")
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

func TestBackoff(t *testing.T) {
	for _, policy := range []petstore.RetryPolicy{
		{MaxAttempts: 6, MaxDelay: time.Minute}, {MaxAttempts: 6, BaseDelay: 3 * time.Second, MaxDelay: 10 * time.Second},
		{MaxAttempts: 3, BaseDelay: time.Hour}, {MaxAttempts: 3, MaxDelay: 10 * time.Millisecond},
	} {
		virtual(t, fmt.Sprintf("%+v doubles up to its maximum; its second half is random", policy), func(t *testing.T) {
			client, service := scripted(t, []responder{status(503, "")})
			require.Error(t, list(client, petstore.WithRetryPolicy(policy)))
			longest := cmp.Or(policy.BaseDelay, min(500*time.Millisecond, policy.MaxDelay))
			for n, r := range service.sent()[1:] {
				pause := r.at.Sub(service.sent()[n].at)
				assert.True(t, longest/2 <= pause && pause <= longest, "%v instead of %v", pause, longest)
				longest = min(2*longest, max(policy.MaxDelay, policy.BaseDelay))
			}
		})
	}
	virtual(t, "follows the Retry-After of a 503, although a 429 to another call closes the key for less", func(t *testing.T) {
		client, service := scripted(t, []responder{
			status(200, "[]", quota(60, 50, time.Minute)...),
			func(r *http.Request) (*http.Response, error) {
				time.Sleep(time.Second)
				return status(503, "", "Retry-After: 60")(r)
			}, status(429, "", "Retry-After: 10"), status(200, "[]"),
		}, petstore.WithLimiter(ratelimit.New()))
		require.NoError(t, list(client))
		time.AfterFunc(time.Millisecond, func() { assert.NoError(t, list(client)) })
		require.NoError(t, list(client))
		assert.Greater(t, service.sent()[4].at.Sub(service.sent()[1].at), time.Minute)
	})
	virtual(t, "is random after a 429, too: calls that got it together do not return together", func(t *testing.T) {
		pauses := map[time.Duration]bool{}
		for n := range 40 {
			after := []string{"Retry-After: 60", "Retry-After: 0"}[n%2]
			client, service := scripted(t, []responder{status(429, "", after), status(200, "[]")})
			require.NoError(t, list(client))
			pause := service.sent()[1].at.Sub(service.sent()[0].at)
			assert.GreaterOrEqual(t, pause, 250*time.Millisecond)
			pauses[pause] = true
		}
		assert.Greater(t, len(pauses), 20)
	})
}

// TestRetryTable compares what the client does with the table in its documentation. The test has
// each row of that table, and for each status, responses with different bodies.
func TestRetryTable(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(doc), "//\tresponse or failure ")
	table, _, _ = strings.Cut(table, "\n//\n")
	rows := retryRows()
	for _, line := range strings.Split(table, "\n//\t")[1:] {
		columns := regexp.MustCompile("  +").Split(line, -1)
		require.Len(t, columns, 3, line)
		name := columns[0]
		require.Contains(t, rows, name, "a row of doc.go")
		notSent := slices.Contains([]string{"nothing written, such as a refused dial", "unknown host, refused certificate"}, name)
		for what, respond := range rows[name] {
			for operation, sample := range samples {
				virtual(t, name+"/"+operation+" that meets "+what, func(t *testing.T) {
					says := columns[1]
					if sample.writes {
						says = columns[2]
					}
					client, service := scripted(t, []responder{respond})
					err := sample.call(client)
					text := fmt.Sprintf("doc.go: %q", says)
					doubt := strings.Contains(says, "ErrOutcomeUnknown")
					require.Error(t, err, text)
					require.Equal(t, strings.Contains(says, "again"), len(service.sent()) > 1, text)
					require.Equal(t, doubt, errors.Is(err, petstore.ErrOutcomeUnknown), text)
					require.Equal(t, doubt, strings.Contains(err.Error(), "may have been"), text)
					require.Equal(t, notSent, errors.Is(err, petstore.ErrNotSent), text)
				})
			}
		}
		delete(rows, name)
	}
	assert.Empty(t, rows, "the table lacks rows")
}

// retryRows has the rows of the table in doc.go. A row has responders by what happens to a request.
func retryRows() map[string]map[string]responder {
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
	otherSuccess := bodies(func(code int) bool { return code/100 == 2 && code > 201 })
	otherSuccess["the documented status with a page"] = success("<html>", io.EOF)
	otherSuccess["the documented status without a body"] = success("", io.EOF)
	return map[string]map[string]responder{
		"429":                               bodies(func(code int) bool { return code == 429 }),
		"408, 5xx other than 501":           bodies(again),
		"3xx, never followed":               bodies(func(code int) bool { return code/100 == 3 }),
		"other 4xx, 501":                    bodies(final),
		"a 2xx with another status or body": otherSuccess,
		"reset, cut off, attempt timed out": {
			"a reset": fails(errReset), "silence": hangs, "a success that is cut off": success("[", errReset),
		},
		"nothing written, such as a refused dial": {
			"a refused dial": fails(errRefused), "no route": noRoute.RoundTrip, "no route, after a dump": dumped,
		},
		"unknown host, refused certificate": {
			"an unknown host":          dial(&net.DNSError{IsNotFound: true}),
			"the server's certificate": dial(&tls.CertificateVerificationError{Err: io.EOF}),
			"our certificate":          fails(&net.OpError{Op: "remote error", Err: tls.AlertError(116)}),
			"an open circuit breaker":  fails(petstore.ErrNotSent),
		},
		"a response that is not HTTP": {"a mail server": fails(errNotHTTP)},
	}
}

// bodies returns three responses for each status: without a body, cut off, and without an end.
func bodies(in func(code int) bool) map[string]responder {
	all := map[string]responder{}
	for code := 200; code < 600; code++ {
		if in(code) {
			all[fmt.Sprintf("a %d without a body", code)] = status(code, "", "Location: https://elsewhere.test/v1/pets")
			all[fmt.Sprintf("a %d that is cut off", code)] = cutOff("[", code, errReset)
			all[fmt.Sprintf("a %d that does not end", code)] = stalls(code)
		}
	}
	return all
}

// success responds with the documented status and a body that ends with end, such as io.EOF.
func success(body string, end error) responder {
	return func(r *http.Request) (*http.Response, error) {
		code := http.StatusOK
		if r.Method == http.MethodPost {
			code = http.StatusCreated
		}
		return cutOff(body, code, end)(r)
	}
}
