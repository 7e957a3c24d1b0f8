package sim

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestLoads holds petstore-go to what it promises far from the limit: nobody notices it.
func TestLoads(t *testing.T) {
	for _, l := range loads(*seed) {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := l.run(loadClient)
				t.Log(a)
				assert.Zero(t, a.rejected, "rejected")
				assert.Zero(t, a.bans, "bans")
				assert.Zero(t, a.refused, "refused in vain")
				assert.Zero(t, a.failed, "failed")
				assert.Zero(t, a.quantile(0.5), "p50")
				assert.LessOrEqual(t, a.quantile(0.99), 150*time.Millisecond, "p99")
				assert.LessOrEqual(t, a.quantile(1), 250*time.Millisecond, "worst")
			})
		})
	}
}
