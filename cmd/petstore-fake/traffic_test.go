package main

import (
	"encoding/json"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTrafficCountsByTheServicesClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newTestInstance(t, "-plan", "enterprise:3,0")
		for range 5 {
			i.call("GET", "/v1/pets", "")
		}
		shown := i.admin.traffic.show(i.srv.Now())
		require.Len(t, shown.Slots, 1)
		assert.Equal(t, slot{time.Now().Unix(), 5, 2}, shown.Slots[0])
		require.Len(t, shown.Waits, 1, "one wait, whose end was told three times")
		assert.Equal(t, wait{time.Now().UTC(), time.Now().Add(time.Minute).UTC()}, shown.Waits[0])

		i.object("POST", "/_fake/clock", `{"advance":"2m"}`)
		i.call("GET", "/v1/pets", "")
		assert.Len(t, i.admin.traffic.show(i.srv.Now()).Slots, 2)
		i.object("POST", "/_fake/clock", `{"advance":"24h"}`)
		shown = i.admin.traffic.show(i.srv.Now())
		assert.Empty(t, shown.Slots)
		assert.Empty(t, shown.Waits)
		text, err := json.Marshal(shown)
		require.NoError(t, err)
		assert.Contains(t, string(text), `"slots":[],"waits":[]`)
	})
}

func TestAWaitLastsAsLongAsTheAnswerSays(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_900_000_000, 500)
	reset := strconv.FormatInt(now.Unix()+40, 10)
	for _, c := range []struct {
		status                  int
		remaining, reset, retry string
		want                    time.Time
	}{
		{200, "1", reset, "", time.Time{}},
		{200, "0", reset, "", time.Unix(now.Unix()+40, 0)},
		{200, "0", "soon", "", time.Time{}},
		{200, "0", "9999999999999", "", time.Unix(now.Add(longestWait).Unix(), 0)},
		{200, "5", reset, "30", time.Time{}},
		{429, "5", reset, "30", now.Add(30 * time.Second)},
		{429, "0", reset, "30", time.Unix(now.Unix()+40, 0)},
		{503, "5", reset, "7", now.Add(7 * time.Second)},
		{503, "5", reset, "-7", now},
		{503, "5", reset, "9999999999999", now.Add(longestWait)},
		{429, "5", reset, now.Add(time.Hour).UTC().Format(http.TimeFormat), time.Unix(now.Unix()+3600, 0)},
		{429, "5", reset, "Fri, 31 Dec 9999 23:59:59 GMT", time.Time{}},
		{429, "5", reset, "soon", time.Time{}},
	} {
		h := http.Header{}
		h.Set("X-RateLimit-Remaining", c.remaining)
		h.Set("X-RateLimit-Reset", c.reset)
		h.Set("Retry-After", c.retry)
		assert.WithinDuration(t, c.want, waitUntil(now, c.status, h), 0, "%+v", c)
	}
}

func TestTrafficIsBounded(t *testing.T) {
	t.Parallel()
	var traffic traffic
	now := time.Unix(1_900_000_000, 0)
	for range 10_000 {
		now = now.Add(slotSeconds * time.Second)
		traffic.add(now, http.StatusServiceUnavailable, http.Header{"Retry-After": {"1"}})
	}
	shown := traffic.show(now)
	assert.LessOrEqual(t, len(shown.Slots), slotCount)
	assert.GreaterOrEqual(t, len(shown.Slots), slotCount-1)
	assert.Len(t, shown.Waits, maxWaits)
	traffic.reset()
	assert.Empty(t, traffic.show(now).Slots)
}
