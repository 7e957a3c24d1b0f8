package requestpage

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
)

// chart is the picture of the last minutes, 100 high from above. Its x are seconds since Begin.
type chart struct {
	Begin int64 // Unix time
	Peak  int   // the most in a slot, where the scales end
	Slots []chartSlot
	Total chartSlot
	// Left is the line of what remained of a key's limit, as the responses told it; Last is its end,
	// in the height LastY.
	Left   string
	Last   sample
	LastY  float64
	Sender string
}

// chartSlot is what came within a few seconds.
type chartSlot struct {
	At   int64
	X    float64
	Bars []bar
}

// bar is a kind of responses of a slot.
type bar struct {
	Class, Text string
	N           int
	Y1, Y2      float64
}

// height returns where a share of a scale is.
func height(share float64) float64 { return 100 - min(share, 1)*86 }

func newChart(now time.Time, slots []slot, left []sample, sender string) chart {
	end := (now.Unix()/journal.SlotSeconds + 1) * journal.SlotSeconds
	c := chart{Begin: end - slotCount*journal.SlotSeconds, Sender: sender}
	var total slot
	for _, s := range slots {
		sum := 0
		for kind, n := range s.Count {
			sum += n
			total.Count[kind] += n
		}
		c.Peak = max(c.Peak, sum)
	}
	for _, s := range slots {
		c.Slots = append(c.Slots, c.stack(s))
	}
	c.Total = c.stack(total)
	c.draw(left, now.Unix(), end)
	return c
}

// stack puts the responses of a slot on each other.
func (c *chart) stack(s slot) chartSlot {
	shown := chartSlot{At: s.Start, X: float64(s.Start-c.Begin) + journal.SlotSeconds/2.0}
	sum := 0
	for kind, n := range s.Count {
		if n > 0 {
			below := height(float64(sum) / float64(c.Peak))
			sum += n
			above := height(float64(sum) / float64(c.Peak))
			shown.Bars = append(shown.Bars, bar{kinds[kind].Class, kinds[kind].Text, n, below, above})
		}
	}
	return shown
}

// draw writes the line of what remained: down with each response, and up when the window ends.
func (c *chart) draw(left []sample, now, end int64) {
	step := "M%.1f %.1f"
	to := func(at float64, s sample) {
		c.Last, c.LastY = s, height(float64(s.Left)/float64(max(s.Limit, 1)))
		c.Left += fmt.Sprintf(step, max(at-float64(c.Begin), 0), c.LastY)
		step = "H%.1fV%.1f"
	}
	for _, s := range append(left, sample{At: float64(now)}) {
		if before := c.Last; c.Left != "" && float64(before.Reset) < s.At {
			before.Left = before.Limit
			to(float64(before.Reset), before)
		}
		if s.Limit > 0 {
			to(s.At, s)
		}
	}
	if c.Left != "" {
		c.Left += fmt.Sprintf("H%d", end-c.Begin)
	}
}

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
