package ui

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

func TestFind(t *testing.T) {
	t.Parallel()
	p, b := openPage(t, fake.WithPlan(fake.Plan{}))
	p.list(2)
	p.send(http.MethodPost, "/v1/pets", `{"name":"Rex"}`)
	value[bool](b, `fetch("/v1/nothing").then(() => true)`) // a request without a key
	b.find("rex")
	b.text("#said", "1 of 4 requests")
	b.click("#counts .refused")
	b.rows(2)
	b.click("#counts .refused")
	b.rows(4)
	b.find("nothing has this")
	b.click("#shown a")
	b.until(`location.search === "" && find.value === ""`)
	b.find("key:none")
	b.rows(1)
	b.click("#list tbody")
	b.text("#detail", "no operation")
	b.click("#close")
	b.until(`byId("detail").hidden && location.search === "?text=key%3Anone"`)
	b.run("history.back()")
	b.text("#detail-title", "Request 4")
}

func TestList_standsStill(t *testing.T) {
	p, b := openPage(t, fake.WithPlan(fake.Plan{}))
	p.list(105)
	b.newest(105)
	stands := func(why, at string, n int) {
		t.Helper()
		b.until(`!byId("release")`)
		value[bool](b, "refresh().then(() => true)") // an earlier response, with new rows, may be on its way
		y := value[float64](b, at+".getBoundingClientRect().top")
		p.list(n)
		b.text("#release", fmt.Sprint(n, " new"))
		assert.Equal(t, y, value[float64](b, at+".getBoundingClientRect().top"), why)
	}
	b.run("scroller.scrollTop = 1200")
	stands("scrolled", "links()[50]", 200)
	b.click("#release")
	b.newest(305)
	b.run("links()[3].focus()")
	stands("focus", "document.activeElement", 3)
	b.run("document.activeElement.blur()")
	b.newest(308)
	b.run(`links()[2].dispatchEvent(new PointerEvent("pointermove", { bubbles: true }))`)
	stands("a pointer", "links()[2]", 24) // the row must stay under the mouse
	b.click("#r306")
	b.text("#detail-title", "Request 306")
	b.run(`const now = Date.now; Date.now = () => now() + 3000; document.activeElement.blur()`)
	b.newest(332) // after the mouse has not moved for 3 s
	b.rows(100)
}

func TestDetail(t *testing.T) {
	p, b := openPage(t)
	p.send(http.MethodPost, "/v1/pets?dry=1", `{"name":"it's Rex","categoryId":9223372036854775807}`)
	b.click("#r1 .status")
	b.text("#detail", `--data-raw '{"name":"it'\''s Rex"`)
	b.text("#said", "Request 1: 201 POST /v1/pets?dry=1")
	assert.True(t, value[bool](b, `["#request-body", "#response-body"].every((s) => {
		const r = document.querySelector(s).getBoundingClientRect();
		return r.height >= 40 && r.bottom <= document.querySelector("#detail .scroll").getBoundingClientRect().bottom;
	})`), "at 1280 × 800 both bodies are seen without scrolling")
	b.run(`navigator.clipboard.writeText = async (text) => { window.copied = text; }`)
	b.click(`[data-copy="curl"]`)
	b.text("#message", "Copied")
	b.until(`copied === byId("curl").textContent`)
	b.size(640)
	b.until(`byId("detail-title").getBoundingClientRect().top < innerHeight / 2`)
}

// Each control of the page changes the program, and the page shows the change.
func TestControls(t *testing.T) {
	t.Parallel()
	p, b := openPage(t, fake.WithPlan(fake.Plan{PerMinute: 5, PerDay: 7}))
	p.list(5)
	b.text("#gauge-minute", "0 of 5 a minute resets in")
	b.click("#use-up-day")
	b.text("#gauge-day", "0 of 7 a day resets in")
	b.send("key-form", "ban=10m")
	b.text("#strip", "1 key banned")
	b.click("#ban-lift")
	b.until(`!byId("ban-lift") && !byId("strip").innerText.includes("banned")`)
	b.send("new-key", "key=team-key-000001,plan=gold")
	b.text("#new-key .error", "there is no plan")
	b.until(`document.activeElement.ariaLabel === "New key" && document.activeElement.ariaInvalid === "true"`)
	b.send("new-key", "key=team-key-000001,plan={}")
	b.until(`byId("key").options.length === 2 && byId("new-key").querySelector(".error").innerText === ""`)
	b.run(`byId("key").value = 2; byId("key").dispatchEvent(new Event("change"))`)
	b.text("#gauge-minute", "a minute: no limit")
	b.send("key-form", "revoked=true")
	b.text("#key", "(revoked)")

	b.send("set-clock", "now=2031-01-01T00:00:00Z")
	b.click(`[data-body="advance=1m"]`)
	b.text("#clock", "2031-01-01 00:01:")
	b.text("#strip", "The clock is ")
	b.send("add-pet", `name=Zoë "Z",categoryId=9223372036854775807`)
	b.text("#pets", "9223372036854775807")
	p.list(1)
	b.until(`document.querySelector("#chart rect.fine")`)

	for n, preset := range value[[]string](b, `[...document.querySelectorAll("[data-fault]")].map((e) => e.dataset.fault)`) {
		b.click(`[data-fault="` + preset + `"]`)
		b.until(fmt.Sprintf(`document.querySelectorAll("#faults li").length === %d`, n+1))
	}
	b.click("#faults-clear")
	b.until(`!document.querySelector("#faults li")`)
	b.send("fault-form", "status=503,message=a, b")
	for range 2 {
		b.text("#strip", "1 fault active")
		p.list(1)
		b.text("#faults", "over, applied 1 ×")
		b.click(`#faults button`) // injects the fault again
	}
	b.run(`window.confirm = () => true`)
	b.click("#reset")
	b.until(`!document.querySelector("#pets tr, #list tbody, #strip li")`)
	b.text("#first", "curl -H 'Authorization: Bearer fake-api-key' "+p.origin+"/v1/pets")
}

