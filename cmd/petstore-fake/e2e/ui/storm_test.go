package ui

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/runtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mouse moves, presses or releases the mouse.
func (b *tab) mouse(kind input.DispatchMouseEventType, x, y float64) {
	b.t.Helper()
	params := input.DispatchMouseEventParams{Type: kind, X: x, Y: y}
	if kind != input.DispatchMouseEventTypeMouseMoved {
		params.Button, params.ClickCount = input.MouseButtonLeft, 1
	}
	call(b, input.DispatchMouseEvent, params)
}

// point moves the mouse.
func (b *tab) point(x, y float64) {
	b.t.Helper()
	b.mouse(input.DispatchMouseEventTypeMouseMoved, x, y)
}

// middle returns the middle of an element.
func (b *tab) middle(element string) (x, y float64) {
	b.t.Helper()
	at := value[[]float64](b, fmt.Sprintf(`(() => { const r = %s.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`, element))
	return at[0], at[1]
}

// pressRow presses the mouse on a row for 90 ms and returns the row that was under it.
func (b *tab) pressRow(n int) string {
	b.t.Helper()
	x, y := b.middle(fmt.Sprintf(`rows()[%d].querySelector(".status")`, n))
	b.run(`window.under = ""; document.addEventListener("pointerdown", (e) => { window.under = e.target.closest("tr")?.id ?? "none: " + e.target.outerHTML.slice(0, 300); }, {once: true, capture: true})`)
	b.mouse(input.DispatchMouseEventTypeMousePressed, x, y)
	<-time.After(90 * time.Millisecond) // as a reader's finger does
	b.mouse(input.DispatchMouseEventTypeMouseReleased, x, y)
	return value[string](b, "window.under")
}

func TestStorm_clicks(t *testing.T) {
	var args, keys []string // each key has 20 requests a minute
	for i := range 3 {
		keys = append(keys, fmt.Sprintf("team-key-%06d", i+1))
		args = append(args, "-key", keys[i]+"=enterprise:20,0")
	}
	p, b := openPage(t, args...)
	for _, rate := range []int{5, 15, 30, 60} {
		stop := p.storm(rate, keys...)
		b.until(`rows().length > 12`)
		for try := range 8 {
			under := b.pressRow(2 + try)
			require.NotContains(t, under, "none")
			b.until(`document.getElementById("detail-title")`)
			b.text("#held", " new") // which wait while the pointer is there
			require.Equal(t, "Request "+under[1:], value[string](b, `document.getElementById("detail-title").textContent`), "at %d a second", rate)
			b.point(5, 5)
			b.run(`document.getElementById("close").click()`)
			b.until(`document.getElementById("detail").hidden`)
		}
		stop()
	}
}

// footprint returns the nodes that a page holds, and the bytes of JavaScript.
func (b *tab) footprint() (nodes int64, heap float64) {
	b.t.Helper()
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
