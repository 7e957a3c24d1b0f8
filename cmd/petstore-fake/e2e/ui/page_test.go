package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pets calls listPets and returns the status of the response, 0 if there was none.
func (p *program) pets() int {
	p.t.Helper()
	return p.send(http.MethodGet, "/v1/pets", "").status
}

// active returns the fault that was injected last, as the admin route shows it but for its id.
func (p *program) active() string {
	p.t.Helper()
	var list struct{ Faults []map[string]any }
	require.NoError(p.t, json.Unmarshal([]byte(p.send(http.MethodGet, "/_fake/faults", "").body), &list))
	require.NotEmpty(p.t, list.Faults)
	last := list.Faults[len(list.Faults)-1]
	delete(last, "id")
	text, err := json.Marshal(last)
	require.NoError(p.t, err)
	return string(text)
}

// What is written is what is injected, whichever box and example wrote it.
func TestFaults_asWritten(t *testing.T) {
	t.Parallel()
	p, b := openPage(t)
	p.send(http.MethodPost, "/_fake/keys", `{"key":"team-key-000001","plan":"free"}`)
	b.until(`document.querySelectorAll("#fault-keys option").length === 2`)
	written := func(want ...string) {
		t.Helper()
		b.text("#message", "The fault is active.")
		b.run(`setText(byId("message"), "")`)
		text := value[string](b, "fault.value")
		for _, part := range want {
			assert.Contains(t, strings.Split(text, ","), part)
		}
		injected := p.active()
		require.Equal(t, http.StatusCreated, p.send(http.MethodPost, "/_fake/faults", quote(text)).status, text)
		assert.JSONEq(t, p.active(), injected, text)
		p.send(http.MethodDelete, "/_fake/faults", "")
	}
	boxes := value[[][]string](b, `boxes.flatMap((box) => [...box.options].filter((o) => o.value).map((o) => [box.dataset.field, o.value]))`)
	assert.Greater(t, len(boxes), 8)
	for _, box := range boxes {
		b.run(`fault.value = "status=503"; sync()`)
		b.choose(`[data-field="`+box[0]+`"]`, box[1])
		b.click("#fault-form button")
		written("status=503", box[0]+"="+box[1])
		b.choose(`[data-field="`+box[0]+`"]`, "")
		assert.Equal(t, "status=503", value[string](b, "fault.value"))
	}
	b.choose(`[data-field="operation"]`, "createPet")
	b.choose(`[data-field="times"]`, "5")
	for _, preset := range value[[]string](b, `[...document.querySelectorAll("[data-fault]")].map((e) => e.dataset.fault)`) {
		b.click(`[data-fault="` + preset + `"]`)
		written(append(strings.Split(preset, ","), "operation=createPet")...)
		assert.Equal(t, value[string](b, `fault.value.match(/times=(\w+)/)[1]`), value[string](b, `boxes[2].value`), "the boxes show it")
	}
	// A preset does not outlive its press, and a text is edited, not replaced.
	b.click(`[data-fault="status=503"]`)
	written("status=503", "times=5", "operation=createPet")
	b.run(`fault.value = 'message="a,b; c",status=500; delay=1ms'; fault.dispatchEvent(new Event("input"))`)
	assert.Empty(t, value[string](b, `boxes[0].value`))
	b.choose(`[data-field="chance"]`, "0.5")
	assert.Equal(t, `message="a,b; c",status=500,chance=0.5; delay=1ms,chance=0.5`, value[string](b, "fault.value"))
	b.run(`fault.value = "status=503,times="`)
	b.click("#fault-form button")
	b.text("#fault-error", `times: "" is neither a number of at least 1 nor forever`)
	assert.Equal(t, "fault true", value[string](b, `document.activeElement.id + " " + fault.ariaInvalid`))
	b.consoleErrors() // the status 400
}

