package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestClock(t *testing.T) {
	t.Parallel()
	t.Run("starts at the time of the flag", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			i := newTestInstance(t, "-clock", "2030-12-04T23:59:00Z", "-variant", "removal=on")
			i.call("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`)
			assert.Equal(t, 200, i.status("GET", "/v1/pets/1", ""))
			time.Sleep(time.Minute)
			assert.Equal(t, 404, i.status("GET", "/v1/pets/1", ""), "removed on 5 December 2030")
			set := i.object("PUT", "/_fake/clock", `{"time":"2030-12-01T01:00:00+01:00"}`)
			assert.Equal(t, "2030-12-01T00:00:00Z", set["now"])
			assert.Equal(t, 200, i.status("GET", "/v1/pets/1", ""))
		})
	})
	t.Run("advances past a window", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t, "-plan", "enterprise:1,0")
		assert.Equal(t, 200, i.status("GET", "/v1/pets", ""))
		assert.Equal(t, 429, i.status("GET", "/v1/pets", ""))
		assert.Equal(t, "0s", i.object("GET", "/_fake/clock", "")["advanced"])
		assert.Equal(t, "1m0s", i.object("POST", "/_fake/clock", `{"advance":"1m"}`)["advanced"])
		assert.Equal(t, 200, i.status("GET", "/v1/pets", ""))
	})
	t.Run("stays within its range", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t)
		i.object("PUT", "/_fake/clock", `{"time":"2291-12-31T23:59:59Z"}`)
		assert.Equal(t, 400, i.status("POST", "/_fake/clock", `{"advance":"1s"}`))
		assert.Equal(t, 400, i.status("POST", "/_fake/clock", `{"advance":"876001h"}`))
		assert.Equal(t, 200, i.status("GET", "/v1/pets", ""))
	})
}

func TestLatency(t *testing.T) {
	t.Parallel()
	t.Run("holds back only the service", func(t *testing.T) {
		t.Parallel()
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
	})
	t.Run("is changed", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t, "-latency", "2ms")
		assert.Equal(t, "2ms", i.object("GET", "/_fake/latency", "")["latency"])
		assert.Equal(t, "1s", i.object("PUT", "/_fake/latency", `{"latency":"1s"}`)["latency"])
		assert.Equal(t, "0s", i.object("PUT", "/_fake/latency", `{"latency":"0s"}`)["latency"])
		for _, body := range []string{`{"latency":"-1s"}`, `{"latency":"x"}`, `{"delay":"1s"}`, `{}`, ``} {
			w := i.call("PUT", "/_fake/latency", body)
			assert.Equal(t, 400, w.Code, body)
			assert.Contains(t, w.Body.String(), `{"error":"`)
		}
	})
}

func TestMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newTestInstance(t, "-plan", "enterprise:1,0", "-minute", "2s")
		assert.Equal(t, 200, i.status("GET", "/v1/pets", ""))
		limited := i.call("GET", "/v1/pets", "")
		assert.Equal(t, 429, limited.Code)
		assert.Equal(t, "2", limited.Header().Get("Retry-After"))
		time.Sleep(2 * time.Second)
		assert.Equal(t, 200, i.status("GET", "/v1/pets", ""))
	})
}
