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
		require.Len(t, traffic.show(now), 1)
		assert.Equal(t, [...]int{3, 1, 1, 1, 1}, traffic.show(now)[0].Count)
		assert.Equal(t, []sample{{1_900_000_000, 4, 9, 1_900_000_060}}, traffic.left(now, 1))
		assert.Equal(t, 3, traffic.left(now, 2)[0].Left)
		assert.Empty(t, traffic.left(now, 3), "the response did not have the three headers")
		assert.Empty(t, traffic.left(now.Add(6*time.Minute), 1))
	})
	t.Run("counts at any time that a clock can show", func(t *testing.T) {
		t.Parallel()
		for _, unix := range []int64{0, 1, 299, 300, -1, -3600} {
			var traffic traffic
			now := time.Unix(unix, 0)
			h := http.Header{"X-Ratelimit-Limit": {"9"}, "X-Ratelimit-Remaining": {"8"}, "X-Ratelimit-Reset": {"60"}}
			traffic.add(now, 1, 200, h)
			assert.Len(t, traffic.show(now), 1, "%d", unix)
			assert.Len(t, traffic.left(now, 1), 1, "%d", unix)
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
		assert.LessOrEqual(t, len(traffic.show(now)), slotCount)
		assert.GreaterOrEqual(t, len(traffic.show(now)), slotCount-1)
		traffic.reset()
		assert.Empty(t, traffic.show(now))
	})
}
