package quota_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/internal/quota/quotatest"
)

// Deployments that grow while they are at work stay within the limit (rule 10). bench/sim runs more.
func TestBudgetGrowth(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{1, 1}, {4, 2}, {4, 4}, {6, 2}, {8, 8}} {
		for _, perMinute := range []int{60, 300} {
			for _, demand := range []float64{0.4, 1.2, 2.5} {
				for _, told := range []quotatest.Told{quotatest.Untold, quotatest.ToldOld, quotatest.Leaving} {
					if size[0] == 8 && (perMinute == 60 || told != quotatest.Untold) {
						continue
					}
					g := quotatest.Growth{
						Old: size[0], New: size[1], PerMinute: perMinute, Demand: demand, Told: told,
						Window: quotatest.Fixed, CatchUp: true, Seed: 1,
					}
					got := g.Run()
					assert.Zero(t, got.Bans, "bans: %+v", g)
					assert.LessOrEqual(t, got.Worst, 2, "429s: %+v", g)
					assert.GreaterOrEqual(t, got.Share, 0.8, "share: %+v", g)
				}
			}
		}
	}
}

// Processes that want more than the key has share it, whether they start together or one after the
// other.
func TestBudgetHerds(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 4, 8, 16} {
		for _, told := range []bool{false, true} {
			if !told && n == 16 {
				continue
			}
			for _, apart := range []time.Duration{0, 20 * time.Second} {
				random := rand.New(rand.NewPCG(1, 1))
				start := time.Unix(1_000_000_020, 0)
				var processes []*quotatest.Process
				for i := range n {
					p := &quotatest.Process{Workers: 8, Start: start.Add(time.Duration(i) * apart)}
					if told {
						p.Budget.Processes = n
					}
					processes = append(processes, p)
				}
				s := &quotatest.Service{Window: quotatest.Fixed, PerMinute: 60, BanAfter: 5}
				quotatest.Run(s, random, processes, start, start.Add(time.Duration(n)*apart+5*time.Minute))
				assert.Zero(t, s.Bans(), "bans of %d, told: %v", n, told)
				if told {
					assert.Zero(t, s.Rejected(), "429s of %d", n)
				}
			}
		}
	}
}
