package page

import (
	"math"
	"slices"
	"time"
)

// The chart has a slot for every 5 seconds of the last 5 minutes, by the service's clock.
const slotCount, slotSeconds = 60, 5

// chart is a picture that is 300 wide, one for each second, and 1,000 high. Its scale is
// logarithmic, since a storm of requests would otherwise make all other bars too small to see.
type chart struct {
	Peak int // the most responses of a slot
	Bars []bar
}

type bar struct {
	Class   string
	X, Y, H int
}

// newChart draws the responses of requests up to now.
func newChart(requests []*Request, now time.Time) (c chart) {
	type part struct {
		slot  int
		class string
	}
	counts, sums := make(map[part]int), [slotCount]int{}
	first := now.Unix()/slotSeconds + 1 - slotCount
	for _, r := range requests {
		slot := int(r.Ended().Unix()/slotSeconds - first)
		if slot >= 0 && slot < slotCount && !r.Pending() {
			sums[slot]++
			counts[part{slot, r.Class()}]++
		}
	}
	c.Peak = slices.Max(sums[:])
	height := func(n int) int { return int(math.Round(1000 * math.Log1p(float64(n)) / math.Log1p(float64(c.Peak)))) }
	for slot := range slotCount {
		n := 0
		for _, kind := range slices.Backward(kinds) { // the worst at the bottom, where even a few can be seen
			if of := counts[part{slot, kind.Class}]; of > 0 {
				top := height(n + of)
				c.Bars = append(c.Bars, bar{kind.Class, slot * slotSeconds, 1000 - top, top - height(n)})
				n += of
			}
		}
	}
	return c
}