func TestFaults_spent(t *testing.T) {
	t.Parallel()
	p, b := openPage(t)
	for range 3 {
		b.click(`[data-fault="status=503"]`)
		b.text("#strip", "1 fault active")
		b.text("#faults code", "status=503")
		assert.Equal(t, http.StatusServiceUnavailable, p.pets())
		b.until(`!document.querySelector("#faults code") && !document.querySelector("#strip li")`)
	}
	b.text("#faults", "3 over")
	p.send(http.MethodPost, "/_fake/faults", `"status=429,operation=createPet,for=10m"`)
	b.text("#faults li", "status=429, operation=createPet, for=10m")
	b.text("#faults li", "9:5") // of the 10 minutes, which count down
	b.click("#over button")
	b.until(`!document.getElementById("over")`)
	b.text("#faults", "status=429") // stays
	b.click("#faults-clear")
	b.until(`document.querySelectorAll("#faults li, #strip li").length === 0`)
}

func TestNotes_wholeAndGravestFirst(t *testing.T) {
	t.Parallel()
	p := start(t, "-plan", "enterprise:2,0", "-ban", "1,10m")
	p.send(http.MethodPost, "/_fake/faults", `"status=503,operation=createPet"`)
	for range 2 {
		p.send(http.MethodPost, "/v1/pets?dry=1", `{"name":"Rex","categoryId":0,"extra":1}`)
	}
	for range 3 {
		p.send(http.MethodGet, "/v1/pets/1?status=available", "")
	}
	b := newTab(t)
	for _, width := range []int64{400, 800, 1280, 1366} {
		for _, query := range []string{"", "?request=5"} {
			b.size(width, 800)
			b.open(p, query)
			b.rows(5)
			assert.Equal(t, "ban provoked", value[string](b, `document.querySelector("#rows .rule").textContent`))
			cut := value[[]string](b, `[...document.querySelectorAll("#rows i")].filter((e) => {
				const r = e.getBoundingClientRect(), cell = e.closest("td").getBoundingClientRect();
				return e.scrollWidth > e.clientWidth + 1 || r.right > cell.right + 1 || r.bottom > cell.bottom + 1 || r.left < cell.left - 1;
			}).map((e) => e.textContent)`)
			assert.Empty(t, cut, "%d %s", width, query)
			apart := value[bool](b, `[...document.querySelectorAll("#rows tr")].every((tr) => {
				const s = getComputedStyle(tr); return s.borderBottomStyle === "solid" && s.position === "relative" && s.cursor === "pointer"; })`)
			assert.True(t, apart, "a line between the rows, and the brackets of tries within them")
		}
	}
}

// focused returns the id of the row that has the focus.
func (b *tab) focused() string {
	b.t.Helper()
	return value[string](b, `document.activeElement.closest("#rows tr")?.id ?? ""`)
}

func TestKeyboard(t *testing.T) {
	p := start(t)
	p.list(1)
	b := newTab(t)
	b.open(p, "")
	b.rows(1)
	p.list(3) // or the first tab stop ever set would do
	b.rows(4)
	var stops []string
	for range 60 {
		b.press(kb.Tab)
		stop := value[string](b, `(() => { const e = document.activeElement;
			return (getComputedStyle(e).outlineStyle === "none" ? "UNSEEN " : "") + (e === document.body ? "" : e.closest("#rows tr")?.id ?? (e.id || e.textContent)); })()`)
		if stop == "UNSEEN " {
			break
		}
		assert.NotContains(t, stop, "UNSEEN", stop)
		stops = append(stops, stop)
	}
	assert.Equal(t, 1, strings.Count(strings.Join(stops, " "), "r4"), "the list is one stop, at the newest: %v", stops)
	assert.NotContains(t, strings.Join(stops, " "), "r1")
	b.run(`document.querySelector('#rows a[tabindex="0"]').focus()`)
	for _, c := range [][2]string{{kb.ArrowDown, "r3"}, {"j", "r2"}, {"k", "r3"}, {kb.End, "r1"}, {kb.ArrowDown, "r1"}, {kb.Home, "r4"}, {kb.ArrowDown, "r3"}} {
		b.press(c[0])
		assert.Equal(t, c[1], b.focused(), c)
	}
	p.list(1)
	b.rows(5)
	assert.Equal(t, "r3", b.focused(), "a new row takes no focus away")
	b.press(kb.Enter)
	b.text("#detail-title", "Request 3")
	b.press("j")
	b.text("#detail-title", "Request 2")
	assert.Equal(t, "r2", b.focused())
	assert.Equal(t, "r2", value[string](b, `document.querySelector("#rows [aria-current=true]").closest("tr").id`))
	b.press("j", "j")
	b.text("#message", "no older request")
	b.press(kb.Escape)
	b.until(`document.getElementById("detail").hidden && document.activeElement.closest("tr")?.id === "r1"`)
	b.press("/")
	b.press("j", "/")
	assert.Equal(t, "text j/", value[string](b, `document.activeElement.id + " " + find.value.replace(/^\//, "")`), "a field takes letters as they are")
}

