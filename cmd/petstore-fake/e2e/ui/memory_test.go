package ui

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/runtime"
	"github.com/stretchr/testify/assert"
)

// footprint returns the nodes that a page holds, and the bytes of JavaScript.
func (b *tab) footprint() (nodes int64, heap float64) {
	b.t.Helper()
	b.run("stream.close()") // or what an update has parsed may be counted before it is collected
	defer b.run("listen()")
	b.until("!asking && !again")
	for range 3 { // what finalizers let go, the next round takes
		call(b, heapprofiler.CollectGarbage, cdp.Empty{})
	}
	return call(b, memory.GetDOMCounters, cdp.Empty{}).Nodes, call(b, runtime.GetHeapUsage, cdp.Empty{}).UsedSize
}

func TestPage_tenThousandRequests(t *testing.T) {
	t.Parallel()
	p := start(t, "-plan", "enterprise:0,0")
	p.list(10_000)
	b := newTab(t)
	b.open(p, "")
	b.rows(200)
	nodes, heap := b.footprint()
	for round := range 2 {
		p.list(5_000)
		b.until(fmt.Sprintf(`byId("r%d")`, 15_000+5_000*round))
	}
	nodesAfter, heapAfter := b.footprint()
	t.Logf("the page holds %d nodes and %.1f MB; 10,000 requests later %d and %.1f MB", nodes, heap/1e6, nodesAfter, heapAfter/1e6)
	b.rows(200)
	assert.Less(t, nodesAfter, nodes*3/2)
	assert.Less(t, heapAfter, 2*heap+5e6)
	assert.Less(t, nodesAfter, int64(12_000))
}