func TestKeyboard(t *testing.T) {
	p, b := openPage(t)
	p.send(http.MethodGet, "/v1/nothing", "")
	p.list(3)
	b.rows(4)
	name := value[string](b, `links()[0].textContent`)
	assert.Equal(t, "listPets GET /pets?status=available&limit=50, 200", name, "to a reader who hears the link alone")
	b.press(kb.Tab)
	assert.Equal(t, "skip", value[string](b, "document.activeElement.className"))
	b.press(kb.Enter)
	for _, c := range []struct{ key, row string }{
		{kb.Tab, "r4"}, {kb.ArrowDown, "r3"}, {kb.ArrowDown, "r2"}, {kb.ArrowUp, "r3"}, {kb.ArrowUp, "r4"}, {kb.ArrowUp, "r4"},
	} {
		b.press(c.key)
		assert.Equal(t, c.row, value[string](b, `String(document.activeElement.closest("tbody")?.id)`), c.key)
	}
	b.until(`links().filter((a) => a.tabIndex === 0).length === 1`) // the tab key stops at one row
	b.press(kb.Enter)
	b.text("#detail-title", "Request 4")
	b.press(kb.ArrowDown)
	b.text("#detail-title", "Request 3")
	b.until(`document.querySelector("#list [aria-current]").closest("tbody").id === "r3"`)
	b.run(`byId("close").focus()`)
	b.press(kb.Escape)
	b.until(`byId("detail").hidden && document.activeElement.closest("tbody")?.id === "r3"`)
}

func TestFollow(t *testing.T) {
	t.Parallel()
	p, b := openPage(t)
	b.run(`window.asked = []; const before = window.fetch;
		window.fetch = (...a) => { asked.push(performance.now()); return before(...a); };
		window.drawn = 0; const whole = take; take = (...a) => { drawn++; whole(...a); }`)
	b.until(`asked.length > 12`)
	assert.Less(t, value[int](b, "drawn"), 6, "an idle page draws the steps of the chart")
	assert.True(t, value[bool](b, `asked.slice(1).every((at, i) => at - asked[i] >= 245)`), "at most four times a second")

	p.send(http.MethodPost, "/_fake/faults", "wire=stall")
	b.run(`window.stalled = new AbortController(); fetch("/v1/pets/7", stalled).catch(() => {})`)
	b.text("#list", "pending")
	b.click("#pause")
	b.run("stalled.abort()")
	b.text("#faults", "applied 1 ×")
	b.text("#list", "pending")
	b.click("#pause")
	b.until(`!list.innerText.includes("pending")`) // after the pause, the page gets the row

	b.run(`Object.defineProperty(document, "hidden", { value: true })
		document.dispatchEvent(new Event("visibilitychange"))`)
	b.text("#live", "paused")
	assert.Zero(t, value[float64](b, `new Promise((done) => { asked.length = 0; setTimeout(() => done(asked.length), 600); })`),
		"a page that nobody looks at asks for nothing")
}

func TestLost(t *testing.T) {
	t.Parallel()
	p, b := openPage(t)
	p.stopped.Lock() // the connections stay open: the page sees no error, only no response
	b.text("#gone", "goes on by itself when the program is back.")
	b.until(`!byId("gone").hidden`)
	p.stopped.Unlock()
	b.text("#live", "live")
	b.until(`byId("gone").hidden`)
	assert.NoError(t, p.server.Close())
	b.text("#live", "no response")
	b.click(`[data-act="DELETE requests"]`)
	b.text("#message.wrong", "The program cannot be reached.")
	again := start(t, strings.TrimPrefix(p.origin, "http://"))
	again.list(2)
	b.rows(2)
	b.text("#live", "live")
}

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