func TestFind(t *testing.T) {
	t.Parallel()
	p := start(t, "-plan", "enterprise:300,0")
	p.send(http.MethodPost, "/v1/pets", `{"name":"Rex"}`)
	p.list(250) // so that the first one is not on the page
	b := newTab(t)
	b.open(p, "?text=operation:createPet")
	b.rows(1)
	b.text("#fit", "1 of 251")
	b.text("#har", "Save 1 as HAR")
	b.text("#rows .hint", "section 4.2")
	b.find("")
	b.rows(200)
	b.text("#shown", "The newest 200 of 251.")
	b.click("#older")
	b.rows(51)
	b.find("status:4x")
	b.expect("400")
	b.text("#find-error", "status is")
	b.find("")
	b.text("#fit", "251")
	for range 60 {
		p.pets()
	}
	for chip, want := range map[string]int{"2xx 250": 200, "4xx 1": 1, "429 60": 11} {
		kind := strings.Fields(chip)[0]
		if kind == "2xx" {
			chip, want = "2xx 299", 200
		} else if kind == "429" {
			chip = "429 11"
		}
		b.text("#counts", chip)
		b.click(`[data-find^="status:` + kind + `"]`)
		b.rows(want)
		b.text("#counts", chip) // what another press would show
		b.click(`[data-find^="status:` + kind + `"]`)
		b.rows(200)
		assert.Empty(t, value[string](b, "location.search"))
	}
	b.click("#violations button")
	b.until(`[...document.querySelectorAll("#rows tr")].every((tr) => tr.querySelector(".rule"))`)
	assert.Contains(t, value[string](b, "location.search"), "violation%3Atrue")
}

// hover moves the mouse to the middle of a row.
func (b *tab) hover(n int) {
	b.t.Helper()
	at := value[[]float64](b, fmt.Sprintf(`(() => { const r = document.querySelectorAll("#rows tr")[%d].getBoundingClientRect(); return [r.x + 40, r.y + r.height / 2]; })()`, n))
	b.point(at[0], at[1])
}

func TestList_holdsStill(t *testing.T) {
	p := start(t)
	p.list(3)
	b := newTab(t)
	b.open(p, "")
	b.rows(3)
	b.hover(1)
	p.list(2)
	b.text("#held", "2 new")
	b.rows(3)
	b.click("#held")
	b.rows(5)
	b.point(5, 5)
	b.hover(1)
	p.list(1)
	b.text("#held", "1 new")
	b.rows(6) // once the pointer has rested for 3 s
	b.point(5, 5)
	b.click("#pause")
	p.list(2)
	b.text("#held", "2 new")
	b.point(6, 6)
	assert.Equal(t, "6", value[string](b, `String(document.querySelectorAll("#rows tr").length)`))
	b.click("#pause")
	b.rows(8)
	p.send(http.MethodDelete, "/_fake/requests", "")
	b.rows(0)
}

