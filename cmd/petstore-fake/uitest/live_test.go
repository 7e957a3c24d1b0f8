package uitest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// appears returns after how many milliseconds a request that the page sends is in the list, at best
// of a few: the machine may have something else to do.
func (b *tab) appears() float64 {
	b.t.Helper()
	best := 1e9
	for range 5 {
		best = min(best, value[float64](b, `(async () => {
			const before = document.querySelectorAll("#rows tr").length;
			const begun = performance.now();
			const seen = new Promise((resolve) => new MutationObserver((_, o) => {
				if (document.querySelectorAll("#rows tr").length > before) { o.disconnect(); resolve(); }
			}).observe(document.getElementById("rows"), {childList: true}));
			// Another address each time: of equal requests the browser sends one after the other.
			fetch("/v1/pets?limit=" + (before + 5), {headers: {Authorization: "Bearer fake-api-key"}}).catch(() => {});
			await seen;
			return performance.now() - begun;
		})()`))
	}
	return best
}

func TestList_live(t *testing.T) {
	p := start(t)
	b := newTab(t)
	b.open(p, "")
	b.text("#shown", "No request yet")
	took := b.appears()
	t.Logf("a request was on the page after %.0f ms", took)
	assert.Less(t, took, 1000.0, "milliseconds")
	b.until(`document.querySelectorAll("#rows b.fine").length === 5`)
	b.text("#rows tr", "GET /v1/pets?limit=9")
	b.text("#rows tr .took", "s") // µs, ms or s
}
