package ui

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// faults returns the faults as the admin route shows them but for their ids.
func (p *program) faults() string {
	p.t.Helper()
	return regexp.MustCompile(`"id":\d+`).ReplaceAllString(p.admin(http.MethodGet, "faults", ""), "")
}

// What is written is what is injected, whichever box and example wrote it.
func TestFaults(t *testing.T) {
	t.Parallel()
	p, b := openPage(t)
	p.admin(http.MethodPost, "keys", `{"key":"team-key-000001","plan":"free"}`)
	b.until(`document.querySelectorAll("#fault-keys option").length === 2`)
	written := func(want ...string) {
		t.Helper()
		b.text("#message", "The fault is active.")
		b.run(`setText(byId("message"), "")`)
		text := value[string](b, "fault.value")
		for _, part := range want {
			assert.Contains(t, strings.Split(text, ","), part)
		}
		injected := p.faults()
		p.admin(http.MethodDelete, "faults", "")
		p.admin(http.MethodPost, "faults", text)
		assert.Equal(t, p.faults(), injected, text)
		p.admin(http.MethodDelete, "faults", "")
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

	b.open(p, "")
	for range 3 { // faults that have struck make room
		b.click(`[data-fault="status=503"]`)
		b.text("#strip", "1 fault active")
		b.text("#faults code", "status=503")
		status, _ := p.send(http.MethodGet, "/v1/pets", "")
		assert.Equal(t, http.StatusServiceUnavailable, status)
		b.until(`!document.querySelector("#faults code") && !document.querySelector("#strip li")`)
	}
	b.text("#faults", "3 over")
	p.admin(http.MethodPost, "faults", "status=429,operation=createPet,for=10m")
	b.text("#faults li", "status=429, operation=createPet, for=10m")
	b.text("#faults li", "9:5") // of the 10 minutes, which count down
	b.click("#over button")
	b.until(`!document.getElementById("over")`)
	b.text("#faults", "status=429") // stays
	b.click("#faults-clear")
	b.until(`document.querySelectorAll("#faults li, #strip li").length === 0`)
}

// focused returns the id of the row that has the focus.
func (b *tab) focused() string {
	b.t.Helper()
	return value[string](b, `document.activeElement.closest("#rows tr")?.id ?? ""`)
}

func TestKeyboard(t *testing.T) {
	p, b := openPage(t)
	p.list(1)
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
	b.press("/", "j", "/")
	assert.Equal(t, "text j/", value[string](b, `document.activeElement.id + " " + find.value.replace(/^\//, "")`), "a field takes letters as they are")
}

func TestFind(t *testing.T) {
	t.Parallel()
	p := start(t, "-plan", "enterprise:251,0")
	p.send(http.MethodPost, "/v1/pets", `{"name":"Rex"}`)
	p.list(250) // so that the first one is not on the page
	p.send(http.MethodGet, "/v1/pets", "")
	b := newTab(t)
	b.open(p, "?text=operation:createPet")
	b.rows(1)
	b.text("#fit", "1 of 252")
	b.text("#har", "Save 1 as HAR")
	b.text("#rows .hint", "section 4.2")
	b.find("")
	b.rows(200)
	b.text("#shown", "The newest 200 of 252.")
	b.click("#older")
	b.rows(52)
	b.expect("400")
	b.find("status:4x")
	b.text("#find-error", "status is")
	b.find("")
	b.text("#fit", "252")
	for chip, want := range map[string]int{"2xx 250": 200, "4xx 1": 1, "429 1": 1} {
		kind, _, _ := strings.Cut(chip, " ")
		b.text("#counts", chip)
		b.click(`[data-find^="status:` + kind + `"]`)
		b.rows(want)
		b.text("#counts", chip) // what another press would show
		b.click(`[data-find^="status:` + kind + `"]`)
		b.until(`location.search === ""`)
	}
	p.send(http.MethodGet, "/v1/pets?page=2", "")
	b.click("#violations button")
	b.rows(1)
	assert.Contains(t, value[string](b, "location.search"), "violation%3Atrue")
}

func TestList_holdsStill(t *testing.T) {
	p, b := openPage(t)
	hover := func(row int) { b.point(b.middle(fmt.Sprintf("rows()[%d]", row))) }
	p.list(3)
	b.rows(3)
	hover(1)
	p.list(2)
	b.text("#held", "2 new")
	b.rows(3)
	b.click("#held")
	b.rows(5)
	b.point(5, 5)
	hover(1)
	p.list(1)
	b.text("#held", "1 new")
	b.rows(6) // once the pointer has rested for 3 s
	b.point(5, 5)
	b.click("#pause")
	p.list(2)
	b.text("#held", "2 new")
	b.point(6, 6)
	b.rows(6)
	b.click("#pause")
	b.rows(8)
	p.admin(http.MethodDelete, "requests", "")
	b.rows(0)

	// No request comes between the mouse and the row under it.
	p.list(5)
	b.rows(5)
	x, y := b.middle(`rows()[2].querySelector(".status")`)
	b.point(x, y)
	defer p.storm(60)()
	b.text("#held", " new")
	under, held := value[string](b, `document.querySelector("#rows tr:hover").id`), value[string](b, "byId('held').innerText")
	b.mouse(input.DispatchMouseEventTypeMousePressed, x, y)
	b.until("byId('held').innerText !== " + quote(held)) // more come while it is down
	b.mouse(input.DispatchMouseEventTypeMouseReleased, x, y)
	b.text("#detail-title", "Request "+under[1:])
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
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		_, err := chromedp.CallBrowser(b.ctx, cdpbrowser.SetPermission, cdpbrowser.SetPermissionParams{
			Permission: &cdpbrowser.PermissionDescriptor{Name: name}, Setting: cdpbrowser.PermissionSettingGranted,
			Origin: p.origin, BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID,
		})
		require.NoError(t, err)
	}
	b.click("[data-curl]")
	b.text("#message", "Copied")
	assert.Equal(t, value[string](b, `byId("curl").textContent`), value[string](b, "navigator.clipboard.readText()"))
	b.run("history.back()")
	b.until(`document.getElementById("detail").hidden && location.search === "?text=pets" && byId("faults-fold").open`)
	b.run("history.forward()")
	b.text("#detail-title", "Request 1")
	b.size(640, 800)
	b.until(`document.getElementById("detail-title").getBoundingClientRect().top < innerHeight / 2`)
	p.admin(http.MethodPost, "reset", "")
	b.text("#message.wrong", "The journal was cleared.")
	b.until(`document.getElementById("detail").hidden`)
}