func TestDetail(t *testing.T) {
	p := start(t)
	p.send(http.MethodPost, "/v1/pets?dry=1", `{"name":"it's Rex","categoryId":9223372036854775807}`)
	p.list(1)
	b := newTab(t)
	b.open(p, "?text=pets")
	b.rows(2)
	b.click("#r1 .status")
	b.text("#detail-title", "Request 1")
	for _, want := range []string{
		"201", "POST /v1/pets?dry=1", "fake-api-key", "Bearer [redacted]", `"categoryId": 9223372036854775807`, `"id": 1`,
		"52 bytes", "createPet has no parameter", "after this response", `--data-raw '{"name":"it'\''s Rex"`,
	} {
		b.text("#detail", want)
	}
	below := value[[]string](b, `["#detail pre:nth-of-type(1)", "#body"].filter((s) => {
		const r = document.querySelector(s).getBoundingClientRect(), box = document.querySelector("#detail .scroll").getBoundingClientRect();
		return r.height < 40 || r.bottom > box.bottom; })`)
	assert.Empty(t, below, "at 1280 × 800 both bodies are seen without scrolling")
	assert.False(t, value[bool](b, `byId("faults-fold").open`))
	b.click("#repeat")
	b.rows(3)
	b.text("#r3", "POST /pets?dry=1")
	b.run("history.back()")
	b.until(`document.getElementById("detail").hidden && location.search === "?text=pets" && byId("faults-fold").open`)
	b.run("history.forward()")
	b.text("#detail-title", "Request 1")
	b.size(640, 800)
	b.until(`document.getElementById("detail-title").getBoundingClientRect().top < innerHeight / 2`)
	p.send(http.MethodPost, "/_fake/reset", "")
	b.text("#message.wrong", "The journal was cleared.")
	b.until(`document.getElementById("detail").hidden`)
}

func TestDetail_pending(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.send(http.MethodPost, "/_fake/faults", `{"wire":"stall"}`)
	ctx, cancel := context.WithCancel(t.Context())
	stalled := make(chan error, 1)
	go func() { stalled <- p.call(ctx, "/v1/pets", "fake-api-key") }()
	b := newTab(t)
	b.open(p, "")
	b.until(`document.querySelector("#rows b.pending")`)
	b.click("#rows tr")
	b.text("#detail .what", "pending")
	cancel()
	assert.ErrorIs(t, <-stalled, context.Canceled)
	b.text("#detail .what", "none")
}

func TestDetail_curl(t *testing.T) {
	p := start(t)
	p.list(1)
	b := newTab(t)
	b.open(p, "?request=1")
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		_, err := chromedp.CallBrowser(b.ctx, cdpbrowser.SetPermission, cdpbrowser.SetPermissionParams{
			Permission: &cdpbrowser.PermissionDescriptor{Name: name}, Setting: cdpbrowser.PermissionSettingGranted,
			Origin: p.origin, BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID,
		})
		require.NoError(t, err)
	}
	b.click("[data-curl]")
	b.text("#message", "Copied")
	out, err := exec.CommandContext(t.Context(), "sh", "-c", value[string](b, "navigator.clipboard.readText()")).Output()
	require.NoError(t, err)
	assert.Equal(t, "[]", strings.TrimSpace(string(out)), "pasted, it works")
}

func TestSteering(t *testing.T) {
	t.Parallel()
	p, b := openPage(t, "-plan", "enterprise:5,7")
	b.text("#gauge-minute", "5 of 5 a minute unused")
	p.list(5)
	b.text("#gauge-minute", "0 of 5 a minute resets in")
	b.click("#window-end")
	b.text("#gauge-minute strong", "5")
	b.text("#strip", "The clock is ")
	p.send(http.MethodPut, "/_fake/clock", `{"time":"2031-01-01T00:00:00Z"}`)
	b.text("#clock", "2031-01-01 00:00:")
	b.click(`[data-body*='"1m"']`)
	b.text("#clock", "2031-01-01 00:01:")

	b.click(".key summary")
	b.run(`byId("key-new").value = "team-key-000001"; byId("key-plan").value = "enterprise:0,0"`)
	b.click("#key-form button")
	b.text("#message", "The key is added.")
	b.until(`byId("key").options.length === 2`)
	b.choose("#key", "2")
	b.text("#gauge-minute", "a minute: no limit")
	b.run(`byId("plan-new").value = "free"`)
	b.click("#plan-form button")
	b.text("#gauge-minute", "of 60 a minute")
	b.run(`byId("ban-seconds").value = "1"`)
	b.click("#ban-key")
	b.text("#strip", "tea… #2 is banned for ")
	b.until(`!byId("ban-lift") && !byId("strip").innerText.includes("banned")`) // by itself
	for _, id := range []string{"1", "2"} {
		p.send(http.MethodPut, "/_fake/keys/"+id+"/ban", `{"duration":"1h"}`)
	}
	b.text("#strip", "2 keys are banned")
	b.click("#strip button")
	b.until(`!byId("strip").innerText.includes("banned")`)
	b.run(`window.confirm = (text) => text.includes("tea… #2")`)
	b.click("#revoke")
	b.until(`byId("key").innerText.includes("(revoked)")`)

	b.run(`byId("pet-name").value = 'Zoë "Z"'; byId("pet-category").value = "9223372036854775807"`)
	b.click("#add-pet button")
	b.text("#pets", "9223372036854775807")
	assert.False(t, value[bool](b, `[...document.querySelectorAll("#pets th")].some((th) => th.offsetHeight > 30)`), "a heading is one line")
	assert.NotContains(t, value[string](b, "document.documentElement.outerHTML"), "team-key")
	b.run(`window.confirm = () => true`)
	b.click("#reset")
	b.until(`!document.querySelector("#pets tr, #rows tr, #keys option:nth-child(2)")`)
}

