package fake_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
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
		for _, d := range []entryPoint{viaMemory(t, srv), viaMemory(t, srv)} {
			_, err := d.try(t, create("Rex"))
			assert.ErrorIs(t, err, syscall.ECONNREFUSED)
			opErr, ok := err.(*url.Error).Err.(*net.OpError) // this very type is promised
			require.True(t, ok)
			assert.Equal(t, "dial", opErr.Op)
		}
		rec := httptest.NewRecorder()
		srv.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/v1/pets", nil))
		assert.Equal(t, http.StatusServiceUnavailable, rec.Code)
		assert.Empty(t, srv.Requests())
	})
	t.Run("breaks off a leaked body within a second and names it, which fails a strict test", func(t *testing.T) {
		for _, opts := range [][]fake.Option{nil, with(fake.WithStrict())} {
			synctest.Test(t, func(t *testing.T) {
				tb := &recorder{}
				srv := fake.NewTestServer(tb, opts...)
				resp, err := srv.HTTPClient().Do(request{path: "/pets?status=sold"}.build(t, "http://service.test/v1"))
				require.NoError(t, err)
				start := time.Now()
				tb.end()
				assert.LessOrEqual(t, time.Since(start), time.Second)
				assert.Equal(t, opts != nil, tb.Failed())
				assert.Contains(t, tb.log.String()+tb.errors.String(), "a response body was never closed: GET /v1/pets")
				_ = resp.Body.Close()
			})
		}
	})
	t.Run("ends a stalled request and names it", func(t *testing.T) {
		// wait waits until the request is stalled, and limit is the longest time that Close may take.
		ends := func(t *testing.T, open func(testing.TB, *fake.Server) entryPoint, wait func(*fake.Injection), limit time.Duration) {
			tb := &recorder{}
			srv := fake.NewTestServer(tb)
			d := open(t, srv)
			stalled := srv.Inject(fake.Fault{Wire: fake.WireStall})
			done := make(chan error)
			req := request{path: "/pets"}.build(t, d.base)
			go func() {
				_, err := d.do(req)
				done <- err
			}()
			wait(stalled)
			start := time.Now()
			tb.end()
			assert.Error(t, <-done)
			assert.LessOrEqual(t, time.Since(start), limit)
			assert.Contains(t, tb.log.String(), "a request was still in progress: GET /v1/pets")
		}
		inBubble := func(*fake.Injection) { synctest.Wait() }
		t.Run("memory", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { ends(t, viaMemory, inBubble, time.Second) })
		})
		t.Run("loopback", func(t *testing.T) {
			ends(t, viaURL, func(stalled *fake.Injection) {
				require.Eventually(t, func() bool { return stalled.Fired() == 1 }, time.Minute, time.Millisecond)
			}, time.Hour) // in real time, as long as a busy machine needs
		})
	})
	t.Run("lets a request in flight finish", func(t *testing.T) {
		srv := fake.NewServer()
		d := viaURL(t, srv)
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
		assert.Equal(t, http.StatusOK, <-status)
		<-closed
	})
	t.Run("gives up on a handler that hangs and names it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tb := &recorder{}
			srv := fake.NewTestServer(tb)
			release := make(chan bool)
			srv.Inject(fake.Fault{Match: func(*http.Request) bool { return <-release }})
			d := viaMemory(t, srv)
			req := request{path: "/pets"}.build(t, d.base)
			go func() { _, _ = d.do(req) }()
			synctest.Wait()
			start := time.Now()
			tb.end()
			assert.LessOrEqual(t, time.Since(start), time.Second)
			assert.Contains(t, tb.log.String(), "a request was still in progress: GET /v1/pets")
			assert.NotContains(t, tb.log.String(), "never closed")
			close(release)
		})
	})
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
