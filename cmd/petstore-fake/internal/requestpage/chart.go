package requestpage

import (
	"iter"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
)

// The chart has a slot for every 5 seconds of the last 5 minutes, by the service's clock.
const slotCount, slotSeconds = 60, 5

// chart is a picture that is 300 wide, a second each, and as high as the most responses of a slot.
type chart struct {
	Peak int
	Bars []bar
	Ends map[int64]bool // where a window of the key ended
}

type bar struct {
	Class   string
	X, Y, N int // Y from below
}

// newChart draws the responses of requests up to now, with the windows of a key.
func newChart(requests iter.Seq[journal.Summary], now time.Time, key int) chart {
	c, begin := chart{Ends: make(map[int64]bool)}, (now.Unix()/slotSeconds+1-slotCount)*slotSeconds
	var slots [slotCount][len(kinds)]int
	for r := range requests {
		if at := r.Ended.Unix() - begin; at >= 0 && at < slotCount*slotSeconds {
			slots[at/slotSeconds][kindOf(r.Status)]++
		}
		if end := r.Reset.Unix(); r.Key == key && end > begin && end <= now.Unix() {
			c.Ends[end-begin] = true
		}
	}
	for i, counts := range slots {
		y := 0
		for kind, n := range counts {
			if n > 0 {
				c.Bars, y = append(c.Bars, bar{kinds[kind].Class, i * slotSeconds, y, n}), y+n
			}
		}
		c.Peak = max(c.Peak, y)
	}
	return c
}
