package fake_test

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

func TestBubble(t *testing.T) {
	t.Run("one server serves one bubble after another", func(t *testing.T) {
		srv := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree))
		for i := range 3 {
			synctest.Test(t, func(t *testing.T) {
				d := viaMemory(t, srv)
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
	t.Run("Transport works there, too", func(t *testing.T) {
		srv := fake.NewTestServer(t)
		synctest.Test(t, func(t *testing.T) {
			srv.Inject(fake.Fault{Delay: time.Hour})
			start := time.Now()
			assert.Equal(t, http.StatusOK, viaTransport(t, srv).list(t).status)
			assert.Equal(t, time.Hour, time.Since(start))
		})
	})
	t.Run("may end before a server from outside is closed", func(t *testing.T) {
		srv := fake.NewTestServer(t)
		synctest.Test(t, func(t *testing.T) {
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() { viaMemory(t, srv).list(t) })
			}
			wg.Wait()
		})
	})
	t.Run("several at a time may share a server", func(t *testing.T) {
		srv := fake.NewTestServer(t)
		t.Run("bubbles", func(t *testing.T) {
			for range 4 {
				t.Run("", func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						for range 20 {
							srv.Inject(fake.Fault{Delay: time.Second})
							assert.Equal(t, http.StatusOK, viaMemory(t, srv).list(t).status)
							assert.Equal(t, http.StatusOK, viaTransport(t, srv).list(t).status)
							time.Sleep(time.Second)
						}
					})
				})
			}
		})
	})
}