func TestSteering(t *testing.T) {
	t.Parallel()
	p, b := openPage(t, "-plan", "enterprise:5,7")
	b.text("#gauge-minute", "5 of 5 a minute unused")
	p.list(5)
	b.text("#gauge-minute", "0 of 5 a minute resets in")
	b.until(`document.querySelector("#chart rect.fine")`)
	for _, pixels := range value[[]float64](b, `[...document.querySelectorAll(".axis span")].map((e, i) => {
		const chart = byId("chart").getBoundingClientRect();
		return Math.abs(e.getBoundingClientRect().left - (chart.left + i * chart.width / 5)); })`) {
		assert.Less(t, pixels, 2.0, "a label begins at its line")
	}
	b.click("#window-end")
	b.text("#gauge-minute strong", "5")
	b.text("#strip", "The clock is ")
	p.admin(http.MethodPut, "clock", `{"time":"2031-01-01T00:00:00Z"}`)
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
		p.admin(http.MethodPut, "keys/"+id+"/ban", `{"duration":"1h"}`)
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

func TestStream(t *testing.T) {
	t.Parallel()
	p, b := openPage(t)
	b.run(`window.asked = 0; const before = window.fetch; window.fetch = (...a) => { window.asked++; return before(...a); }`)
	begun := time.Now()
	stop := p.storm(60)
	b.until(`window.asked > 13`)
	assert.Greater(t, time.Since(begun), 3*time.Second, "at most four times a second")
	stop()

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

// If something got into the page's markup, which internal/requestpage tests, the policy would not
// let it run.
func TestPage_policy(t *testing.T) {
	t.Parallel()
	_, b := openPage(t)
	b.run(`try { document.body.innerHTML += '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>' }
		catch { window.refused = true }`)
	assert.True(t, value[bool](b, "window.refused === true"))
	assert.False(t, value[bool](b, `"pwned" in window`))
	for _, text := range b.consoleErrors() {
		assert.Contains(t, text, "TrustedHTML")
	}
}
