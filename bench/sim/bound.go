package sim

import (
	"container/heap"
	"slices"
	"time"
)

// bound returns a time before which no client can have had n responses in this cell, however well
// it knows the windows, the latencies and the faults ahead. All it does not assume known is a
// higher limit before the first window that has it.
//
// Let at[i] be a time before which no more than i requests can have been counted (see timetable),
// and back[i] be when the request that leaves as the i-th can be back at the earliest. No client is
// done before
//
//   - all are back: the latest of back;
//   - for every i, those that are counted from at[i] on have been: g goroutines are busy with
//     them, of which at most g left before at[i], with the shortest way back still to go, and the
//     others are all those that leave from i+g on. That is
//     at[i] + (min(g, n-i) · shortest way back + sum of ways from i+g on) / g.
//
// The bound is the latest of all these.
func (c cell) bound(begin time.Time, n int) time.Duration { return c.boundOf(begin, c.legs(n)) }

func (c cell) boundOf(begin time.Time, legs []leg) time.Duration {
	if len(legs) == 0 {
		return 0
	}
	t := c.timetable(begin, legs)
	sums := suffixSums(legs)
	g := c.goroutines
	bound := slices.MaxFunc(t.back, time.Time.Compare).Sub(begin)
	for i := range legs {
		crossing := min(g, len(legs)-i)
		busy := time.Duration(crossing)*t.minBack + sums[i+crossing]
		bound = max(bound, t.at[i].Sub(begin)+busy/time.Duration(g))
	}
	return bound
}

// legs returns the ways of the requests that the service counts until n of them have a response.
func (c cell) legs(n int) []leg {
	var legs []leg
	for i := 0; n > 0; i++ {
		l := c.leg(i)
		if l.fate == undialled {
			continue
		}
		legs = append(legs, l)
		if l.fate == delivered {
			n--
		}
	}
	return legs
}

// suffixSums returns for each i the time that the requests from the i-th on take.
func suffixSums(legs []leg) []time.Duration {
	sums := make([]time.Duration, len(legs)+1)
	for i := len(legs) - 1; i >= 0; i-- {
		sums[i] = sums[i+1] + legs[i].total()
	}
	return sums
}

// timetable is the earliest that can be done with a number of goroutines.
type timetable struct {
	windows
	at       []time.Time // the i-th to be counted is not counted before
	back     []time.Time // the i-th to leave is not back before
	left     time.Time   // when the last one left
	free     times       // when each goroutine is
	minOut   time.Duration
	minBack  time.Duration
	overtake time.Duration // by which one that leaves later can be counted earlier
}

// timetable returns the earliest that requests can be counted and be back. A request leaves as soon
// as the one before it has left and a goroutine is free, and so that it is counted when the window
// has room, or, as it may be counted before others that left before it, earlier by the longest way
// out. No one who sends the requests in this order has any of them leave earlier.
func (c cell) timetable(begin time.Time, legs []leg) *timetable {
	t := &timetable{
		windows: c.windows(begin), left: begin,
		minOut: legs[0].out, minBack: legs[0].back, free: slices.Repeat(times{begin}, c.goroutines),
	}
	for _, l := range legs {
		t.minOut, t.minBack = min(t.minOut, l.out), min(t.minBack, l.back)
		t.overtake = max(t.overtake, l.out)
	}
	if c.goroutines == 1 {
		t.overtake = 0
	}
	for _, l := range legs {
		t.send(l)
	}
	return t
}

// send enters the next request to leave.
func (t *timetable) send(l leg) {
	opens := t.opens(latest(t.left, t.free[0]).Add(t.minOut))
	t.left = latest(t.left, t.free[0], opens.Add(-t.overtake-l.out))
	t.free[0] = t.left.Add(l.total())
	t.back = append(t.back, t.free[0])
	heap.Fix(&t.free, 0)
	at := latest(opens, t.left.Add(t.minOut))
	t.count(at)
	t.at = append(t.at, at)
}

// times is a heap, the earliest first.
type times []time.Time

func (t *times) Len() int           { return len(*t) }
func (t *times) Less(i, j int) bool { return (*t)[i].Before((*t)[j]) }
func (t *times) Swap(i, j int)      { (*t)[i], (*t)[j] = (*t)[j], (*t)[i] }
func (t *times) Push(any)           {} // it keeps its length
func (t *times) Pop() any           { return nil }

func latest(times ...time.Time) time.Time {
	var t time.Time
	for _, u := range times {
		if u.After(t) {
			t = u
		}
	}
	return t
}
