package fake

import "math"

// The spans of the two windows, in seconds.
const (
	minute = 60
	day    = 24 * 60 * 60
)

// unlimited is what the headers show for a key without a limit, since every response has the
// headers.
const unlimited = math.MaxInt32

// window counts requests over a minute or a day. No timer ends it: the next request, or the next
// reader, finds that its time is over. All times are Unix seconds.
type window struct {
	kind  Window
	span  int64
	count int    // requests in the window
	ticks []tick // the requests of count by their time; a fixed or aligned window has one, its beginning
}

// tick is a second, and how many requests count from then on, for the span of the window.
type tick struct {
	sec int64
	n   int
}

// roll drops the requests that no longer count at sec. sec never goes back between two calls.
func (w *window) roll(sec int64) {
	for len(w.ticks) > 0 && w.ticks[0].sec+w.span <= sec {
		w.count -= w.ticks[0].n
		w.ticks = w.ticks[1:]
	}
}

// begin returns the second from which on a request at sec counts. It is called after roll.
func (w *window) begin(sec int64) int64 {
	switch {
	case w.kind == WindowAligned:
		return sec - sec%w.span
	case w.kind != WindowSliding && len(w.ticks) > 0:
		return w.ticks[0].sec
	}
	return sec
}

// add counts one request at sec. It is called after roll.
func (w *window) add(sec int64) {
	sec = w.begin(sec)
	w.count++
	if n := len(w.ticks); n > 0 && w.ticks[n-1].sec == sec {
		w.ticks[n-1].n++
		return
	}
	w.ticks = append(w.ticks, tick{sec, 1})
}

// set makes the window count n requests, as if they came at sec. It is called after roll.
func (w *window) set(n int, sec int64) { w.count, w.ticks = n, []tick{{w.begin(sec), n}} }

// reset returns when the window allows another request: when its oldest requests drop out, or, if
// the limit was lowered, when enough have dropped out. An unused window ends a span after its
// beginning. It is called after roll.
func (w *window) reset(limit int, sec int64) int64 {
	sec = w.begin(sec)
	left := w.count
	for _, t := range w.ticks {
		sec = t.sec
		if left -= t.n; left < limit {
			break
		}
	}
	return sec + w.span
}

// quota is the content of the three headers of a response (section 8.2).
type quota struct {
	limit, remaining int
	reset            int64 // Unix time, or noReset
}

// noReset stands for a response without X-RateLimit-Reset.
const noReset = -1

// quota returns what is left of limit. It is called after roll.
func (w *window) quota(limit int, sec int64) quota {
	if limit <= 0 {
		return quota{unlimited, unlimited, w.reset(limit, sec)}
	}
	return quota{limit, max(limit-w.count, 0), w.reset(limit, sec)}
}

// scarcer returns the quota with fewer requests left. Of two with the same number it returns the
// one that ends later, because a client has to wait for that.
func scarcer(a, b quota) quota {
	if a.remaining < b.remaining || a.remaining == b.remaining && a.reset > b.reset {
		return a
	}
	return b
}
