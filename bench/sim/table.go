package sim

import (
	"fmt"
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

// csv returns all rows, a line for each contender in each cell.
func (s suite) csv(rows []row) [][]string {
	lines := [][]string{{
		"cell", "client", "429s", "bans", "failed", "done", "over bound", "share", "p50 ms", "p99 ms", "worst ms",
		"least share",
	}}
	for _, r := range rows {
		for i, result := range r.results {
			ms := func(q float64) string { return fmt.Sprint(result.quantile(q).Milliseconds()) }
			lines = append(lines, []string{
				r.cell.String(), s.contenders[i].name, fmt.Sprint(len(result.rejected)), fmt.Sprint(result.bans),
				fmt.Sprint(result.failed), fmt.Sprint(result.done), fmt.Sprintf("%.3f", result.ratio()),
				fmt.Sprintf("%.3f", result.share), ms(0.5), ms(0.99), ms(1), fmt.Sprintf("%.2f", result.fewest()),
			})
		}
	}
	return lines
}

// summary returns a table with a line for each group of cells with equal labels.
func (s suite) summary(rows []row) string {
	lines, at, totals := [][]string{s.headings()}, map[string]int{}, [][]total{nil}
	for _, r := range rows {
		if len(r.results) == 0 { // not chosen by -run
			continue
		}
		key := strings.Join(s.label(r.cell), "|")
		if at[key] == 0 {
			at[key] = len(lines)
			lines, totals = append(lines, s.label(r.cell)), append(totals, make([]total, len(s.contenders)))
		}
		for i := range r.results {
			totals[at[key]][i].add(&r.results[i])
		}
	}
	for i, groups := range totals {
		for _, t := range groups {
			text := "-"
			if t.cells > 0 {
				text = s.entry(t)
			}
			lines[i] = append(lines[i], text)
		}
	}
	return markdown(lines)
}

func (s suite) headings() []string {
	line := slices.Clone(s.heading)
	for _, k := range s.contenders {
		line = append(line, k.name)
	}
	return line
}

// total is a number of results of one contender.
type total struct {
	cells, rejected, bans, failed int
	sum, worst                    float64          // of ratios
	fewest, share                 float64          // of all results
	waits                         [3]time.Duration // the largest p50, p99 and wait
}

func (t *total) add(r *result) {
	if t.cells++; t.cells == 1 {
		t.fewest, t.share = r.fewest(), r.share
	}
	t.fewest, t.share = min(t.fewest, r.fewest()), min(t.share, r.share)
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

// burstEntry is the entry of bursts: calls that failed, and the worst time without a limiter.
func burstEntry(t total) string { return fmt.Sprintf("%d / %.1f", t.failed, t.worst) }

func fleetEntry(t total) string {
	return fmt.Sprintf("%d / %d / %.2f / %.2f", t.rejected, t.bans, t.share, t.fewest)
}

func failures(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" / %d failed", n)
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
