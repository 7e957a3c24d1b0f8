package requestpage

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// The bounds of what the plot shows: slots of a few seconds, and waits.
const (
	slotSeconds = 5
	slotCount   = 60
	maxWaits    = 32
	longestWait = 48 * time.Hour
)

// traffic counts the requests of the last minutes by the service's clock, and the times for which
// answers told a client to wait. It is safe for concurrent use.
type traffic struct {
	mu    sync.Mutex
	slots [slotCount]slot
	waits []wait
}

// slot is what came within a few seconds.
type slot struct {
	Start    int64 `json:"start"` // Unix time
	Requests int   `json:"requests"`
	Limited  int   `json:"limited"` // of these, answered with 429
}

// wait is a time in which a client had better send nothing.
type wait struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

// add counts a request whose response was sent at now, with status 0 if there was none.
func (t *traffic) add(now time.Time, status int, h http.Header) {
	t.mu.Lock()
	defer t.mu.Unlock()
	start := now.Unix() - now.Unix()%slotSeconds
	s := &t.slots[start/slotSeconds%slotCount]
	if s.Start != start {
		*s = slot{Start: start}
	}
	s.Requests++
	if status == http.StatusTooManyRequests {
		s.Limited++
	}
	if until := waitUntil(now, status, h); until.After(now) {
		t.wait(now, until)
	}
}

// wait adds a wait, as a part of the last one if the two touch. The caller holds mu.
func (t *traffic) wait(from, until time.Time) {
	if last := len(t.waits) - 1; last >= 0 && !from.After(t.waits[last].Until) {
		if until.After(t.waits[last].Until) {
			t.waits[last].Until = until
		}
		return
	}
	t.waits = append(t.waits, wait{from, until})
	if len(t.waits) > maxWaits {
		t.waits = t.waits[1:]
	}
}

// waitUntil returns until when a response asks its client to wait: by Retry-After, or because nothing
// remains of the window. It is the zero time for all others.
func waitUntil(now time.Time, status int, h http.Header) time.Time {
	latest := now.Add(longestWait)
	var until time.Time
	if reset, err := strconv.ParseInt(h.Get("X-Ratelimit-Reset"), 10, 64); err == nil &&
		h.Get("X-Ratelimit-Remaining") == "0" {
		until = time.Unix(min(reset, latest.Unix()), 0)
	}
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return until
	}
	var retry time.Time
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
		retry = now.Add(time.Duration(min(max(seconds, 0), int64(longestWait/time.Second))) * time.Second)
	} else if date, err := http.ParseTime(value); err == nil && date.Before(latest) {
		retry = date
	}
	if retry.After(until) {
		return retry
	}
	return until
}

// shownTraffic is the traffic as the page draws it.
type shownTraffic struct {
	SlotSeconds int    `json:"slotSeconds"`
	SlotCount   int    `json:"slotCount"`
	Slots       []slot `json:"slots"` // those with requests
	Waits       []wait `json:"waits"`
}

// show returns what is within the span of the plot that ends now.
func (t *traffic) show(now time.Time) shownTraffic {
	t.mu.Lock()
	defer t.mu.Unlock()
	begin := now.Add(-slotSeconds * slotCount * time.Second)
	s := shownTraffic{slotSeconds, slotCount, []slot{}, []wait{}}
	for _, slot := range t.slots {
		if slot.Start > begin.Unix() {
			s.Slots = append(s.Slots, slot)
		}
	}
	for _, w := range t.waits {
		if w.Until.After(begin) {
			s.Waits = append(s.Waits, wait{w.From.UTC().Round(0), w.Until.UTC().Round(0)})
		}
	}
	return s
}

// reset forgets everything.
func (t *traffic) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.slots, t.waits = [slotCount]slot{}, nil
}
