package petstore_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
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

// remove is a write without a body.
func remove(c *petstore.Client, opts ...petstore.CallOption) error {
	_, err := c.Do(context.Background(), http.MethodDelete, "pets/7", nil, nil, opts...)
	return err
}

func withRemove() map[string]sample {
	all := maps.Clone(samples)
	all["remove"] = sample{call: remove, writes: true}
	return all
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
		require.ErrorContains(t, list(client), "503 Service Unavailable")
		assert.Len(t, service.sent(), 1101, "and then none")
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

// cutOffSuccess cuts off the documented success.
func cutOffSuccess(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		return cutOff(201, errReset)(r)
	}
	return cutOff(200, errReset)(r)
}

// TestRetryTable compares what the client does with the table in its documentation. It must have each
// row of that table, and each status must be in one of the rows.
func TestRetryTable(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(doc), "//\tresponse or failure ")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n//\n")
	statuses := func(in func(code int) bool) (all []responder) {
		for code := 200; code < 600; code++ {
			if in(code) && code != 200 && code != 201 {
				all = append(all, status(code, ""))
			}
		}
		return all
	}
	again := func(code int) bool { return code == 408 || code >= 500 && code != 501 }
	rows := map[string][]responder{
		"429":                                    {status(429, "")},
		"408, 5xx other than 501":                statuses(again),
		"3xx, never followed":                    statuses(func(code int) bool { return code/100 == 3 }),
		"other 4xx, 501":                         statuses(func(code int) bool { return code >= 400 && code != 429 && !again(code) }),
		"a 2xx that is not the documented one":   statuses(func(code int) bool { return code/100 == 2 }),
		"reset, cut off, attempt timed out":      {fails(errReset), cutOffSuccess, hangs},
		"nothing was written, as a refused dial": {fails(errRefused)},
		"unknown host, TLS certificate of either": {
			fails(&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}),
			fails(&net.OpError{Op: "dial", Err: &tls.CertificateVerificationError{Err: io.EOF}}),
		},
		"a response that is not HTTP": {fails(errNotHTTP)},
	}
	for _, row := range strings.Split(table, "\n//\t")[1:] {
		name := strings.TrimSpace(row[:42])
		require.NotEmpty(t, rows[name], "%q is not in this test", name)
		for _, respond := range rows[name] {
			for call, says := range map[string]string{"listPets": row[42:64], "createPet": row[64:], "remove": row[64:]} {
				synctest.Test(t, func(t *testing.T) {
					client, service := scripted(t, []responder{respond})
					err := withRemove()[call].call(client)
					if err == nil || call == "remove" && name == "a 2xx that is not the documented one" {
						return // any 2xx is the success of a request of Do
					}
					assert.Equal(t, strings.Contains(says, "again"), len(service.sent()) > 1, "%s of %s: %v", name, call, err)
					assert.Equal(t, strings.HasPrefix(name, "nothing") || strings.HasPrefix(name, "unknown"), errors.Is(err, petstore.ErrNotSent))
					assert.Equal(t, strings.Contains(says, "ErrOutcomeUnknown"), errors.Is(err, petstore.ErrOutcomeUnknown), "%s: %v", name, err)
				})
			}
		}
		delete(rows, name)
	}
	assert.Empty(t, rows, "the table lacks rows")
}

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := func(d time.Duration) error { return &petstore.RateLimitError{RetryAt: time.Now().Add(d)} }
		busy := &petstore.APIError{RetryAfter: 1500 * time.Millisecond, Response: petstore.Response{StatusCode: 503}}
		for name, row := range map[string]struct {
			err    error
			after  time.Duration
			header string // in whole seconds; empty if the time is not known
		}{
			"a refusal":             {err: refused(1001 * time.Millisecond), after: 1001 * time.Millisecond, header: "2"},
			"its time has passed":   {err: refused(-time.Hour), header: "1"},
			"its time is not known": {err: &petstore.RateLimitError{}},
			"the longest time":      {err: refused(math.MaxInt64), after: math.MaxInt64, header: "9223372037"},
			"a 503":                 {err: busy, after: 1500 * time.Millisecond, header: "2"},
			"wrapped":               {err: fmt.Errorf("import: %w", busy), after: 1500 * time.Millisecond, header: "2"},
			"a 429 within":          {err: &petstore.RateLimitError{Err: busy}, after: 1500 * time.Millisecond, header: "2"},
			"a 503 without":         {err: &petstore.APIError{}},
			"another error":         {err: errReset},
			"none":                  {},
		} {
			after, known := petstore.RetryAfter(row.err)
			header, ok := petstore.RetryAfterHeader(row.err)
			assert.Equal(t, row.header != "", known, name)
			assert.Equal(t, row.header != "", ok, name)
			assert.Equal(t, row.after, after, name)
			assert.Equal(t, row.header, header, name)
		}
	})
	virtual(t, "counts down, and knows nothing of what may have been carried out", func(t *testing.T) {
		client, _ := scripted(t, []responder{status(503, "", "Retry-After: 30")}, petstore.WithMaxWait(0))
		err := list(client)
		for _, want := range []time.Duration{30 * time.Second, 10 * time.Second, 0} {
			left, ok := petstore.RetryAfter(err)
			assert.True(t, ok)
			assert.Equal(t, want, left)
			time.Sleep(20 * time.Second)
		}
		_, ok := petstore.RetryAfter(create(client))
		assert.False(t, ok)
	})
}
