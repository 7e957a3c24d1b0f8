package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// plotCell is the cell that the plot shows.
func plotCell(seed uint64) cell {
	return cell{conditions()[0], fake.WindowFixed, 300, 64, seed}
}

func (c cell) title() string {
	return fmt.Sprintf("%d requests by %d goroutines; the key has %d a minute in %s windows",
		c.items(), c.goroutines, c.perMinute, windowName(c.window))
}

// plot draws what the service did for each contender over time: above the requests it admitted,
// below those it rejected.
func plot(r row) string {
	p := newCanvas(r)
	p.printf("<title>%s</title>\n", r.cell.title())
	p.printf("%s<rect class=\"bg\" width=\"%d\" height=\"%d\"/>\n", plotStyle, plotWidth, plotHeight)
	p.printf("<text class=\"head\" x=\"%d\" y=\"24\">%s</text>\n", plotLeft, r.cell.title())
	p.legend(r)
	p.panel(admittedPanel, "requests admitted", r, func(r result) []time.Duration { return r.accepted })
	p.panel(rejectedPanel, "requests rejected", r, func(r result) []time.Duration { return r.rejected })
	p.printf("<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">minutes since the start</text>\n",
		(plotLeft+plotRight)/2, plotHeight-10)
	p.printf("</svg>\n")
	return p.String()
}

const (
	plotWidth, plotHeight = 880, 620
	plotLeft, plotRight   = 70, 850
)

// The panels, from top to bottom.
var (
	admittedPanel = panel{top: 160, bottom: 380}
	rejectedPanel = panel{top: 430, bottom: 570}
)

type panel struct{ top, bottom float64 }

// plotStyle follows the reader's choice of light or dark; lines differ in dashes too.
const plotStyle = `<style>
svg { font: 13px system-ui, sans-serif }
.bg { fill: #ffffff } text { fill: #24292f } .head { font-weight: 600; font-size: 14px }
.grid { stroke: #d0d7de; stroke-width: 1 } .line { fill: none; stroke-width: 2.2; stroke-linejoin: round }
.end { fill: none; stroke-width: 2; stroke-dasharray: none !important }
.c0 { stroke: #1a7f37; stroke-width: 3.2 } .c1 { stroke: #cf222e; stroke-dasharray: 7 4 }
.c2 { stroke: #9a6700; stroke-dasharray: 2 3 } .c3 { stroke: #0969da; stroke-dasharray: 10 3 2 3 }
@media (prefers-color-scheme: dark) {
.bg { fill: #0d1117 } text { fill: #e6edf3 } .grid { stroke: #3d444d }
.c0 { stroke: #3fb950 } .c1 { stroke: #ff7b72 } .c2 { stroke: #d29922 } .c3 { stroke: #58a6ff }
}
</style>
`

// canvas collects an SVG whose horizontal axis is time.
type canvas struct {
	strings.Builder

	span time.Duration // of the axis
}

func newCanvas(r row) *canvas {
	p := &canvas{}
	for _, result := range r.results {
		p.span = max(p.span, result.elapsed)
	}
	p.span = p.span.Truncate(time.Minute) + time.Minute
	p.printf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\">\n", plotWidth, plotHeight)
	return p
}

func (p *canvas) printf(format string, args ...any) { fmt.Fprintf(p, format, args...) }

func (p *canvas) x(at time.Duration) float64 {
	return plotLeft + (plotRight-plotLeft)*at.Seconds()/p.span.Seconds()
}

// legend names the lines, with what each came to.
func (p *canvas) legend(r row) {
	for i, k := range contenders() {
		result := r.results[i]
		x, y := plotLeft, 52+i*22
		p.printf("<path class=\"line c%d\" d=\"M%d %dh40\"/>\n", i, x, y-4)
		p.printf("<text x=\"%d\" y=\"%d\">%s: %d done after %s, %d rejected, %d bans of %d minutes</text>\n",
			x+48, y, k.name, result.done, clock(result.elapsed),
			len(result.rejected), result.bans, int(banFor.Minutes()))
	}
}

// panel draws axes, and for each contender how many of its times have passed.
func (p *canvas) panel(area panel, title string, r row, times func(result) []time.Duration) {
	most := 1
	for _, result := range r.results {
		most = max(most, len(times(result)))
	}
	step := niceStep(most)
	top := (most + step - 1) / step * step
	y := func(n int) float64 { return area.bottom - (area.bottom-area.top)*float64(n)/float64(top) }
	p.printf("<text x=\"%d\" y=\"%.0f\">%s</text>\n", plotLeft, area.top-10, title)
	for n := 0; n <= top; n += step {
		p.printf("<path class=\"grid\" d=\"M%d %.1fH%d\"/>", plotLeft, y(n), plotRight)
		p.printf("<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%d</text>\n", plotLeft-8, y(n)+4, n)
	}
	for at := time.Duration(0); at <= p.span; at += time.Minute {
		p.printf("<path class=\"grid\" d=\"M%.1f %.0fV%.0f\"/>", p.x(at), area.bottom, area.bottom+5)
		if minutes := int(at.Minutes()); minutes%2 == 0 {
			p.printf("<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%d</text>\n", p.x(at), area.bottom+19, minutes)
		}
	}
	for i := range slices.Backward(r.results) { // ours on top
		p.line(i, times(r.results[i]), r.results[i].elapsed, y)
	}
}

// line draws a staircase, one point for what falls on the same spot.
func (p *canvas) line(class int, times []time.Duration, end time.Duration, y func(int) float64) {
	p.printf("<path class=\"line c%d\" d=\"M%d %.1f", class, plotLeft, y(0))
	last := 0.0
	for n, at := range times {
		if x := p.x(at); x-last >= 0.5 {
			p.printf("V%.1fH%.1fV%.1f", y(n), x, y(n+1))
			last = x
		}
	}
	p.printf("V%.1fH%.1f\"/>\n", y(len(times)), p.x(end))
	p.printf("<circle class=\"end c%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n", class, p.x(end), y(len(times)))
}

// niceStep is the distance of round numbers that divides an axis up to most into three to six parts.
func niceStep(most int) int {
	step := 1
	for i := 0; most/step > 5; i++ {
		step = []int{1, 2, 5}[i%3]
		for range i / 3 {
			step *= 10
		}
	}
	return step
}
