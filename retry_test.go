package petstore_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
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
	for _, row := range []struct {
		name             string
		respond          responder
		reads, create    int // requests
		unknown, invalid bool
	}{
		{"404", status(404, ``), 1, 1, false, false},
		{"429", status(429, ``), 4, 4, false, false},
		{"503", status(503, ``), 4, 1, true, false},
		{"3xx", status(307, ``, "Location: https://elsewhere.test/v1/pets"), 1, 1, true, false},
		{"a documented status of another kind", status(206, `[]`), 1, 1, true, true},
		{"connection reset", fails(errReset), 4, 1, true, false},
		{"cut off", cutOff(200, io.ErrUnexpectedEOF), 4, 1, true, true},
		{"dial refused", fails(errRefused), 4, 4, false, false},
		{"not HTTP", fails(errors.New(`malformed HTTP response "hello"`)), 1, 1, true, true},
		{"neither a response nor an error", func(*http.Request) (*http.Response, error) { return nil, nil }, 1, 1, true, false},
		{"a response without a header", func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusNotFound}, nil
		}, 1, 1, false, false},
		{"not HTTP, as the attempt times out", func(*http.Request) (*http.Response, error) {
			time.Sleep(31 * time.Second)
			return nil, errors.New(`malformed HTTP response "220 mail.test ESMTP"`)
		}, 1, 1, true, true},
	} {
		for operation, call := range operations {
			virtual(t, row.name+" to "+operation, func(t *testing.T) {
				client, service := scripted(t, []responder{row.respond})
				err := call(client)
				require.Error(t, err)
				want := row.reads
				if samples[operation].writes {
					want = row.create
				}
				assert.Len(t, service.sent(), want)
				assert.Equal(t, row.unknown && samples[operation].writes, errors.Is(err, petstore.ErrOutcomeUnknown), "%v", err)
				assert.Equal(t, row.invalid, errors.Is(err, petstore.ErrInvalidResponse), "%v", err)
				assert.NotErrorIs(t, err, context.DeadlineExceeded)
				assert.NotContains(t, err.Error(), "giving up")
				assert.Equal(t, row.name == "dial refused", errors.Is(err, petstore.ErrNotSent), "%v", err)
				if row.name == "dial refused" {
					want = 0 // none was sent
					assert.ErrorContains(t, err, "(4 tries)")
				}
				assert.EqualValues(t, want, reflect.ValueOf(err).Elem().FieldByName("Attempts").Int())
			})
		}
	}
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
	})
}
