package sim

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// row is the result of a cell.
type row struct {
	cell cell
	told bool
	result
}

// total is the rows that an entry of the document stands for.
type total struct {
	runs, rejected, bans, failed int
	sum, worst                   float64 // of ratios
	share, fewest                float64 // the least
	p99, longest                 time.Duration
}

func (t *total) add(r row) {
	if t.runs == 0 {
		t.share, t.fewest = math.Inf(1), math.Inf(1)
	}
	t.runs++
	t.rejected, t.bans, t.failed = t.rejected+r.rejected, t.bans+r.bans, t.failed+r.failed
	t.sum, t.worst = t.sum+r.ratio, max(t.worst, r.ratio)
	t.share, t.fewest = min(t.share, r.share), min(t.fewest, r.fewest)
	t.p99, t.longest = max(t.p99, r.p99), max(t.longest, r.longest)
}

// markdown returns the table of a suite: a line for each text of its cells.
func (s suite) markdown(rows []row) string {
	type place struct {
		text string
		told bool
	}
	totals := map[place]*total{}
	for _, r := range rows {
		p := place{r.cell.text, r.told}
		if totals[p] == nil {
			totals[p] = &total{}
		}
		totals[p].add(r)
	}
	lines := [][]string{{s.heading, "untold", "told"}}
	seen := map[string]bool{}
	for _, c := range s.cells {
		if seen[c.text] {
			continue // more cells have this text
		}
		seen[c.text] = true
		line := []string{c.text, s.entry(*totals[place{c.text, false}])}
		if s.toldToo {
			line = append(line, s.entry(*totals[place{c.text, true}]))
		}
		lines = append(lines, line)
	}
	if !s.toldToo {
		lines[0] = []string{s.heading, "petstore-go"}
	}
	return table(lines)
}

// table returns lines, the first of which is the head, as Markdown.
func table(lines [][]string) string {
	var text strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&text, "| %s |\n", strings.Join(line, " | "))
		if i == 0 {
			text.WriteString(strings.Repeat("|---", len(line)) + "|\n")
		}
	}
	return text.String()
}

func jobEntry(t total) string {
	text := fmt.Sprintf("%d, %d, %.3f (%.3f)", t.rejected, t.bans, t.sum/float64(t.runs), t.worst)
	if t.failed > 0 {
		text += fmt.Sprintf(", %d failed", t.failed)
	}
	return text
}

func loadEntry(t total) string {
	return fmt.Sprintf("%d, %d, %d, %d", t.p99.Milliseconds(), t.longest.Milliseconds(), t.rejected, t.failed)
}

func burstEntry(t total) string { return fmt.Sprintf("%d, %.1f", t.failed, t.worst) }

func fleetEntry(t total) string {
	return fmt.Sprintf("%d, %d, %.2f, %.2f", t.rejected, t.bans, t.share, t.fewest)
}
