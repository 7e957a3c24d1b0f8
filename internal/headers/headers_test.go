package headers

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/internal/quota"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRateLimit(t *testing.T) {
	whole := func() http.Header {
		return http.Header{headerLimit: {"60"}, headerRemaining: {"0"}, headerReset: {"1795000000"}}
	}
	want := quota.RateLimit{Limit: 60, Remaining: 0, Reset: time.Unix(1795000000, 0).UTC()}
	assert.Equal(t, want, RateLimit(whole()))
	for _, key := range []string{headerLimit, headerRemaining, headerReset} {
		for _, bad := range [][]string{nil, {"x"}, {"1", "2"}} { // FuzzRateLimit has more
			h := whole()
			h[key] = bad
			assert.Zero(t, RateLimit(h), "%s: %q", key, bad)
		}
	}
}

func TestHeaderKeys(t *testing.T) {
	for documented, key := range map[string]string{
		"X-RateLimit-Limit": headerLimit, "X-RateLimit-Remaining": headerRemaining,
		"X-RateLimit-Reset": headerReset, "Retry-After": headerRetryAfter, "Date": headerDate,
	} {
		assert.Equal(t, http.CanonicalHeaderKey(documented), key)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Run("understands all formats", func(t *testing.T) {
		date := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		received := date.Add(-7 * time.Minute) // by a clock of our own that is wrong
		for value, want := range map[string]time.Duration{
			"1":                                  time.Second,
			"120":                                2 * time.Minute,
			"0.25":                               250 * time.Millisecond,
			"1.5":                                1500 * time.Millisecond,
			"Sat, 21 Nov 2026 12:01:30 GMT":      90 * time.Second,
			"Saturday, 21-Nov-26 12:01:30 GMT":   90 * time.Second,
			"Sat Nov 21 12:01:30 2026":           90 * time.Second,
			"1795262490":                         90 * time.Second,
			"1795262489.5":                       90 * time.Second,
			"5, 9":                               9 * time.Second,
			"Sat, 21 Nov 2026 12:01:30 GMT, 120": 2 * time.Minute,
			"120, Sat, 21 Nov 2026 12:03:30 GMT": 210 * time.Second,
			"Sat Nov 21 12:01:30 2026, 7":        90 * time.Second,
			"31622400":                           366 * 24 * time.Hour,
		} {
			t.Run(value, func(t *testing.T) {
				assert.Equal(t, want, RetryAfter(http.Header{headerRetryAfter: {value}}, date, received), value)
			})
		}
	})
	t.Run("a number is a Unix time if that is within the next year", func(t *testing.T) {
		for _, year := range []int{1985, 2000, 2026, 2090} {
			date := time.Date(year, 2, 3, 4, 5, 6, 0, time.UTC)
			in := func(d time.Duration) http.Header {
				return http.Header{headerRetryAfter: {strconv.FormatInt(date.Add(d).Unix(), 10)}}
			}
			assert.Equal(t, time.Minute, RetryAfter(in(time.Minute), date, date), year)
			assert.Equal(t, 300*24*time.Hour, RetryAfter(in(300*24*time.Hour), date, date), year)
			assert.Zero(t, RetryAfter(in(-time.Minute), date, date), "it is past")
			assert.Zero(t, RetryAfter(in(400*24*time.Hour), date, date), "it is too far away")
		}
		for seconds := range 100 {
			h := http.Header{headerRetryAfter: {strconv.Itoa(seconds)}}
			epoch := time.Unix(int64(seconds)/2, 0)
			assert.Equal(t, time.Duration(seconds)*time.Second, RetryAfter(h, epoch, epoch), "a timestamp has nine digits")
		}
	})
}
