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

// What the options do, package fake tests. These reach it.
func TestOptionsOfTheFake(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		test func(t *testing.T, i testInstance)
	}{
		"a delay holds back only the service": {[]string{"-fault", "delay=50ms,times=forever"}, func(t *testing.T, i testInstance) {
			begun := time.Now()
			assert.Equal(t, 200, i.status("GET", "/v1/pets", ""))
			assert.Equal(t, 404, i.status("GET", "/nothing", ""))
			assert.Equal(t, 200, i.status("GET", "/_fake/requests", ""))
			assert.Equal(t, 100*time.Millisecond, time.Since(begun))
		}},
		"minute": {[]string{"-plan", "enterprise:1,0", "-minute", "2s"}, func(t *testing.T, i testInstance) {
			assert.Equal(t, 200, i.status("GET", "/v1/pets", ""))
			assert.Equal(t, "2", i.call("GET", "/v1/pets", "").Header().Get("Retry-After"))
		}},
		"ban": {[]string{"-plan", "enterprise:1,0", "-ban", "2,10m"}, func(t *testing.T, i testInstance) {
			for range 3 {
				i.call("GET", "/v1/pets", "")
			}
			assert.Contains(t, i.call("GET", "/v1/pets", "").Body.String(), "banned")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test.test(t, newTestInstance(t, test.args...)) })
		})
	}
}
