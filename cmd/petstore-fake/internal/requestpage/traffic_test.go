package requestpage

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

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
