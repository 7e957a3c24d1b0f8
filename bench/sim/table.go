package sim

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// row is the results of the contenders in one cell, in their order; those that did not run are
// missing.
type row struct {
	cell    cell
	results []result
}

// label is what a row of the table begins with.
func (c cell) label() []string {
	return []string{c.condition.name, windowName(c.window), fmt.Sprint(c.perMinute), fmt.Sprint(c.goroutines)}
}

// listing returns the listed rows as a table.
func (s suite) listing(rows []row) string {
	lines := [][]string{s.heading("condition", "window", "plan", "goroutines", "bound")}
	for _, r := range rows {
		if !r.cell.listed() || len(r.results) < len(s.contenders) {
			continue
		}
		line := append(r.cell.label(), fmt.Sprintf("%.1f s", r.results[0].bound.Seconds()))
		for _, result := range r.results {
			entry := fmt.Sprintf("%d / %d / %.3f", len(result.rejected), result.bans, result.ratio())
			line = append(line, entry+failures(result.failed))
		}
		lines = append(lines, line)
	}
	return markdown(lines)
}

// summary returns a table with a line for each group of cells with equal labels. heading names the
// labels.
func (s suite) summary(rows []row, label func(cell) []string, entry func(total) string, heading ...string) string {
	lines, at, totals := [][]string{s.heading(heading...)}, map[string]int{}, [][]total{nil}
	for _, r := range rows {
		if len(r.results) == 0 { // not chosen by -run
			continue
		}
		key := strings.Join(label(r.cell), "|")
		if at[key] == 0 {
			at[key] = len(lines)
			lines, totals = append(lines, label(r.cell)), append(totals, make([]total, len(s.contenders)))
		}
		for i := range r.results {
			totals[at[key]][i].add(&r.results[i])
		}
	}
	for i, groups := range totals {
		for _, t := range groups {
			text := "-"
			if t.cells > 0 {
				text = entry(t)
			}
			lines[i] = append(lines[i], text)
		}
	}
	return markdown(lines)
}

func (s suite) heading(labels ...string) []string {
	for _, k := range s.contenders {
		labels = append(labels, k.name)
	}
	return labels
}

// total is a number of results of one contender.
type total struct {
	cells, rejected, bans, failed int
	sum, worst                    float64          // of ratios
	fewest                        float64          // of all results
	waits                         [3]time.Duration // the largest p50, p99 and wait
}

func (t *total) add(r *result) {
	if t.cells++; t.cells == 1 || r.fewest() < t.fewest {
		t.fewest = r.fewest()
	}
	t.rejected += len(r.rejected)
	t.bans += r.bans
	t.failed += r.failed
	t.sum += r.ratio()
	t.worst = max(t.worst, r.ratio())
	for i, q := range []float64{0.5, 0.99, 1} {
		t.waits[i] = max(t.waits[i], r.quantile(q))
	}
}

// jobEntry is the entry in the summary of the jobs.
func jobEntry(t total) string {
	text := fmt.Sprintf("%d / %d / %.3f (%.3f)", t.rejected, t.bans, t.sum/float64(t.cells), t.worst)
	return text + failures(t.failed)
}

func herdEntry(t total) string { return fmt.Sprintf("%s / %.2f", jobEntry(t), t.fewest) }

func loadEntry(t total) string {
	return fmt.Sprintf("%d / %d / %d ms, %d / %d / %d", t.waits[0].Milliseconds(), t.waits[1].Milliseconds(),
		t.waits[2].Milliseconds(), t.rejected, t.bans, t.failed)
}

func failures(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" / %d failed", n)
}

// progress returns a table of the requests that the service had admitted after some minutes.
func (s suite) progress(r row) string {
	minutes := []int{1, 2, 4, 8, 16, 32}
	lines := [][]string{{"client", "429s", "bans", "done after"}}
	for _, m := range minutes {
		lines[0] = append(lines[0], fmt.Sprintf("%d min", m))
	}
	for i, result := range r.results {
		line := []string{
			s.contenders[i].name, fmt.Sprint(len(result.rejected)), fmt.Sprint(result.bans),
			result.elapsed.Truncate(time.Second).String(),
		}
		for _, m := range minutes {
			later := func(at time.Duration) bool { return at > time.Duration(m)*time.Minute }
			n := slices.IndexFunc(append(result.accepted, math.MaxInt64), later)
			line = append(line, fmt.Sprint(n))
		}
		lines = append(lines, line)
	}
	return markdown(lines)
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
