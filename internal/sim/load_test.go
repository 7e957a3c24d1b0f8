package sim

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
)

// runLoads runs the loads, and holds petstore-go to what it promises far from the limit: nobody notices it.
func runLoads(t *testing.T) []loadRow {
	t.Helper()
	rows := make([]loadRow, len(loads(*seed)))
	var mu sync.Mutex
	t.Run("load", func(t *testing.T) {
		for i, l := range loads(*seed) {
			t.Run(l.String(), func(t *testing.T) {
				t.Parallel()
				row := loadRow{load: l}
				synctest.Test(t, func(*testing.T) { row.ours = l.run(loadClient) })
				synctest.Test(t, func(*testing.T) { row.theirs = l.run(loadRetryable) })
				judgeLoad(t, l, row.ours)
				mu.Lock()
				defer mu.Unlock()
				rows[i] = row
			})
		}
	})
	return rows
}

func judgeLoad(t *testing.T, l load, a added) {
	t.Helper()
	p99, worst := l.promise()
	assert.Zero(t, a.rejected, "rejected")
	assert.Zero(t, a.bans, "bans")
	assert.Zero(t, a.refused, "refused in vain")
	assert.Zero(t, a.failed, "failed")
	assert.LessOrEqual(t, a.quantile(0.5), l.median(), "p50")
	assert.LessOrEqual(t, a.quantile(0.99), p99, "p99")
	assert.LessOrEqual(t, a.quantile(1), worst, "worst")
	assert.Positive(t, a.calls)
}

// TestLoads has programs ask for a fifth and a half of what the key allows.
func TestLoads(t *testing.T) {
	t.Logf("added latency\n%s", text(loadTable(runLoads(t))))
}
