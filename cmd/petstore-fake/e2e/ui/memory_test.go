package ui

import (
	"os"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/stretchr/testify/assert"
)

// nodes returns how many nodes the page holds.
func (b *tab) nodes() int64 {
	b.run("turn++; clearTimeout(timer)") // no update may leave garbage while this counts
	defer b.run("refresh()")
	for range 3 { // the next round collects what finalizers have released
		call(b, heapprofiler.CollectGarbage, cdp.Empty{})
	}
	return call(b, memory.GetDOMCounters, cdp.Empty{}).Nodes
}

// watch has the page note its frames and its long tasks.
const watch = `window.frames_ = []; window.tasks = 0; let last = performance.now();
	const frame = (now) => { frames_.push(now - last); last = now; requestAnimationFrame(frame); };
	requestAnimationFrame(frame);
	new PerformanceObserver((list) => { tasks += list.getEntries().length; }).observe({ type: "longtask" });`

// The figures of a storm are in the log: run this test alone, and with PETSTORE_STORM=10000.
func TestPage_storm(t *testing.T) {
	requests := 1_000
	if n, err := strconv.Atoi(os.Getenv("PETSTORE_STORM")); err == nil {
		requests = n
	}
	p, b := openPage(t, "-plan", "{}")
	p.burst(200, 900)
	b.rows(100)
	nodes := b.nodes()
	storm := func(how string) {
		b.run(watch)
		p.burst(requests, 900)
		t.Logf("%s: p95 of frames %.0f ms, long tasks %.0f", how,
			value[float64](b, `frames_.sort((a, b) => a - b)[Math.floor(frames_.length * .95)]`), value[float64](b, "tasks"))
	}
	storm("the list follows")
	b.newest(200 + requests)
	b.run("scroller.scrollTop = 1200")
	under := `document.elementFromPoint(300, 400).closest("tbody").id`
	eye := value[string](b, under)
	storm("scrolled to 1200")
	assert.Equal(t, eye, value[string](b, under), "the row under the eye is still there")
	b.text("#release", " new")
	b.click("#release")
	b.newest(200 + 2*requests)
	b.rows(100)
	assert.Less(t, b.nodes(), nodes*3/2)
}
