package page

import (
	"math"
	"slices"
	"time"
)

// The chart has a slot for every 5 seconds of the last 5 minutes, by the service's clock.
const slotCount, slotSeconds = 60, 5

// chart is a bar chart, 300 units wide, one for each second, and 1,000 units high. Its scale is
// logarithmic: otherwise a storm of requests would make all other bars too small to see.
type chart struct {
	Peak int // the number of responses in the slot that has the most
	Bars []bar
}

type bar struct {
	Class   string
	X, Y, H int
}

// newChart returns the chart of the requests that ended in the five minutes up to now.
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
		for _, kind := range slices.Backward(kinds) { // the worst at the bottom, where even a few make a visible bar
			if of := counts[part{slot, kind.Class}]; of > 0 {
				top := height(n + of)
				c.Bars = append(c.Bars, bar{kind.Class, slot * slotSeconds, 1000 - top, top - height(n)})
				n += of
			}
		}
	}
	return c
}
