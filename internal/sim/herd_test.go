package sim

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
)

// runHerds runs petstore-go in all herds, and the others in the one of eight processes, or everywhere if all is set.
func runHerds(t *testing.T, all bool) []herdRow {
	t.Helper()
	var rows []herdRow
	for _, h := range herds(*seed) {
		row := herdRow{h, make([]total, len(herdContenders()))}
		t.Run("processes", func(t *testing.T) {
			var mu sync.Mutex
			for i, k := range herdContenders() {
				if i > 1 && !all && h.processes != 8 {
					continue
				}
				for _, c := range h.cells {
					t.Run(c.String()+"/"+k.name, func(t *testing.T) {
						t.Parallel()
						synctest.Test(t, func(t *testing.T) {
							r := run(c, k)
							judgeHerd(t, h.processes, i, r)
							mu.Lock()
							defer mu.Unlock()
							row.totals[i].add(r)
						})
					})
				}
			}
		})
		rows = append(rows, row)
	}
	return rows
}

// judgeHerd holds petstore-go to what it promises: no ban for up to eight processes, whether it was told of them
// or not, and next to no rejection.
func judgeHerd(t *testing.T, processes, contender int, r result) {
	t.Helper()
	if processes > 8 || contender > 1 {
		return
	}
	assert.Zero(t, r.bans, "bans")
	most := 3
	if processes == 2 {
		most = 1
	}
	assert.LessOrEqual(t, r.worstWindow(), most, "rejections in a window")
	assert.LessOrEqual(t, r.ratio(), 1.3, "time over the bound")
}

// TestHerds has 2 to 100 processes share a key.
func TestHerds(t *testing.T) {
	rows := runHerds(t, *full)
	t.Logf("429s / bans / mean (worst) time over the bound / share of the slowest process\n%s", text(herdTable(rows)))
}

// TestARunIsTheSameTwice runs one cell of each kind twice. Conditions with failures are not among them: the random
// part of the backoff after one is in nobody's hand.
func TestARunIsTheSameTwice(t *testing.T) {
	for _, c := range []cell{
		plotCell(*seed), herds(*seed)[2].cells[0], {conditions()[0], 0, 60, 512, *seed},
	} {
		for _, k := range herdContenders() {
			var results [2]result
			for i := range results {
				synctest.Test(t, func(*testing.T) { results[i] = run(c, k) })
				results[i].start = results[0].start
				results[i].banEnd = results[0].banEnd
			}
			assert.Equal(t, results[0], results[1], "%s in %s", k.name, c)
		}
	}
}
