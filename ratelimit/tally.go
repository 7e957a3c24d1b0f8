package ratelimit

import "time"

// tally counts what happened within the last span of time: the requests of a day, those of a
// minute, and those in flight that were admitted in the last second. It takes the same room
// however many they are, because it counts by ticks, of which a span has 100. The zero tally has
// counted nothing.
type tally struct {
	latest int64 // tick
	total  int32
	counts [ticks]int32
}

// ticks is how many ticks a span has. A count is forgotten up to one tick, 1 % of the span, too
// early.
const ticks = 100

// tickOf returns the tick of a time; 0 if a clock is before 1970.
func tickOf(span time.Duration, t time.Time) int64 {
	return max(0, t.UnixNano()) / int64(span/ticks)
}

// beginOf returns when a tick begins.
func beginOf(span time.Duration, tick int64) time.Time { return time.Unix(0, tick*int64(span/ticks)) }

// advance begins a tick, and forgets those that are a span older.
func (t *tally) advance(tick int64) {
	if tick >= t.latest+ticks {
		*t = tally{latest: tick}
	}
	for ; t.latest < tick; t.latest++ {
		next := &t.counts[(t.latest+1)%ticks]
		t.total -= *next
		*next = 0
	}
}

// add adds n to a tick, unless that tick is already forgotten.
func (t *tally) add(tick int64, n int32) {
	if t.advance(tick); tick > t.latest-ticks {
		t.total += n
		t.counts[tick%ticks] += n
	}
}

// since returns the sum of the counts from a tick on.
func (t *tally) since(tick int64) (n int) {
	for i := max(tick, t.latest-ticks+1); i <= t.latest; i++ {
		n += int(t.counts[i%ticks])
	}
	return n
}

// oldest returns the first tick with a count. The request that was counted in it is the next to be
// forgotten.
func (t *tally) oldest() int64 {
	tick := t.latest - ticks + 1
	for tick < t.latest && t.counts[tick%ticks] == 0 {
		tick++
	}
	return tick
}
