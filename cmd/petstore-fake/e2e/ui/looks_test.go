package ui

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

// theme sets the colour scheme that the browser prefers: light or dark.
func (b *tab) theme(name string) {
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
	require.NoError(b.t, err)
}

// TestLooks puts the page into several states. In each state, everything must fit into the browser
// at each width, and axe must find no problem of accessibility in the light or the dark colours.
// UPDATE_GOLDEN=1 also makes the picture in docs.
func TestLooks(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile("../../../../bin/ui/node_modules/axe-core/axe.min.js")
	if err != nil && os.Getenv("PETSTORE_UI") == "" {
		t.Skip("what judges the page is not there: run .ci/run fetch once")
	}
	require.NoError(t, err)
	p, b := openPage(t, fake.WithPlan(fake.PlanFree))
	b.text("#shown", "No request yet")
	b.judge("empty", string(axe))
	p.morning()
	b.text("#faults", "over")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		b.theme("light")
		b.run(`byId("base").innerText = "http://127.0.0.1:4010/v1"`)
		picture := do(b, chromedp.CaptureScreenshot())
		require.NoError(t, os.WriteFile("../../../../docs/petstore-fake-light.png", picture, 0o644))
	}
	long := strings.Repeat("unbroken", 40) // a word without a place to break, for each part of the page
	p.send("POST", "/_fake/keys", long)
	p.send("POST", "/_fake/pets", `{"name":"`+long+`","categoryId":9223372036854775807}`)
	p.send("POST", "/v1/pets?"+long+"=1", `{"`+long+`":1,"name":"Rex","categoryId":0}`)
	p.send("GET", "/v1/"+long, "")
	p.send("POST", "/_fake/faults", "status=503,operation=createPet,retryAfter="+long)
	p.send("PATCH", "/_fake/keys/1", "ban=10m")
	b.text("#strip", "1 key banned") // the last change: the page then shows the others, too
	b.judge("busy", string(axe))
	b.open(p, "?text=nori")
	b.click("#list tbody")
	b.text("#detail", "--data-raw")
	b.judge("one request", string(axe))
	b.open(p, "?text=status:4xx+nowhere&request=999")
	b.text("#shown", "Show all")
	b.judge("nothing found", string(axe))
	b.open(p, "")
	b.run(`for (const e of document.querySelectorAll("details")) e.open = true; byId("set-clock").showPopover()`)
	b.send("fault-form", "status=1000")
	b.text("#fault-form .error", "Status 1000 does not lie")
	b.judge("forms", string(axe))
	b.open(p, "")
	p.stopped.Lock() // from now on, no request gets a response
	b.text("#gone", "No response from the program since")
	b.judge("lost", string(axe))
}

// misfits is JavaScript that lists badly placed elements: content that is wider than its container,
// controls that are partly outside the browser's window, notes that are cut off, and rows of fewer
// than 24 pixels, which are too low for a finger.
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

// judge checks the page in its present state: with misfits at several widths, and with axe in both
// colour schemes. The parameter name is the name of the state.
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
