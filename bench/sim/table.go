package sim

import (
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// row is the result of a contender in a cell.
type row struct {
	cell      cell
	contender contender
	result
}

// columns are those of the CSV files, after the suite's heading.
var columns = []string{
	"client", "runs", "429s", "bans", "failed", "mean time over bound", "worst", "least share",
	"share of the slowest", "p50 ms", "p99 ms", "worst ms",
}

// csv returns the table of a suite: a line for each text and contender that has rows.
func (s suite) csv(rows []row) string {
	type line struct{ text, contender string }
	groups := map[line][]row{}
	for _, r := range rows {
		l := line{r.cell.text, r.contender.name}
		groups[l] = append(groups[l], r)
	}
	var text strings.Builder
	w := csv.NewWriter(&text)
	_ = w.Write(append([]string{s.heading}, columns...)) // a Builder returns no error
	for _, c := range s.cells {
		for _, k := range s.contenders {
			l := line{c.text, k.name}
			if rows := groups[l]; len(rows) > 0 {
				_ = w.Write(append([]string{l.text, l.contender}, totals(rows)...))
				delete(groups, l) // more cells have this text
			}
		}
	}
	w.Flush()
	return text.String()
}

// totals returns the fields of a line, from its rows.
func totals(rows []row) []string {
	rejected, bans, failed := counts{}, counts{}, counts{}
	var sum, worst float64 // of ratios
	share, fewest := math.Inf(1), math.Inf(1)
	var p50, p99, longest time.Duration
	for _, r := range rows {
		rejected[r.cell.seed] += r.rejected
		bans[r.cell.seed] += r.bans
		failed[r.cell.seed] += r.failed
		sum, worst = sum+r.ratio, max(worst, r.ratio)
		share, fewest = min(share, r.share), min(fewest, r.fewest)
		p50, p99, longest = max(p50, r.p50), max(p99, r.p99), max(longest, r.longest)
	}
	fields := []string{fmt.Sprint(len(rows)), rejected.String(), bans.String(), failed.String()}
	fields = append(fields, fmt.Sprintf("%.3f", sum/float64(len(rows))), fmt.Sprintf("%.3f", worst))
	fields = append(fields, fmt.Sprintf("%.2f", share), fmt.Sprintf("%.2f", fewest))
	for _, d := range []time.Duration{p50, p99, longest} {
		fields = append(fields, fmt.Sprint(d.Milliseconds()))
	}
	return fields
}

// counts has a number for each seed.
type counts map[uint64]int

// String returns the median, and behind it the most if that is another number.
func (c counts) String() string {
	all := slices.Sorted(maps.Values(c))
	median, most := all[len(all)/2], all[len(all)-1]
	if median == most {
		return fmt.Sprint(most)
	}
	return fmt.Sprintf("%d (%d)", median, most)
}

// markdown returns what the document shows of a CSV file: a line for each text, with an entry for
// each contender.
func (s suite) markdown(lines [][]string) string {
	head := []string{s.heading}
	for _, k := range s.contenders {
		head = append(head, k.name)
	}
	table := [][]string{head}
	for _, line := range lines[1:] {
		fields := map[string]string{}
		for i, name := range lines[0] {
			fields[name] = line[i]
		}
		if last := table[len(table)-1]; last[0] != line[0] {
			table = append(table, append(line[:1:1], slices.Repeat([]string{"-"}, len(head)-1)...))
		}
		table[len(table)-1][slices.Index(head, line[1])] = s.entry(fields)
	}
	var text strings.Builder
	for i, line := range table {
		fmt.Fprintf(&text, "| %s |\n", strings.Join(line, " | "))
		if i == 0 {
			text.WriteString(strings.Repeat("|---", len(line)) + "|\n")
		}
	}
	return text.String()
}

// jobEntry is the entry of jobs and herds.
func jobEntry(f map[string]string) string {
	text := fmt.Sprintf("%s, %s, %s (%s)", f["429s"], f["bans"], f["mean time over bound"], f["worst"])
	if f["failed"] != "0" {
		text += fmt.Sprintf(", %s failed", f["failed"])
	}
	return text
}

func loadEntry(f map[string]string) string {
	return fmt.Sprintf("%s, %s, %s, %s", f["p99 ms"], f["worst ms"], f["429s"], f["failed"])
}

func burstEntry(f map[string]string) string {
	worst, _ := strconv.ParseFloat(f["worst"], 64) // as totals wrote it
	return fmt.Sprintf("%s, %.1f", f["failed"], worst)
}

func fleetEntry(f map[string]string) string {
	return fmt.Sprintf("%s, %s, %s, %s", f["429s"], f["bans"], f["least share"], f["share of the slowest"])
}