func TestChart_labels(t *testing.T) {
	t.Parallel()
	p, b := openPage(t)
	p.list(3)
	b.until(`document.querySelector("#chart rect.fine")`)
	off := value[[]float64](b, `[...document.querySelectorAll(".axis span")].map((e, i) => {
		const chart = byId("chart").getBoundingClientRect();
		return Math.abs(e.getBoundingClientRect().left - (chart.left + i * chart.width / 5));
	})`)
	assert.Len(t, off, 5)
	for _, pixels := range off {
		assert.Less(t, pixels, 2.0, "a label begins at its line")
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.list(1)
	b := newTab(t)
	b.open(p, "")
	b.rows(1)
	b.run(`window.asked = 0; const before = window.fetch; window.fetch = (...a) => { window.asked++; return before(...a); }`)
	stop := p.storm(60, "fake-api-key")
	asked := value[float64](b, `new Promise((done) => setTimeout(() => done(window.asked), 3000))`)
	stop()
	assert.LessOrEqual(t, asked, 13.0, "at most four times a second")
	assert.Greater(t, asked, 3.0)

	hide := func(hidden string) {
		b.run(`Object.defineProperty(document, "hidden", {value: ` + hidden + `, configurable: true});
			document.dispatchEvent(new Event("visibilitychange"))`)
	}
	hide("true")
	b.text("#live", "paused")
	assert.True(t, value[bool](b, `stream.readyState === EventSource.CLOSED`), "a browser has few connections for a host")
	hide("false")
	b.text("#live", "live")

	p.signal(syscall.SIGSTOP) // keeps the connections, so that no error shows it
	b.text("#live", "no response")
	b.text("#gone", "goes on by itself when the program is back.")
	p.signal(syscall.SIGCONT)
	b.text("#live", "live")
	b.until(`byId("gone").hidden`)

	b.expect("net::ERR_") // of the connection that breaks, and of those that nobody accepts
	p.stop()
	b.text("#live", "no response")
	b.click("#clear")
	b.text("#message.wrong", "The program cannot be reached.")
	again := startAt(t, strings.TrimPrefix(p.origin, "http://"))
	again.list(2)
	b.rows(2)
	b.text("#live", "live")
}

func TestSteering_inView(t *testing.T) {
	t.Parallel()
	p := start(t, "-plan", "enterprise:0,0")
	p.flood(300)
	b := newTab(t)
	for _, size := range [][2]int64{{1239, 800}, {960, 1000}, {800, 800}, {640, 1000}} {
		b.size(size[0], size[1])
		b.open(p, "")
		b.rows(200)
		top := value[float64](b, `document.querySelector("#presets, .key").getBoundingClientRect().top`)
		assert.Less(t, top, float64(size[1]), "%v: the list has its own scroller", size)
		if size[0] > 720 {
			assert.Less(t, value[float64](b, `byId("presets").getBoundingClientRect().bottom`), float64(size[1]), "%v", size)
		}
		b.text("#rows .path", "GET /pets")
		assert.NotEmpty(t, value[string](b, `document.querySelector("#rows a").title`), "a path that is cut has its whole")
	}
}
