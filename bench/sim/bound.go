package sim

import (
	"slices"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// bound returns a time before which no client can have had the responses to these requests, however
// well it knows the windows, the latencies and the faults ahead. All it does not assume known is a
// higher limit before the first window that has it.
//
// A request leaves as soon as the one before it has left and a goroutine is free, and so that it is
// counted when the window has room, or, as it may be counted before others that left before it,
// earlier by the longest way out. No one who sends the requests in this order has any of them leave
// earlier. Let at be a time before which no more than i requests can have been counted, and back be
// when the request that leaves as the i-th can be back at the earliest. No client is done before
//
//   - all are back: the latest of back;
//   - for every i, those that are counted from at on have been: g goroutines are busy with them, of
//     which at most g left before at, with the shortest way back still to go, and the others are all
//     those that leave from i+g on. That is
//     at + (min(g, n-i) · shortest way back + sum of ways from i+g on) / g.
//
// The bound is the latest of all these. Times are by the service's clock, since 1970.
func (c cell) bound(begin time.Time, legs []leg) time.Duration {
	minOut, minBack, overtake := legs[0].out, legs[0].back, time.Duration(0)
	for _, l := range legs {
		minOut, minBack = min(minOut, l.out), min(minBack, l.back)
		if c.goroutines > 1 {
			overtake = max(overtake, l.out)
		}
	}
	rest := make([]time.Duration, len(legs)+1) // the sum of ways from the i-th on
	for i, l := range slices.Backward(legs) {
		rest[i] = rest[i+1] + l.total()
	}
	start := time.Duration(begin.UnixNano())
	w, left, bound := c.windows(start), start, start
	free := slices.Repeat([]time.Duration{start}, c.goroutines) // when each goroutine is, sorted
	for i, l := range legs {
		ready := max(left, free[0])
		opens := w.opens(ready + minOut)
		left = max(ready, opens-overtake-l.out)
		back := left + l.total()
		n, _ := slices.BinarySearch(free[1:], back)
		copy(free, free[1:n+1])
		free[n] = back
		at := max(opens, left+minOut)
		w.count(at)
		crossing := min(c.goroutines, len(legs)-i)
		busy := time.Duration(crossing)*minBack + rest[i+crossing]
		bound = max(bound, back, at+busy/time.Duration(c.goroutines))
	}
	return bound - start
}

// legs returns the ways of the requests that the service counts until n of them have a response.
func (c cell) legs(n int) []leg {
	var legs []leg
	for i := 0; n > 0; i++ {
		l := c.leg(i)
		if l.undialled {
			continue
		}
		legs = append(legs, l)
		if !l.lost {
			n--
		}
	}
	return legs
}

// windows is how the service counts a run that always uses up the window as early as it can.
type windows struct {
	cell

	minute, day span
	change      time.Duration // from when on laterPlan holds, until it does; 0 is never
	changed     time.Duration // the first window with laterPlan
}

// span is the windows of a minute or of a day.
type span struct {
	length time.Duration
	limit  int             // 0 is unlimited
	opened []time.Duration // when the window opened in which each request so far was counted
}

// windows returns how the service counts in a run that begins at begin.
func (c cell) windows(begin time.Duration) windows {
	w := windows{cell: c, minute: span{time.Minute, c.perMinute, nil}, day: span{24 * time.Hour, c.perDay(), nil}}
	if c.planChange > 0 {
		w.change = begin + c.planChange
	}
	return w
}

// opens returns when the window opens in which the next request can be counted, if it reaches the
// service no earlier than reached. It goes over to the later plan at the first window that opens
// with it: no client can know of a higher limit before.
func (w *windows) opens(reached time.Duration) time.Duration {
	if i := len(w.minute.opened) - w.minute.limit; w.change > 0 && i >= 0 {
		if opens := w.minute.opened[i] + time.Minute; opens >= w.change {
			w.minute.limit, w.change, w.changed = w.laterPlan(), 0, opens
		}
	}
	return max(w.changed, w.next(w.minute, reached), w.next(w.day, reached))
}

// count notes that the next request is counted at at, or later.
func (w *windows) count(at time.Duration) {
	minute, day := max(w.changed, w.next(w.minute, at)), w.next(w.day, at)
	switch w.window {
	case fake.WindowFixed, "":
		if day >= minute+time.Minute { // the day was used up: nothing opened this window before
			minute = day
		}
	case fake.WindowAligned:
		minute, day = max(minute, at.Truncate(time.Minute)), max(day, at.Truncate(24*time.Hour))
	case fake.WindowSliding: // to the second; each request takes its place for a span from then on
		minute, day = at.Truncate(time.Second), at.Truncate(time.Second)
	}
	w.minute.opened, w.day.opened = append(w.minute.opened, minute), append(w.day.opened, day)
}

// next returns when the window opens that counts the next request: that of the one before it, or
// the one after the window of the request that is limit requests ago.
func (w *windows) next(s span, reached time.Duration) time.Duration {
	i := len(s.opened)
	switch {
	case s.limit > 0 && i >= s.limit:
		return s.opened[i-s.limit] + s.length
	case i > 0:
		return s.opened[i-1]
	case w.window == fake.WindowAligned:
		return reached.Truncate(s.length)
	}
	return reached.Truncate(time.Second)
}
