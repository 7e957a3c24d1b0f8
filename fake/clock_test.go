package fake_test

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

func TestClock(t *testing.T) {
	t.Run("going back starts new windows and keeps a ban", func(t *testing.T) {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		srv, d := open(t, fake.WithPlan(fake.Plan{PerMinute: 1, PerDay: 1}), fake.WithKey("banned", fake.PlanPro),
			fake.WithClock(func() time.Time { return now }))
		srv.BanKey("banned", time.Hour)
		d.list(t)
		assert.Equal(t, http.StatusTooManyRequests, d.list(t).status)
		now = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		assert.Equal(t, http.StatusOK, d.list(t).status)
		banned := request{path: "/pets", auth: "Bearer banned"}
		assert.Equal(t, http.StatusTooManyRequests, d.send(t, banned).status)
		now = now.Add(time.Hour)
		assert.Equal(t, http.StatusOK, d.send(t, banned).status)
	})
	inBubble(t, "a slow body does not look like a clock that went back",
		with(fake.WithPlan(fake.Plan{PerMinute: 2})), func(t *testing.T, srv *fake.Server, d entryPoint) {
			pr, pw := io.Pipe()
			req := request{method: http.MethodPost, path: "/pets"}.build(t, d.base)
			req.Body, req.ContentLength = pr, -1
			var wg sync.WaitGroup
			wg.Go(func() {
				r, err := d.do(req)
				assert.NoError(t, err)
				assert.Equal(t, http.StatusCreated, r.status)
			})
			time.Sleep(30 * time.Second)
			d.list(t)
			_, err := io.WriteString(pw, create("Rex").body)
			require.NoError(t, err)
			require.NoError(t, pw.Close())
			wg.Wait()
			assert.Equal(t, 2, srv.Usage(srv.APIKey()).Minute)
			assert.Equal(t, http.StatusTooManyRequests, d.list(t).status)
		})
	t.Run("going back by a second begins no window", func(t *testing.T) {
		now := time.Unix(1_000_000_000, 100)
		srv, d := open(t, fake.WithClock(func() time.Time { return now }))
		d.list(t)
		now = now.Add(-time.Second)
		d.list(t)
		assert.Equal(t, 2, srv.Usage(srv.APIKey()).Minute)
	})
	t.Run("goes on from SetTime", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			srv := fake.NewTestServer(t)
			srv.SetTime(start)
			assert.True(t, start.Equal(srv.Now()))
			time.Sleep(time.Minute)
			assert.True(t, start.Add(time.Minute).Equal(srv.Now()), "the clock goes on")
			removal := time.Date(2030, 12, 5, 0, 0, 0, 0, time.UTC)
			srv.SetTime(removal)
			srv.Advance(time.Second)
			assert.True(t, removal.Add(time.Second).Equal(srv.Now()))
			r := viaMemory(t, srv).list(t)
			assert.Equal(t, "Thu, 05 Dec 2030 00:00:01 GMT", r.header.Get("Date"))
		})
	})
}
