package fake_test

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/faketest"
	"github.com/petstore/petstore-go/internal/testkit"
)

func TestURL(t *testing.T) {
	testkit.Loopback(t)
	srv := fake.NewServer()
	synctest.Test(t, func(t *testing.T) {
		assert.PanicsWithValue(t, "fake: URL: a goroutine that reads from a socket stops the time of a"+
			" testing/synctest bubble; use Client or HTTPClient in a bubble", func() { srv.URL() })
	})
	address := srv.URL()
	assert.Regexp(t, `^http://(127\.0\.0\.1|\[::1\]):\d+/v1$`, address)
	srv.Close()
	_, err := http.Get(address)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	assert.Equal(t, address, srv.URL())
	unused := fake.NewServer()
	unused.Close()
	assert.PanicsWithValue(t, "fake: URL: the server is closed", func() { unused.URL() })
}

func TestClient(t *testing.T) {
	srv, other := open(t), open(t, fake.WithKey("second-key", fake.PlanFree))
	second := petstore.WithAPIKeyFunc(func(context.Context) (string, error) { return "second-key", nil })
	client := srv.Client(second, petstore.WithHTTPClient(other.client)) // options override the defaults
	_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	assert.Equal(t, 2, other.last(t).Key)
}

// One server, with one transport, serves one bubble after another.
func TestBubbles(t *testing.T) {
	srv := open(t, fake.WithPlan(fake.Plan{PerMinute: 3}))
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			n, limited := srv.admitted(t)
			assert.Equal(t, 3, n)
			assert.Equal(t, "60", limited.header.Get("Retry-After"))
			time.Sleep(time.Minute)
			assert.Equal(t, http.StatusOK, srv.list(t).status)
		})
	}
	var used *fake.Server
	faketest.Bubble(t, func(_ *testing.T, srv *fake.Server) { used = srv })
	_, err := used.Client().ListPets(t.Context(), petstore.ListPetsParams{})
	assert.ErrorIs(t, err, petstore.ErrNotSent, "the bubble has closed its server")
}

func TestClose(t *testing.T) {
	inBubble(t, "refuses connections and fails calls at once", func(t *testing.T, srv server) {
		client, start := srv.Client(), time.Now()
		assert.NotEmpty(t, client.KeyID(), "as of any client with one key")
		srv.client.Transport.(*http.Transport).DisableKeepAlives = false
		srv.Inject(fake.Fault{Wire: fake.WireReset})
		_, err := srv.try(t, create("Rex"))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		srv.list(t)               // this connection is kept
		defer srv.dial(t).Close() // this one gets no request
		synctest.Wait()
		srv.Close()
		srv.Close()
		synctest.Wait()
		_, err = srv.try(t, create("Rex"))
		require.ErrorContains(t, err, "fake: the server is closed")
		assert.Equal(t, "dial", err.(*url.Error).Err.(*net.OpError).Op, "this very type is promised")
		_, err = client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 1})
		require.ErrorIs(t, err, petstore.ErrNotSent)
		require.ErrorContains(t, err, "fake: the server is closed")
		assert.Less(t, time.Since(start), time.Millisecond, "nothing is left to wait for, and no attempt is repeated")
		require.ErrorIs(t, srv.WaitForRequests(t.Context(), 3), http.ErrServerClosed)
		assert.PanicsWithValue(t, http.ErrAbortHandler, func() { srv.serve(t) })
		assert.Len(t, srv.Requests(), 2)
	})
	hang := func(*http.Request) bool { time.Sleep(time.Minute); return true }
	for name, fault := range map[string]fake.Fault{
		"a stalled request":    {Wire: fake.WireStall},
		"a handler that hangs": {Match: hang},
		"a leaked body":        {Body: make([]byte, 1<<20)},
	} {
		inBubble(t, name+" is broken off within a second", func(t *testing.T, srv server) {
			srv.Inject(fault)
			go func() {
				resp, err := srv.client.Do(request{path: "/pets"}.build(t, srv.base))
				if assert.Equal(t, fault.Body != nil, err == nil); err == nil {
					time.Sleep(time.Minute)
					_ = resp.Body.Close()
				}
			}()
			waited := make(chan error, 1)
			go func() { waited <- srv.WaitForRequests(t.Context(), 2) }()
			synctest.Wait()
			start := time.Now()
			srv.Close()
			assert.LessOrEqual(t, time.Since(start), time.Second)
			assert.ErrorIs(t, <-waited, http.ErrServerClosed)
			time.Sleep(time.Hour) // until both goroutines have ended
		})
	}
	inBubble(t, "returns when the goroutines of the server have ended", func(t *testing.T, srv server) {
		var ended atomic.Bool
		srv.Inject(fake.Fault{Match: func(r *http.Request) bool {
			<-r.Context().Done()
			time.Sleep(time.Second / 10)
			ended.Store(true)
			return true
		}})
		go func() { _, _ = srv.try(t, request{path: "/pets"}) }()
		synctest.Wait()
		srv.Close()
		assert.True(t, ended.Load())
	})
	for entry, reach := range entryPoints {
		t.Run("lets a request in flight finish/"+entry, func(t *testing.T) {
			for range 100 { // Close may come at any moment between the end of the handler and the last byte
				srv := reach(t, fake.NewServer(fake.WithLatency(time.Millisecond)))
				var wg sync.WaitGroup
				srv.Inject(fake.Fault{Match: func(*http.Request) bool { wg.Go(srv.Close); return false }})
				require.Equal(t, http.StatusOK, srv.list(t).status)
				wg.Wait()
			}
		})
	}
}
