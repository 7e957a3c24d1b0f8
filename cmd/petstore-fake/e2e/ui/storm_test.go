package ui

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
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

// keys are those of a program with so many of them, each with 20 requests a minute.
func keys(n int) (args, list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("team-key-%06d", i+1))
		args = append(args, "-key", list[i]+"=enterprise:20,0")
	}
	return args, list
}

// storm sends requests of several keys in turn, so many a second, until the test or stop ends it.
func (p *program) storm(rate int, keys ...string) (stop func()) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second / time.Duration(rate)):
				_ = p.call(ctx, "/v1/pets?status=available&limit=50", keys[i%len(keys)])
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// pressRow presses the mouse on a row for 90 ms and returns the row that was under it.
func (b *tab) pressRow(n int) string {
	b.t.Helper()
	point := value[[]float64](b, fmt.Sprintf(`(() => { const r = document.querySelectorAll("#rows tr")[%d].querySelector(".status").getBoundingClientRect(); return [r.x + 4, r.y + r.height / 2]; })()`, n))
	b.run(`window.under = ""; document.addEventListener("pointerdown", (e) => { window.under = e.target.closest("tr")?.id ?? "none: " + e.target.outerHTML.slice(0, 300); }, {once: true, capture: true})`)
	mouse := func(kind input.DispatchMouseEventType) {
		call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type: kind, X: point[0], Y: point[1], Button: input.MouseButtonLeft, ClickCount: 1,
		})
	}
	mouse(input.DispatchMouseEventTypeMousePressed)
	<-time.After(90 * time.Millisecond) // as a reader's finger does
	mouse(input.DispatchMouseEventTypeMouseReleased)
	return value[string](b, "window.under")
}

func TestStorm_clicks(t *testing.T) {
	args, list := keys(3)
	p := start(t, args...)
	b := newTab(t)
	b.size(1280, 800)
	for _, rate := range []int{5, 15, 30, 60} {
		stop := p.storm(rate, list...)
		b.open(p, "")
		b.until(`document.querySelectorAll("#rows tr").length > 12`)
		opened := 0
		for try := range 8 {
			under := b.pressRow(2 + try)
			require.NotContains(t, under, "none")
			b.until(`document.getElementById("detail-title")`)
			b.text("#held", " new") // which wait while the pointer is there
			if value[string](b, `document.getElementById("detail-title").textContent`) == "Request "+under[1:] {
				opened++
			}
			b.point(5, 5)
			b.run(`document.getElementById("close").click()`)
			b.until(`document.getElementById("detail").hidden`)
		}
		stop()
		t.Logf("at %d requests a second %d of 8 clicks opened the row under the pointer", rate, opened)
		require.Equal(t, 8, opened)
	}
}

// point moves the mouse.
func (b *tab) point(x, y float64) {
	b.t.Helper()
	call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: x, Y: y})
}

// flood calls listPets so many times, over a few connections at once.
func (p *program) flood(times int) {
	p.t.Helper()
	const workers = 8
	var group sync.WaitGroup
	failed := make([]error, workers)
	for worker := range workers {
		group.Go(func() {
			for i := worker; i < times && failed[worker] == nil; i += workers {
				failed[worker] = p.call(p.t.Context(), "/v1/pets", "fake-api-key")
			}
		})
	}
	group.Wait()
	for _, err := range failed {
		require.NoError(p.t, err)
	}
}

// call sends a GET with a key.
func (p *program) call(ctx context.Context, path, key string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.origin+path, http.NoBody)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// footprint is what a page holds.
type footprint struct {
	nodes int64
	heap  float64 // of JavaScript, in bytes
}

func (b *tab) footprint() footprint {
	b.t.Helper()
	for range 3 { // what finalizers let go, the next round takes
		call(b, heapprofiler.CollectGarbage, cdp.Empty{})
	}
	return footprint{
		call(b, memory.GetDOMCounters, cdp.Empty{}).Nodes, call(b, runtime.GetHeapUsage, cdp.Empty{}).UsedSize,
	}
}

func TestPage_tenThousandRequests(t *testing.T) {
	t.Parallel()
	p := start(t, "-plan", "enterprise:0,0")
	p.flood(10_000)
	b := newTab(t)
	b.open(p, "")
	b.until(`document.querySelectorAll("#rows tr").length === 200`)

	before := b.footprint()
	for range 2 {
		p.flood(5_000)
		b.until(`document.querySelector("#rows tr").id === "r" + ` + p.lastSeq())
	}
	after := b.footprint()
	t.Logf("the page holds %d nodes and %.1f MB; 10,000 requests later %d and %.1f MB",
		before.nodes, before.heap/1e6, after.nodes, after.heap/1e6)
	b.rows(200)
	assert.Less(t, after.nodes, before.nodes*3/2)
	assert.Less(t, after.heap, 2*before.heap+5e6)
	assert.Less(t, after.nodes, int64(12_000))
}

// lastSeq returns the seq of the last request, as JSON has it.
func (p *program) lastSeq() string {
	p.t.Helper()
	_, after, found := strings.Cut(p.send(http.MethodGet, "/_fake/requests?limit=1", "").body, `"seq":`)
	require.True(p.t, found)
	seq, _, _ := strings.Cut(after, ",")
	return seq
}
