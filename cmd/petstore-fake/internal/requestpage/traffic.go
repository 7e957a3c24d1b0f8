package requestpage

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
)

// slotCount is how many slots the chart has: those of the last 5 minutes.
const slotCount = 60

// longestWait bounds a wait of so many seconds: more would overflow a duration.
const longestWait = 365 * 24 * time.Hour

// traffic counts the requests of the last minutes by the service's clock, and what remained of each
// key's limit. It is safe for concurrent use.
type traffic struct {
	mu    sync.Mutex
	slots [slotCount]slot
}

// slot is what came within a few seconds.
type slot struct {
	Start int64           // Unix time
	Count [len(kinds)]int // of the kinds of responses
	left  map[int]sample  // of the keys, the last
}

// sample is what the service told a client about its limit.
type sample struct {
	At    float64 // Unix time
	Left  int
	Limit int
	Reset int64 // Unix time
}

// maxSampled bounds the keys of a slot of which samples are kept.
const maxSampled = 100

// add counts a request of a key whose response was sent at now, with status 0 if there was none.
func (t *traffic) add(now time.Time, key, status int, h http.Header) {
	t.mu.Lock()
	defer t.mu.Unlock()
	start := now.Unix() - now.Unix()%journal.SlotSeconds
	s := &t.slots[uint64(start/journal.SlotSeconds)%slotCount] //nolint:gosec // before 1970, too
	if s.Start != start || s.left == nil {
		*s = slot{Start: start, left: make(map[int]sample)}
	}
	s.Count[kindOf(status)]++
	if one, ok := readSample(now, h); ok && key > 0 && len(s.left) < maxSampled {
		s.left[key] = one
	}
}

// retryAfter returns the time that a Retry-After header names, at most longestWait from now for a
// number, and the zero time for what is none.
func retryAfter(now time.Time, value string) time.Time {
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
		return now.Add(time.Duration(min(max(seconds, 0), int64(longestWait/time.Second))) * time.Second)
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return time.Time{}
	}
	return date
}

// readSample reads the rate limit headers of a response.
func readSample(now time.Time, h http.Header) (sample, bool) {
	left, err := strconv.Atoi(h.Get("X-Ratelimit-Remaining"))
	limit, err2 := strconv.Atoi(h.Get("X-Ratelimit-Limit"))
	reset, err3 := strconv.ParseInt(h.Get("X-Ratelimit-Reset"), 10, 64)
	ok := err == nil && err2 == nil && err3 == nil
	return sample{float64(now.UnixMilli()) / 1000, left, limit, reset}, ok
}

// show returns the slots within the span of the chart that ends now, without empty ones, and what
// remained of a key's limit in them, oldest first.
func (t *traffic) show(now time.Time, key int) (slots []slot, left []sample) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.slots {
		if s.left == nil || s.Start <= now.Unix()-journal.SlotSeconds*slotCount {
			continue
		}
		slots = append(slots, s)
		if one, ok := s.left[key]; ok {
			left = append(left, one)
		}
	}
	slices.SortFunc(left, func(a, b sample) int { return cmp.Compare(a.At, b.At) })
	return slots, left
}

// reset forgets everything.
func (t *traffic) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.slots = [slotCount]slot{}
}
