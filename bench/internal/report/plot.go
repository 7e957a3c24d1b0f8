package report

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// The plot has a panel for each transport, a band for each operation and in it a lane for each client. The
// scale is logarithmic: twice as fast is as far from the yardstick as half as fast.

const (
	plotWidth   = 860
	panelWidth  = 360
	panelTop    = 96
	laneHeight  = 11
	bandGap     = 14
	leftMargin  = 72
	panelGap    = 36
	lowestRatio = 0.2
	highest     = 5.0
)

// colours are told apart on white and on black; ours stands out.
var colours = []string{"#e8590c", "#868e96", "#1c7ed6", "#0ca678", "#8b6cf6", "#e64980", "#b08900"}

// Plot returns an SVG of the ratios of calls made one after another.
func Plot(r *Report) string {
	bands := len(r.bands("stub"))
	height := panelTop + bands*(len(r.Clients)*laneHeight+bandGap) + 40
	p := &plot{report: r, bottom: height - 36}
	p.open(height)
	p.legend()
	for i, transport := range []string{"stub", "TCP"} {
		p.panel(leftMargin+i*(panelWidth+panelGap), transport, i == 0)
	}
	p.printf("</svg>\n")
	return p.out.String()
}

type plot struct {
	report *Report
	out    strings.Builder
	bottom int
}

func (p *plot) printf(format string, args ...any) { fmt.Fprintf(&p.out, format, args...) }

// text writes at x, y; anchor is start, middle or end.
func (p *plot) text(x, y int, class, anchor, text string) {
	p.printf(`<text x="%d" y="%d" class="%s" text-anchor="%s">%s</text>`+"\n",
		x, y, class, anchor, html.EscapeString(text))
}

func (p *plot) open(height int) {
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n",
		plotWidth, height, plotWidth, height)
	p.printf("<title>CPU time per call as a ratio to net/http with encoding/json, %s</title>\n",
		html.EscapeString(p.report.Toolchain))
	p.printf(`<style>
text { font: 12px system-ui, sans-serif; fill: #24292f }
.title { font-size: 15px; font-weight: 600 }
.soft { fill: #57606a }
.back { fill: #ffffff }
.grid { stroke: #d0d7de }
.one { stroke: #57606a }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .soft { fill: #9da7b1 }
  .back { fill: #0d1117 }
  .grid { stroke: #30363d }
  .one { stroke: #9da7b1 }
}
</style>
`)
	p.printf(`<rect class="back" width="%d" height="%d" rx="6"/>`+"\n", plotWidth, height)
	p.text(16, 26, "title", "start", "CPU time per call : net/http with encoding/json (less is better)")
	p.text(plotWidth-16, 26, "soft", "end", p.report.Toolchain)
}

func (p *plot) legend() {
	x := 16
	for i, c := range p.report.Clients {
		if i == 1 {
			continue // it is the line at 1
		}
		p.printf(`<circle cx="%d" cy="48" r="%d" fill="%s"/>`+"\n", x+5, radius(i), colours[i%len(colours)])
		p.text(x+14, 52, "", "start", c.Name)
		x += 34 + 7*len(c.Name)
	}
}

// radius makes ours larger.
func radius(client int) int {
	if client == 0 {
		return 5
	}
	return 4
}

func (p *plot) panel(left int, transport string, labels bool) {
	p.text(left+panelWidth/2, 78, "", "middle", map[string]string{
		"stub": "without a network (stub transport)", "TCP": "over TCP on loopback",
	}[transport])
	for ratio := 0.25; ratio <= highest; ratio *= 2 {
		class := "grid"
		if ratio == 1 {
			class = "one"
		}
		x := left + place(ratio)
		p.printf(`<line class="%s" x1="%d" x2="%d" y1="%d" y2="%d"/>`+"\n", class, x, x, panelTop-8, p.bottom)
		p.text(x, p.bottom+16, "soft", "middle", fmt.Sprintf("%g", ratio))
	}
	y := panelTop
	for _, row := range p.report.bands(transport) {
		if labels {
			p.text(left-10, y+len(p.report.Clients)*laneHeight/2, "", "end", row.Operation)
		}
		p.band(left, y, row)
		y += len(p.report.Clients)*laneHeight + bandGap
	}
}

// band draws a dot for the median of each client, on a bar from quartile to quartile.
func (p *plot) band(left, top int, row Row) {
	lane := 0
	for i, c := range p.report.Clients {
		s := p.report.Ratio(row, c.Name)
		if i == 1 || s.Median <= 0 {
			continue
		}
		y := top + lane*laneHeight + laneHeight/2
		colour := colours[i%len(colours)]
		p.printf(`<line x1="%d" x2="%d" y1="%d" y2="%d" stroke="%s" stroke-width="2"/>`+"\n",
			left+place(s.Lower), left+place(s.Upper), y, y, colour)
		p.printf(`<circle cx="%d" cy="%d" r="%d" fill="%s"><title>%s, %s: %s</title></circle>`+"\n",
			left+place(s.Median), y, radius(i), colour, html.EscapeString(c.Name), html.EscapeString(row.String()), s)
		lane++
	}
}

// bands are the rows of one transport whose calls were made one after another.
func (r *Report) bands(transport string) []Row {
	var rows []Row
	for _, row := range r.Rows() {
		if row.Transport == transport && row.Goroutines == 1 {
			rows = append(rows, row)
		}
	}
	return rows
}

// place is where on the scale a ratio is; what is off the scale stands at its end.
func place(ratio float64) int {
	share := math.Log(ratio/lowestRatio) / math.Log(highest/lowestRatio)
	return int(math.Round(panelWidth * min(max(share, 0), 1)))
}
