package requestpage

import (
	"fmt"
	"strings"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
)

// The heights of the chart, from above: its scales end at the top.
const chartTop, chartBottom = 14.0, 100.0

// chart is the picture of the last minutes. Its x are seconds since Begin.
type chart struct {
	Begin int64 // Unix time
	Peak  string
	Slots []chartSlot
	// Left is the line of what remained of a key's limit, as the responses told it, LeftText its
	// end in words, and LeftY the height of that.
	Left, LeftText string
	LeftY          float64
	Legend         []legend
}

// chartSlot is what came within a few seconds.
type chartSlot struct {
	At   int64
	X    float64
	Text string
	Bars []bar
}

// bar is a kind of responses of a slot.
type bar struct {
	Class  string
	Y1, Y2 float64
}

// legend explains a colour.
type legend struct{ Class, Text string }

func newChart(now time.Time, slots []slot, left []sample, sender string) chart {
	end := (now.Unix()/journal.SlotSeconds + 1) * journal.SlotSeconds
	c := chart{Begin: end - slotCount*journal.SlotSeconds}
	peak := 1
	var total slot
	for _, s := range slots {
		sum := 0
		for kind, n := range s.Count {
			sum += n
			total.Count[kind] += n
		}
		peak = max(peak, sum)
	}
	for _, s := range slots {
		c.Slots = append(c.Slots, c.slot(s, peak))
		c.Peak = count(peak)
	}
	for kind, n := range total.Count {
		if n > 0 {
			c.Legend = append(c.Legend, legend{kinds[kind].Class, kinds[kind].Text + " " + count(n)})
		}
	}
	if len(left) > 0 {
		c.draw(left, now, end)
		c.Legend = append(c.Legend, legend{"left", "left of " + sender})
	}
	return c
}

// slot stacks the responses of a slot.
func (c chart) slot(s slot, peak int) chartSlot {
	var words []string
	shown := chartSlot{At: s.Start, X: float64(s.Start-c.Begin) + journal.SlotSeconds/2.0}
	y := chartBottom
	for kind, n := range s.Count {
		if n == 0 {
			continue
		}
		height := float64(n) / float64(peak) * (chartBottom - chartTop)
		shown.Bars = append(shown.Bars, bar{kinds[kind].Class, y, y - height})
		y -= height
		words = append(words, count(n)+" × "+kinds[kind].Text)
	}
	shown.Text = strings.Join(words, ", ")
	return shown
}

// draw writes the line of what remained: down with each response, and up when the window ends.
func (c *chart) draw(left []sample, now time.Time, end int64) {
	var path strings.Builder
	x := func(at float64) float64 { return min(max(at-float64(c.Begin), 0), float64(end-c.Begin)) }
	y := func(share float64) float64 { return chartBottom - 2 - min(share, 1)*(chartBottom-2-chartTop) }
	for i, s := range left {
		height := y(float64(s.Left) / float64(max(s.Limit, 1)))
		if i == 0 {
			fmt.Fprintf(&path, "M%.1f %.1f", x(s.At), height)
		} else if before := left[i-1]; float64(before.Reset) < s.At {
			fmt.Fprintf(&path, "H%.1fV%.1f", x(float64(before.Reset)), y(1))
		}
		fmt.Fprintf(&path, "H%.1fV%.1f", x(s.At), height)
		c.LeftY, c.LeftText = height, fmt.Sprintf("%s of %s left", count(s.Left), count(s.Limit))
	}
	if last := left[len(left)-1]; last.Reset < now.Unix() {
		fmt.Fprintf(&path, "H%.1fV%.1f", x(float64(last.Reset)), y(1))
		c.LeftY, c.LeftText = y(1), fmt.Sprintf("%s of %[1]s left", count(last.Limit))
	}
	c.LeftY = min(c.LeftY, 93) // above the axis
	c.Left = fmt.Sprintf("%sH%d", path.String(), end-c.Begin)
}
