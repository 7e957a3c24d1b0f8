package fake_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestClose(t *testing.T) {
	t.Run("a closed server refuses connections", func(t *testing.T) {
		srv := fake.NewServer()
		srv.Close()
		srv.Close()
		_, err := viaMemory(t, srv).try(t, create("Rex"))
		assert.ErrorIs(t, err, syscall.ECONNREFUSED)
		opErr, ok := err.(*url.Error).Err.(*net.OpError) // this very type is promised
		require.True(t, ok)
		assert.Equal(t, "dial", opErr.Op)
		rec := httptest.NewRecorder()
		srv.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/v1/pets", nil))
		assert.Equal(t, http.StatusServiceUnavailable, rec.Code)
		assert.Empty(t, srv.Requests())
	})
	// Each leaves something open, and returns what ends it after Close.
	stall := func(t *testing.T, srv *fake.Server, d entryPoint) func() {
		stalled := srv.Inject(fake.Fault{Wire: fake.WireStall})
		done := make(chan error)
		req := request{path: "/pets"}.build(t, d.base)
		go func() {
			_, err := d.do(req)
			done <- err
		}()
		require.Eventually(t, func() bool { return stalled.Fired() == 1 }, time.Minute, time.Millisecond)
		return func() { assert.Error(t, <-done) }
	}
	hang := func(t *testing.T, srv *fake.Server, d entryPoint) func() {
		release := make(chan bool)
		srv.Inject(fake.Fault{Match: func(*http.Request) bool { return <-release }})
		req := request{path: "/pets"}.build(t, d.base)
		go func() { _, _ = d.do(req) }()
		synctest.Wait()
		return func() { close(release) }
	}
	leak := func(t *testing.T, _ *fake.Server, d entryPoint) func() {
		resp, err := d.client.Do(request{path: "/pets?status=sold"}.build(t, d.base))
		require.NoError(t, err)
		return func() { _ = resp.Body.Close() }
	}
	for name, c := range map[string]struct {
		leave func(*testing.T, *fake.Server, entryPoint) func()
		said  string
	}{
		"a stalled request":    {stall, "at Close a request was still in progress: GET /v1/pets"},
		"a handler that hangs": {hang, "at Close a request was still in progress: GET /v1/pets"},
		"a leaked body":        {leak, "at Close a response body was never closed: GET /v1/pets"},
	} {
		for _, opts := range [][]fake.Option{nil, with(fake.WithStrict())} {
			t.Run(name+" is broken off within a second and named, which fails a strict test", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					tb := &recorder{}
					srv := fake.NewTestServer(tb, opts...)
					end := c.leave(t, srv, viaMemory(t, srv))
					start := time.Now()
					tb.end()
					assert.LessOrEqual(t, time.Since(start), time.Second)
					end()
					assert.Equal(t, opts != nil, strings.Contains(tb.errors.String(), c.said))
					assert.Equal(t, 1, strings.Count(tb.log.String()+tb.errors.String(), "at Close"))
				})
			})
		}
	}
	t.Run("ends a stalled request of the port", func(t *testing.T) {
		srv := fake.NewServer()
		end := stall(t, srv, viaURL(t, srv))
		srv.Close()
		end()
	})
	for entry, open := range map[string]func(testing.TB, *fake.Server) entryPoint{"memory": viaMemory, "loopback": viaURL} {
		t.Run("lets a request in flight finish/"+entry, func(t *testing.T) {
			for range 100 { // Close may look at any moment between the handler and the last byte
				srv := fake.NewServer()
				d := open(t, srv)
				entered, release := make(chan bool), make(chan bool)
				srv.Inject(fake.Fault{Match: func(*http.Request) bool {
					entered <- true
					<-release
					return false
				}})
				status := make(chan int)
				req := request{path: "/pets"}.build(t, d.base)
				go func() {
					r, _ := d.do(req)
					status <- r.status
				}()
				<-entered
				closed := make(chan bool)
				go func() {
					srv.Close()
					close(closed)
				}()
				close(release)
				require.Equal(t, http.StatusOK, <-status)
				<-closed
			}
		})
	}
	t.Run("fails calls at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			srv := fake.NewTestServer(t)
			client := srv.Client()
			srv.Close()
			start := time.Now()
			_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
			require.ErrorContains(t, err, "fake: the server is closed")
			_, err = client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 1})
			require.ErrorContains(t, err, "fake: the server is closed")
			assert.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
			assert.Zero(t, time.Since(start), "no attempt is repeated")
		})
	})
	t.Run("ends WaitForRequests", func(t *testing.T) {
		srv := fake.NewServer()
		waited := make(chan error)
		go func() { waited <- srv.WaitForRequests(context.Background(), 1) }()
		srv.Close()
		require.ErrorIs(t, <-waited, net.ErrClosed)
		require.ErrorIs(t, srv.WaitForRequests(context.Background(), 1), net.ErrClosed)
		assert.NoError(t, srv.WaitForRequests(context.Background(), 0))
	})
	t.Run("Close does not wait for half a header", func(t *testing.T) {
		srv := fake.NewServer()
		defer srv.Close()
		conn := dialRaw(t, srv.URL())
		_, err := io.WriteString(conn, "GET /v1/pets HTTP/1.1\r\nHost:")
		require.NoError(t, err)
		srv.Close()
		_, err = conn.Read(make([]byte, 1))
		assert.Error(t, err)
	})
}
