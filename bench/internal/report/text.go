package report

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Text is the report for a terminal.
func Text(r *Report) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s, %s, %d rounds\n", r.Toolchain, r.Platform, r.Rounds)
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, section := range []func(*Report) []string{
		callLines, connectionLines, writeLines, heapLines, serviceLines, fakeLines, goalLines,
	} {
		for _, line := range section(r) {
			fmt.Fprintln(w, line)
		}
	}
	_ = w.Flush() // into memory
	return out.String()
}

func callLines(r *Report) []string {
	var lines []string
	for _, row := range r.Rows() {
		lines = append(lines, "", row.String()+"\tCPU ns\twall ns\tB\tallocs\tCPU : net/http (quartiles)\tmin–max")
		for _, client := range r.Clients {
			if c := r.Cell(row, client.Name); c != nil {
				ratio := r.Ratio(row, client.Name)
				lines = append(lines, fmt.Sprintf("%s\t%d\t%d\t%d\t%d\t%s\t%.2f–%.2f", client.Name,
					Median(c.CPU), c.Wall, c.Bytes, c.Allocs, ratio, ratio.Min, ratio.Max))
			}
		}
	}
	return lines
}

// String names the row.
func (r Row) String() string {
	if r.Goroutines == 1 {
		return fmt.Sprintf("%s, %s", r.Operation, r.Transport)
	}
	return fmt.Sprintf("%s, %s, %d goroutines", r.Operation, r.Transport, r.Goroutines)
}

func connectionLines(r *Report) []string {
	var lines []string
	for i, c := range r.Connections {
		if i == 0 {
			lines = append(lines, "", "connections\tfor calls\topened\tCPU ns, both sides")
		}
		lines = append(lines, fmt.Sprintf("%s, %s, %s\t%d\t%s\t%d",
			c.Client, c.Scheme, c.Scenario, c.Calls, c.Range(), c.CPU))
	}
	return lines
}

func writeLines(r *Report) []string {
	var lines []string
	for i, w := range r.Writes {
		if i == 0 {
			lines = append(lines, "", "writes to the socket\tper request")
		}
		lines = append(lines, fmt.Sprintf("%s, %s\t%.2f", w.Client, w.Operation, w.PerCall))
	}
	return lines
}

func heapLines(r *Report) []string {
	var lines []string
	for i, h := range r.Heap {
		if i == 0 {
			lines = append(lines, "", "one call on a large body\tallocated\tpeak\tof body or bound")
		}
		lines = append(lines, fmt.Sprintf("%s, %s\t%s\t%s\t%.2f ×, %.2f ×", h.Client, h.Body,
			mebibytes(h.Allocated), mebibytes(h.Peak), h.share(h.Allocated), h.share(h.Peak)))
	}
	return lines
}

func serviceLines(r *Report) []string {
	if r.Service == nil {
		return nil
	}
	return []string{
		"", "a request over TCP, 64 connections\tserver's CPU ns\tratio",
		fmt.Sprintf("fake\t%d\t%s", Median(r.Service.Fake), Ratios(r.Service.Fake, r.Service.Constant)),
		fmt.Sprintf("constant handler\t%d\t1", Median(r.Service.Constant)),
	}
}

func goalLines(r *Report) []string {
	lines := []string{"", "goal\tat most\tmeasured"}
	for _, g := range goals() {
		if cells := g.cells(r); g.measured(r) > 0 {
			lines = append(lines, strings.Join(cells, "\t"))
		}
	}
	return lines
}

func fakeLines(r *Report) []string {
	var lines []string
	for i, b := range r.Fake {
		if i == 0 {
			lines = append(lines, "", "package fake\t")
		}
		lines = append(lines, b.Name+"\t"+b.text(", "))
	}
	return lines
}

// Range is the median of the runs with the fewest and the most.
func (c Connections) Range() string {
	s := c.spread()
	if s.Min == s.Max {
		return fmt.Sprintf("%.0f", s.Min)
	}
	return fmt.Sprintf("%.0f (%.0f–%.0f)", s.Median, s.Min, s.Max)
}

func (c Connections) spread() Spread {
	var numbers []float64
	for _, n := range c.Opened {
		numbers = append(numbers, float64(n))
	}
	return SpreadOf(numbers)
}

func (h Heap) share(bytes int64) float64 { return float64(bytes) / float64(h.Reference) }

func mebibytes(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

func (b Benchmark) text(separator string) string {
	var parts []string
	for _, m := range b.Metrics {
		parts = append(parts, fmt.Sprintf("%s %s", grouped(m.Value), m.Unit))
	}
	return strings.Join(parts, separator)
}

// grouped writes a number with commas between thousands, and with two decimals if it is small.
func grouped(f float64) string {
	if f < 10 && f != float64(int64(f)) {
		return fmt.Sprintf("%.2f", f)
	}
	s := fmt.Sprintf("%.0f", f)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
