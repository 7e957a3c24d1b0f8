package fake_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
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
	inBubble(t, "refuses connections and fails calls at once", nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		client, start := srv.Client(), time.Now()
		srv.Close()
		srv.Close()
		_, err := d.try(t, create("Rex"))
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		opErr, ok := err.(*url.Error).Err.(*net.OpError) // this very type is promised
		require.True(t, ok)
		assert.Equal(t, "dial", opErr.Op)
		_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.ErrorContains(t, err, "fake: the server is closed")
		_, err = client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 1})
		require.ErrorIs(t, err, petstore.ErrNotSent)
		assert.Zero(t, time.Since(start), "no attempt is repeated")
		assert.PanicsWithValue(t, http.ErrAbortHandler, func() {
			srv.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/pets", nil))
		})
		assert.Empty(t, srv.Requests())
	})
	for name, c := range map[string]struct {
		fault fake.Fault
		leak  bool // the response's body stays open
	}{
		"a stalled request": {fault: fake.Fault{Wire: fake.WireStall}},
		"a handler that hangs": {fault: fake.Fault{Match: func(r *http.Request) bool {
			time.Sleep(time.Minute)
			return true
		}}},
		"a leaked body": {fault: fake.Fault{Body: make([]byte, 1<<20)}, leak: true},
	} {
		inBubble(t, name+" is broken off within a second", with(fake.WithStrict()), func(t *testing.T, srv *fake.Server, d entryPoint) {
			srv.Inject(c.fault)
			go func() {
				resp, err := d.client.Do(request{path: "/pets"}.build(t, d.base))
				if assert.Equal(t, c.leak, err == nil); c.leak {
					time.Sleep(time.Minute)
					_ = resp.Body.Close()
				}
			}()
			synctest.Wait()
			assert.Equal(t, !c.leak, strings.HasSuffix(lastRequest(t, srv).String(), "no response yet"))
			start := time.Now()
			srv.Close()
			assert.LessOrEqual(t, time.Since(start), time.Second)
			time.Sleep(time.Hour) // until all has ended
		})
	}
	for entry, open := range entryPoints {
		t.Run("lets a request in flight finish/"+entry, func(t *testing.T) {
			for range 100 { // Close may come at any moment between the end of the handler and the last byte
				srv := fake.NewServer()
				d := open(t, srv)
				var wg sync.WaitGroup
				srv.Inject(fake.Fault{Match: func(*http.Request) bool { wg.Go(srv.Close); return false }})
				require.Equal(t, http.StatusOK, d.list(t).status)
				wg.Wait()
			}
		})
	}
	inBubble(t, "waits for a request that ends soon", nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		srv.SetLatency(300 * time.Millisecond)
		go func() { assert.Equal(t, http.StatusOK, d.list(t).status) }()
		synctest.Wait()
		srv.Close()
		synctest.Wait()
	})
	t.Run("ends WaitForRequests", func(t *testing.T) {
		srv := fake.NewServer()
		time.AfterFunc(0, srv.Close)
		require.ErrorIs(t, srv.WaitForRequests(context.Background(), 1), net.ErrClosed)
		assert.NoError(t, srv.WaitForRequests(context.Background(), 0))
	})
}

func TestNewTestServer(t *testing.T) {
	t.Run("closes itself, and says nothing about success", func(t *testing.T) {
		tb := &recorder{}
		_, d := open(tb)
		d.send(t, request{path: "/pets/1"}) // a violation, but the test is not strict
		tb.end()
		assert.Empty(t, tb.errors.String()+tb.log.String())
		_, err := d.try(t, request{path: "/pets"})
		assert.Error(t, err)
	})
	inBubble(t, "prints the journal of a failed test", nil, func(t *testing.T, _ *fake.Server, _ entryPoint) {
		tb := &recorder{}
		srv, d := open(tb)
		d.send(t, create("Rex"))
		srv.Advance(1500 * time.Millisecond)
		d.send(t, request{path: "/pets?limit=0&key=k"})
		srv.Inject(fake.Fault{Wire: fake.WireClose})
		_, err := d.try(t, request{path: "/pets"})
		require.Error(t, err)
		tb.Errorf("something else")
		tb.end()
		assert.Equal(t, `fake: the server of TestImport served 3 requests
	+0s #1 POST /v1/pets "{\"name\":\"Rex\",\"categoryId\":1}" → 201
	+1.5s #2 GET /v1/pets?limit=0&key=k → 400: listPets: limit is "0"; it must be an integer from 1 to 100 (section 4.1)
	+1.5s #3 GET /v1/pets → no response, by a fault: injected fault by close
`, tb.log.String())
	})
	t.Run("a fault that never struck fails the test", func(t *testing.T) {
		tb := &recorder{}
		srv, d := open(tb)
		srv.Inject(fake.Fault{Operation: petstore.OpCreatePet, Status: 500})
		srv.Inject(fake.Fault{Wire: fake.WireReset, Skip: 2})
		srv.Inject(fake.Fault{Status: 502}).Remove()
		srv.Inject(fake.Fault{Status: 503, Chance: 1e-9, Times: fake.Forever})
		srv.Inject(fake.Fault{Status: 504, Times: 9, Skip: 1})
		d.list(t)
		assert.Equal(t, 504, d.list(t).status)
		tb.end()
		assert.Equal(t, `fake: an injected fault never struck: fault on createPet with status 500; 0 fitting requests came, Skip is 0
fake: an injected fault never struck: fault by reset; 2 fitting requests came, Skip is 2
`, tb.errors.String())
	})
}
