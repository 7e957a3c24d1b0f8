package requestpage

import (
	"fmt"
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
