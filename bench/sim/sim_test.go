package sim

import (
	"flag"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var seed = flag.Uint64("seed", 1, "the seed of the latencies, the faults and the phase")

// TestTable runs every cell, with -short one of ten. With -v it shows the table.
func TestTable(t *testing.T) {
	sums, texts := map[string]*result{}, []string(nil)
	for i, c := range cells(*seed) {
		if testing.Short() && i%11 != 0 {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := runCell(c)
				assert.Equal(t, c.items(), r.calls)
				assert.True(t, c.promises(r), "%+v; -run 'TestTable/%s$' -seed %d", r, c, c.seed)
				if sums[c.text] == nil {
					sums[c.text], texts = &result{}, append(texts, c.text)
				}
				sum := sums[c.text]
				sum.rejected, sum.bans, sum.failed = sum.rejected+r.rejected, sum.bans+r.bans, sum.failed+r.failed
				sum.ratio = max(sum.ratio, r.ratio)
			})
		})
	}
	table := "\n| condition | 429s | bans | failed calls | longest time / shortest possible |\n|---|--:|--:|--:|--:|\n"
	for _, text := range texts {
		s := sums[text]
		table += fmt.Sprintf("| %s | %d | %d | %d | %.3f |\n", text, s.rejected, s.bans, s.failed, s.ratio)
	}
	t.Log(table)
}
