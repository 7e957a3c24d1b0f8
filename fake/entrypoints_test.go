package fake_test

import (
	"context"
	"io"
	"net"
	"net/http"
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
	"github.com/petstore/petstore-go/internal/loopback"
)

func TestEntryPoints(t *testing.T) {
	t.Run("in memory, close the body of a request that is not sent", func(t *testing.T) {
		srv, d := open(t)
		srv.Inject(fake.Fault{Wire: fake.WireRefuse})
		for _, what := range []string{"refused", "closed"} {
			body := &closeRecorder{Reader: strings.NewReader("{}")}
			req := create("Rex").build(t, d.base)
			req.Body, req.GetBody = body, nil
			resp, err := d.client.Transport.RoundTrip(req)
			if err == nil {
				resp.Body.Close()
			}
			assert.ErrorIs(t, err, syscall.ECONNREFUSED, what)
			assert.True(t, body.closed, what)
			srv.Close()
		}
	})
	t.Run("in memory, refuse a request without a URL", func(t *testing.T) {
		srv := fake.NewTestServer(t)
		resp, err := srv.HTTPClient().Transport.RoundTrip(&http.Request{Header: http.Header{}})
		if err == nil {
			resp.Body.Close()
		}
		assert.ErrorContains(t, err, "URL")
	})
	t.Run("in memory, take an empty method for GET", func(t *testing.T) {
		srv, d := open(t)
		req := request{path: "/pets"}.build(t, d.base)
		req.Method = ""
		resp, err := d.client.Transport.RoundTrip(req)
		require.NoError(t, err)
		resp.Body.Close()
		assert.Equal(t, http.StatusOK, resp.StatusCode)
		last := lastRequest(t, srv)
		assert.Equal(t, petstore.OpListPets, last.Operation)
		assert.Equal(t, http.MethodGet, last.Method)
	})
}

func TestServer(t *testing.T) {
	t.Run("nothing runs before the first request", func(t *testing.T) {
		synctest.Test(t, func(*testing.T) { // which panics if a goroutine is left
			fake.NewServer().HTTPClient()
		})
	})
}

func TestURL(t *testing.T) {
	t.Run("opens the port at its first call, and Close closes it", func(t *testing.T) {
		loopback.Host(t)
		srv := fake.NewServer()
		u, err := url.Parse(srv.URL())
		require.NoError(t, err)
		assert.Equal(t, "/v1", u.Path)
		assert.True(t, net.ParseIP(u.Hostname()).IsLoopback())
		assert.Equal(t, u.String(), srv.URL())
		srv.Close()
		_, err = net.DialTimeout("tcp", u.Host, time.Second)
		assert.ErrorIs(t, err, syscall.ECONNREFUSED)
		assert.Equal(t, u.String(), srv.URL())

		unused := fake.NewServer()
		unused.Close()
		assert.PanicsWithValue(t, "fake: URL: the server is closed", func() { unused.URL() })
	})
	t.Run("panics in a bubble", func(t *testing.T) {
		outside := fake.NewTestServer(t)
		synctest.Test(t, func(t *testing.T) {
			for _, srv := range []*fake.Server{outside, fake.NewTestServer(t)} {
				assert.PanicsWithValue(t, "fake: URL: a goroutine that reads from a socket stops the time of a"+
					" testing/synctest bubble; use Client or HTTPClient in a bubble",
					func() { srv.URL() })
			}
		})
		assert.NotEmpty(t, outside.URL())
	})
}

func TestClient(t *testing.T) {
	t.Run("may have a key that rotates", func(t *testing.T) {
		srv := fake.NewTestServer(t, fake.WithKey("second-key", fake.PlanFree))
		keys := []string{srv.APIKey(), "second-key"}
		client := srv.Client(petstore.WithAPIKeyFunc(func(context.Context) (string, error) {
			key := keys[0]
			keys = keys[1:]
			return key, nil
		}))
		for _, number := range []int{1, 2} {
			_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
			require.NoError(t, err)
			assert.Equal(t, number, lastRequest(t, srv).Key)
		}
	})
}

type closeRecorder struct {
	io.Reader
	closed bool
}

func (c *closeRecorder) Close() error {
	c.closed = true
	return nil
}

func TestBubble(t *testing.T) {
	t.Run("one server serves one bubble after another", func(t *testing.T) {
		srv := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree))
		d := viaMemory(t, srv) // with one transport for all
		for i := range 3 {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				for range fake.PlanFree.PerMinute {
					require.Equal(t, http.StatusOK, d.list(t).status)
				}
				limited := d.list(t)
				assert.Equal(t, http.StatusTooManyRequests, limited.status)
				assert.Equal(t, "60", limited.header.Get("Retry-After"))
				time.Sleep(time.Minute)
				assert.Equal(t, http.StatusOK, d.list(t).status)
				assert.Equal(t, time.Minute, time.Since(start))
			})
			assert.Equal(t, i+1, srv.Usage(srv.APIKey()).Limited)
		}
	})
	t.Run("several at a time may share a server", func(t *testing.T) {
		srv := fake.NewTestServer(t)
		d := viaMemory(t, srv)
		t.Run("bubbles", func(t *testing.T) {
			for range 4 {
				t.Run("", func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						for range 20 {
							srv.Inject(fake.Fault{Delay: time.Second})
							assert.Equal(t, http.StatusOK, d.list(t).status)
							time.Sleep(time.Second)
						}
					})
				})
			}
		})
	})
}
