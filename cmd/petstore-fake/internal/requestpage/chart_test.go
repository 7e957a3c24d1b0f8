package requestpage

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_900_000_000, 500)
	for value, want := range map[string]time.Time{
		"":                    {},
		"soon":                {},
		"30":                  now.Add(30 * time.Second),
		"-7":                  now,
		"9999999999999":       now.Add(longestWait),
		"9999999999999999999": {},
		now.Add(time.Hour).UTC().Format(http.TimeFormat): time.Unix(now.Unix()+3600, 0),
	} {
		assert.WithinDuration(t, want, retryAfter(now, value), 0, value)
	}
}

func TestTraffic(t *testing.T) {
	t.Parallel()
	t.Run("counts the kinds of responses, and keeps what remained of each key's limit", func(t *testing.T) {
		t.Parallel()
		var traffic traffic
		now := time.Unix(1_900_000_000, 0)
		for i, status := range []int{200, 304, 404, 429, 500, 0} {
			h := http.Header{"X-Ratelimit-Limit": {"9"}, "X-Ratelimit-Remaining": {strconv.Itoa(8 - i)}, "X-Ratelimit-Reset": {"1900000060"}}
			traffic.add(now, 1+i%2, status, h)
		}
		traffic.add(now, 3, 200, http.Header{"X-Ratelimit-Limit": {"9"}})
		slots, left := traffic.show(now, 1)
		require.Len(t, slots, 1)
		assert.Equal(t, [...]int{3, 1, 1, 1, 1}, slots[0].Count)
		assert.Equal(t, []sample{{1_900_000_000, 4, 9, 1_900_000_060}}, left)
		_, left = traffic.show(now, 2)
		assert.Equal(t, 3, left[0].Left)
		_, left = traffic.show(now, 3)
		assert.Empty(t, left, "the response did not have the three headers")
		slots, left = traffic.show(now.Add(6*time.Minute), 1)
		assert.Empty(t, slots)
		assert.Empty(t, left)
	})
	t.Run("counts at any time that a clock can show", func(t *testing.T) {
		t.Parallel()
		for _, unix := range []int64{0, 1, 299, 300, -1, -3600} {
			var traffic traffic
			now := time.Unix(unix, 0)
			h := http.Header{"X-Ratelimit-Limit": {"9"}, "X-Ratelimit-Remaining": {"8"}, "X-Ratelimit-Reset": {"60"}}
			traffic.add(now, 1, 200, h)
			slots, left := traffic.show(now, 1)
			assert.Len(t, slots, 1, "%d", unix)
			assert.Len(t, left, 1, "%d", unix)
		}
	})
	t.Run("is bounded", func(t *testing.T) {
		t.Parallel()
		var traffic traffic
		now := time.Unix(1_900_000_000, 0)
		for range 10_000 {
			now = now.Add(journal.SlotSeconds * time.Second)
			traffic.add(now, 1, http.StatusServiceUnavailable, nil)
		}
		slots, _ := traffic.show(now, 1)
		assert.LessOrEqual(t, len(slots), slotCount)
		assert.GreaterOrEqual(t, len(slots), slotCount-1)
		traffic.reset()
		slots, _ = traffic.show(now, 1)
		assert.Empty(t, slots)
	})
}
