package sim

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/petstore/petstore-go/internal/quota/quotatest"
)

// growths has deployments that grow while they are at work, with the rules alone in place of
// clients: 1,080 of up to eight processes, and larger ones.
func growths() []quotatest.Growth {
	var all []quotatest.Growth
	for _, size := range [][2]int{{1, 1}, {2, 2}, {4, 2}, {4, 4}, {6, 2}, {8, 4}, {8, 8}, {16, 4}, {32, 4}} {
		for i := range 3 * 4 * 2 * 3 * 3 * 2 {
			take := func(n int) int { defer func() { i /= n }(); return i % n }
			g := quotatest.Growth{
				Old: size[0], New: size[1],
				PerMinute: []int{60, 300, 1_000}[take(3)],
				Demand:    []float64{0.4, 0.8, 1.2, 2.5}[take(4)],
				Within:    []time.Duration{0, 20 * time.Second}[take(2)],
				Told:      []quotatest.Told{quotatest.Untold, quotatest.ToldOld, quotatest.Leaving}[take(3)],
				Seed:      uint64(take(3)), // below 3
				Window:    []quotatest.Window{quotatest.Fixed, quotatest.Sliding}[take(2)],
			}
			g.CatchUp = g.Seed != 0
			if g.Seed == 2 && g.Window == quotatest.Fixed {
				g.Window = quotatest.Aligned
			}
			if size[0] < 8 || g.Told == quotatest.Untold {
				all = append(all, g)
			}
		}
	}
	return all
}

// growthText names the line of the document for a deployment.
func growthText(g quotatest.Growth) string {
	window := "fixed or aligned"
	if g.Window == quotatest.Sliding {
		window = "sliding"
	}
	if g.Old < 8 {
		return fmt.Sprintf("up to 8, %s", window)
	}
	return fmt.Sprintf("%d + %d, %s", g.Old, g.New, window)
}

// growthHolds reports whether a deployment is one that the rules keep within the limit, also when
// nobody tells it how many processes there are.
func growthHolds(g quotatest.Growth) bool {
	return g.Window != quotatest.Sliding && (g.Old < 8 || g.PerMinute > 60)
}

// growthTable returns the table of the outcomes of deployments, which are in the same order.
func growthTable(all []quotatest.Growth, outcomes []quotatest.Grown) string {
	type place struct {
		text      string
		perMinute int
	}
	type sum struct {
		runs, rejected, banned int
		share                  float64
	}
	sums := map[place]*sum{}
	var texts []string
	for i, g := range all {
		p := place{growthText(g), g.PerMinute}
		if !slices.Contains(texts, p.text) {
			texts = append(texts, p.text)
		}
		if sums[p] == nil {
			sums[p] = &sum{share: math.Inf(1)}
		}
		s := sums[p]
		s.runs++
		s.rejected += outcomes[i].Rejected
		s.banned += min(1, outcomes[i].Bans)
		s.share = min(s.share, outcomes[i].Share)
	}
	lines := [][]string{{"processes, windows", "runs", "60", "300", "1,000"}}
	for _, text := range texts {
		line := []string{text, fmt.Sprint(3 * sums[place{text, 60}].runs)}
		for _, perMinute := range []int{60, 300, 1_000} {
			s := sums[place{text, perMinute}]
			line = append(line, fmt.Sprintf("%d, %d, %.2f", s.rejected, s.banned, s.share))
		}
		lines = append(lines, line)
	}
	return table(lines)
}
