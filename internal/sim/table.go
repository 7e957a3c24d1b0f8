package sim

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// row is what the contenders came to in one cell, in their order; those that did not run are missing.
type row struct {
	cell    cell
	results []result
}

// label is what a row of the table begins with.
func (c cell) label() []string {
	return []string{c.condition.name, windowName(c.window), fmt.Sprint(c.perMinute), fmt.Sprint(c.goroutines)}
}

// String is the entry of a result in the table.
func (r result) String() string {
	s := fmt.Sprintf("%d / %d / %.3f", len(r.rejected), r.bans, r.ratio())
	if r.failed > 0 {
		s += fmt.Sprintf(" / %d failed", r.failed)
	}
	return s
}

// table returns the listed rows as lines of fields, the heading first.
func table(rows []row) [][]string {
	heading := []string{"condition", "window", "plan", "goroutines", "bound"}
	for _, k := range contenders() {
		heading = append(heading, k.name)
	}
	lines := [][]string{heading}
	for _, r := range rows {
		if !r.cell.listed() || len(r.results) < len(contenders()) {
			continue
		}
		line := append(r.cell.label(), fmt.Sprintf("%.1f s", r.results[0].bound.Seconds()))
		for _, result := range r.results {
			line = append(line, result.String())
		}
		lines = append(lines, line)
	}
	return lines
}

// summary returns one line of fields for every condition, over its listed cells,
// the heading first.
func summary(rows []row) [][]string {
	lines := [][]string{{"condition", "what"}}
	for _, k := range contenders() {
		lines[0] = append(lines[0], k.name)
	}
	for _, c := range conditions() {
		line := []string{c.name, c.text}
		for i := range contenders() {
			var total total
			for _, r := range rows {
				if r.cell.condition.name == c.name && r.cell.listed() && len(r.results) > i {
					total.add(r.results[i])
				}
			}
			line = append(line, total.String())
		}
		lines = append(lines, line)
	}
	return lines
}

// total is a number of results of one contender.
type total struct {
	cells, rejected, bans, failed int
	sum, worst                    float64 // of ratios
	fewest                        float64 // of all results
}

func (t *total) add(r result) {
	if t.cells++; t.cells == 1 || r.fewest() < t.fewest {
		t.fewest = r.fewest()
	}
	t.rejected += len(r.rejected)
	t.bans += r.bans
	t.failed += r.failed
	t.sum += r.ratio()
	t.worst = max(t.worst, r.ratio())
}

// String is the entry in the summary.
func (t *total) String() string {
	if t.cells == 0 {
		return "-"
	}
	s := fmt.Sprintf("%d / %d / %.3f (%.3f)", t.rejected, t.bans, t.sum/float64(t.cells), t.worst)
	if t.failed > 0 {
		s += fmt.Sprintf(" / %d failed", t.failed)
	}
	return s
}

// text aligns lines of fields for a terminal.
func text(lines [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, line := range lines {
		fmt.Fprintln(w, strings.Join(line, "\t"))
	}
	_ = w.Flush() // into memory
	return b.String()
}

// markdown makes lines of fields a table.
func markdown(lines [][]string) string {
	var b strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(line, " | "))
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(line)) + "|\n")
		}
	}
	return b.String()
}

// labelsIn returns the labels of the rows of the table in a document.
func labelsIn(document string) [][]string {
	var labels [][]string
	n := len(cell{}.label())
	for line := range strings.Lines(document) {
		fields := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		if len(fields) == n+1+len(contenders()) && slices.Contains([]string{"fixed", "aligned", "sliding"}, fields[1]) {
			labels = append(labels, fields[:n])
		}
	}
	return labels
}

func clock(d time.Duration) string {
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}
