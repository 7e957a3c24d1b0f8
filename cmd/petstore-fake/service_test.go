package main

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestLatencyHoldsBackTheServiceOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newTestInstance(t, "-latency", "50ms")
		begun := time.Now()
		assert.Equal(t, 200, i.status("GET", "/v1/pets", ""))
		assert.Equal(t, 50*time.Millisecond, time.Since(begun))
		assert.Equal(t, 401, i.callAs("", "GET", "/v1/pets", "").Code)
		assert.Equal(t, 404, i.status("GET", "/nothing", ""))
		assert.Equal(t, 150*time.Millisecond, time.Since(begun))
		assert.Equal(t, 200, i.status("GET", "/_fake/requests", ""))
		assert.Equal(t, 150*time.Millisecond, time.Since(begun))
	})
}

func TestLatency(t *testing.T) {
	t.Parallel()
	t.Run("a client that leaves meanwhile is in the journal and changes nothing", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			i := newTestInstance(t, "-latency", "1h")
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			r := request(t, http.MethodPost, "/v1/pets", `{"name":"Rex","categoryId":1}`)
			r.Header.Set("Authorization", "Bearer fake-api-key")
			begun := time.Now()
			assert.Panics(t, func() { i.send(r.WithContext(ctx)) }, "the connection is gone")
			assert.Equal(t, time.Second, time.Since(begun))
			assert.Empty(t, i.srv.Pets())
			assert.Len(t, i.srv.Requests(), 1)
		})
	})
}

func TestBanFollowsRequestsAfterA429(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newTestInstance(t, "-plan", "enterprise:1,0", "-ban", "2,10m")
		for _, want := range []int{200, 429, 429} {
			assert.Equal(t, want, i.status("GET", "/v1/pets", ""))
		}
		assert.Contains(t, i.call("GET", "/v1/pets", "").Body.String(), "banned")
		time.Sleep(9 * time.Minute)
		assert.Equal(t, 429, i.status("GET", "/v1/pets", ""))
		time.Sleep(2 * time.Minute)
		assert.Equal(t, 200, i.status("GET", "/v1/pets", ""))
	})
}
