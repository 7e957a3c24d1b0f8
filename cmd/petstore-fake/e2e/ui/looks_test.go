package ui

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// allLooks are the states that a reader meets, each with the address at which it begins.
var allLooks = []struct {
	name, query string
	setUp       func(p *program, b *tab)
}{
	{"busy", "", func(_ *program, b *tab) { b.text("#faults", "over") }},
	{"detail", "?text=nori", func(_ *program, b *tab) {
		b.click("#list tbody")
		b.text("#detail", "--data-raw")
	}},
	{"nothing", "?text=status:4x+nowhere&request=999", func(_ *program, b *tab) { b.text("#shown", "Show all") }},
	{"forms", "", func(_ *program, b *tab) {
		b.run(`for (const e of document.querySelectorAll("details")) e.open = true; byId("keys-help").showPopover()`)
		b.send("fault-form", "status=1000")
		b.text("#fault-form .error", "Status 1000 does not lie")
	}},
	{"lost", "", func(p *program, b *tab) { // the program does not come back, so this look is the last
		assert.NoError(p.t, p.process.Signal(syscall.SIGSTOP))
		b.text("#gone", "No response from the program since")
	}},
}

// theme sets what the reader prefers, light or dark.
func (b *tab) theme(name string) {
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: name},
	}})
}

// In both colours, each look fits its window, and axe finds nothing wrong.
func TestLooks(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile("../../../../bin/ui/node_modules/axe-core/axe.min.js")
	if err != nil {
		skip(t, "what judges the page is not there: run .ci/run ui once")
	}
	p, b := openPage(t, "-plan", "free", "-seed", "testdata/pets.json")
	b.text("#shown", "No request yet")
	b.judge("empty", string(axe))
	p.morning()
	p.unwieldy()
	for _, l := range allLooks {
		b.size(1280)
		b.open(p, l.query)
		l.setUp(p, b)
		b.judge(l.name, string(axe))
	}
}

// misfits lists what is wider than its place, outside of the window, cut off, or too low for a
// finger.
const misfits = `(() => {
	const box = (e) => e.getBoundingClientRect(), all = (selector) => [...document.querySelectorAll(selector)];
	return [
		...all("html, section, .scroll").filter((e) => e.scrollWidth > e.clientWidth + 1),
		...all("header *, button, input, select, a.button")
			.filter((e) => box(e).width > 0 && (box(e).left < -1 || box(e).right > innerWidth + 1)),
		...all("#list i").filter((e) => e.scrollWidth > e.clientWidth + 1 || box(e).right > box(e.closest("td")).right + 1),
		...links().filter((a) => box(a).height < 24),
	].map((e) => e.id + " " + e.className + " " + e.textContent.slice(0, 50));
})()`

// judge judges a look in some widths and both colours.
func (b *tab) judge(name, axe string) {
	b.run(axe)
	for _, width := range []int64{320, 390, 721, 800, 993, 1366, 2560, 1280} {
		b.size(width)
		assert.Empty(b.t, value[[]string](b, misfits), "%s %d", name, width)
	}
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		value[bool](b, `new Promise((drawn) => requestAnimationFrame(() => setTimeout(() => drawn(true), 20)))`)
		found := value[[]string](b, `axe.run(document, { resultTypes: ["violations"], preload: false,
			runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })
			.then((r) => [...r.passes.length ? [] : ["nothing judged"],
				...r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html + n.failureSummary))])`)
		assert.Empty(b.t, found, "%s %s", name, theme)
	}
}

// unwieldy fills each part of the page with long texts that have no place to break.
func (p *program) unwieldy() {
	long := strings.Repeat("unbroken", 40)
	for path, body := range map[string]string{
		"POST /_fake/keys":             long,
		"POST /_fake/pets":             `{"name":"` + long + `","categoryId":9223372036854775807}`,
		"POST /v1/pets?" + long + "=1": `{"` + long + `":1,"name":"Rex","categoryId":0}`,
		"GET /v1/" + long:              "",
		"POST /_fake/faults":           "status=503,operation=createPet,retryAfter=" + long,
		"PATCH /_fake/keys/1":          "ban=10m",
	} {
		method, target, _ := strings.Cut(path, " ")
		p.send(method, target, body)
	}
}

// The picture of the documents is made by UPDATE_GOLDEN=1, as in internal/testkit.
func TestPicture(t *testing.T) {
	if os.Getenv("UPDATE_GOLDEN") == "" {
		t.Skip("it is made only on demand")
	}
	p, b := startAt(t, "127.0.0.1:4010", "-plan", "free", "-seed", "testdata/pets.json"), newTab(t)
	p.morning()
	b.theme("light")
	b.open(p, "")
	b.text("#faults", "over")
	path := filepath.Join("..", "..", "..", "..", "docs", "petstore-fake-light.png")
	require.NoError(t, os.WriteFile(path, do(b, chromedp.CaptureScreenshot()), 0o644))
}

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
const watch = `window.frameTimes = []; window.longTasks = 0; let last = performance.now();
	const frame = (now) => { frameTimes.push(now - last); last = now; requestAnimationFrame(frame); };
	requestAnimationFrame(frame);
	new PerformanceObserver((list) => { longTasks += list.getEntries().length; }).observe({ type: "longtask" });`

// The figures of a storm are in the log: run this test alone, and with PETSTORE_STORM=10000.
func TestPage_storm(t *testing.T) {
	requests := 1_000
	if n, err := strconv.Atoi(os.Getenv("PETSTORE_STORM")); err == nil {
		requests = n
	}
	p, b := openPage(t, "-plan", "{}")
	p.burst(200)
	b.rows(100)
	nodes := b.nodes()
	b.run(watch)
	p.burst(requests)
	b.newest(200 + requests)
	t.Logf("p95 of frames %.0f ms, long tasks %d",
		value[float64](b, `frameTimes.sort((a, b) => a - b)[Math.floor(frameTimes.length * .95)]`), value[int](b, "longTasks"))
	b.run("scroller.scrollTop = 1200")
	under := `document.elementFromPoint(300, 400).closest("tbody").id`
	eye := value[string](b, under)
	more := requests * 4 / 5 // the journal keeps the rows that the reader looks at
	p.burst(more)
	assert.Equal(t, eye, value[string](b, under), "the row under the eye is still there")
	b.text("#release", " new")
	b.click("#release")
	b.newest(200 + requests + more)
	b.rows(100)
	assert.Less(t, b.nodes(), nodes*3/2)
}
