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

// group is the results of each contender in the cells that share a line of the table.
type group struct {
	label  string
	totals []total // of each contender
}

// groups returns a group for each label, in the order of the rows.
func (s suite) groups(rows []row) []group {
	var groups []group
	for _, r := range rows {
		label := s.label(r.cell)
		i := slices.IndexFunc(groups, func(g group) bool { return g.label == label })
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{label, make([]total, len(s.contenders))})
		}
		for k := range r.results {
			groups[i].totals[k].add(r.cell.seed, &r.results[k])
		}
	}
	return groups
}

// csv returns a line for each contender in each group.
func (s suite) csv(groups []group) [][]string {
	lines := [][]string{{
		s.heading, "client", "runs", "429s", "bans", "failed", "mean time over bound", "worst", "least share",
		"share of the slowest", "p50 ms", "p99 ms", "worst ms",
	}}
	for _, g := range groups {
		for i, t := range g.totals {
			if t.runs == 0 {
				continue
			}
			lines = append(lines, []string{
				g.label, s.contenders[i].name, fmt.Sprint(t.runs),
				t.rejected.String(), t.bans.String(), t.failed.String(),
				fmt.Sprintf("%.3f", t.sum/float64(t.runs)), fmt.Sprintf("%.3f", t.worst), fmt.Sprintf("%.2f", t.share),
				fmt.Sprintf("%.2f", t.fewest), ms(t.waits[0]), ms(t.waits[1]), ms(t.waits[2]),
			})
		}
	}
	return lines
}

func ms(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }

// summary returns a table with a line for each group.
func (s suite) summary(groups []group) string {
	lines := [][]string{{s.heading}}
	for _, g := range groups {
		lines = append(lines, []string{g.label})
	}
	for i, k := range s.contenders {
		lines[0] = append(lines[0], k.name)
		for n, g := range groups {
			text := "-"
			if g.totals[i].runs > 0 {
				text = s.entry(g.totals[i])
			}
			lines[n+1] = append(lines[n+1], text)
		}
	}
	return markdown(lines)
}

// total is a number of results of one contender.
type total struct {
	runs                   int
	rejected, bans, failed counts
	sum, worst             float64          // of ratios
	fewest, share          float64          // of all results
	waits                  [3]time.Duration // the largest p50, p99 and wait
}

// counts has a number for each seed.
type counts map[uint64]int

// String returns the median, and behind it the most if that is another number.
func (c counts) String() string {
	var all []int
	for _, n := range c {
		all = append(all, n)
	}
	slices.Sort(all)
	median, most := all[len(all)/2], all[len(all)-1]
	if median == most {
		return fmt.Sprint(most)
	}
	return fmt.Sprintf("%d (%d)", median, most)
}

func (t *total) add(seed uint64, r *result) {
	if t.runs++; t.runs == 1 {
		t.fewest, t.share = r.fewest(), r.share
		t.rejected, t.bans, t.failed = counts{}, counts{}, counts{}
	}
	t.fewest, t.share = min(t.fewest, r.fewest()), min(t.share, r.share)
	t.rejected[seed] += len(r.rejected)
	t.bans[seed] += r.bans
	t.failed[seed] += r.failed
	t.sum += r.ratio()
	t.worst = max(t.worst, r.ratio())
	for i, q := range []float64{0.5, 0.99, 1} {
		t.waits[i] = max(t.waits[i], r.quantile(q))
	}
}

// jobEntry is the entry of jobs and herds.
func jobEntry(t total) string {
	text := fmt.Sprintf("%v, %v, %.3f (%.3f)", t.rejected, t.bans, t.sum/float64(t.runs), t.worst)
	if failed := t.failed.String(); failed != "0" {
		text += fmt.Sprintf(", %s failed", failed)
	}
	return text
}

func loadEntry(t total) string {
	return fmt.Sprintf("%s, %s, %v, %v", ms(t.waits[1]), ms(t.waits[2]), t.rejected, t.failed)
}

func burstEntry(t total) string { return fmt.Sprintf("%v, %.1f", t.failed, t.worst) }

func fleetEntry(t total) string {
	return fmt.Sprintf("%v, %v, %.2f, %.2f", t.rejected, t.bans, t.share, t.fewest)
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
