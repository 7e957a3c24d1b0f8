package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRepeat(t *testing.T) {
	t.Parallel()
	p := start(t, "-plan", "enterprise:1,0", "-ban", "1,1h")
	p.list(1)
	p.send(http.MethodGet, "/v1/pets?limit=7", "") // 429
	b := newTab(t)
	b.open(p, "?request=2")
	for _, n := range []string{"3", "4"} {
		b.click("#repeat")
		b.text("#detail-title", "Request "+n)
		b.text("#detail .why", "repeat of ")
		b.text("#r"+n, "repeat of ")
	}
	assert.Equal(t, `{"violations":[]}`, strings.TrimSpace(p.admin(http.MethodGet, "violations", "")), "it is no client's")
	assert.NotContains(t, p.admin(http.MethodGet, "keys/1", ""), "bannedUntil")
	b.run("history.back()")
	b.text("#detail-title", "Request 3")
}

func TestFind(t *testing.T) {
	t.Parallel()
	p := start(t, "-plan", "enterprise:1,0")
	p.admin(http.MethodPost, "keys", `team-key-000001=enterprise:0,0`)
	for range 2 {
		p.send(http.MethodGet, "/v1/pets", "") // 200, 429
	}
	for range 250 {
		p.sendAs(t.Context(), "team-key-000001", http.MethodGet, "/v1/pets", "")
	}
	p.sendAs(t.Context(), "team-key-000001", http.MethodPost, "/v1/pets", `{"name":"Rex"}`)
	p.sendAs(t.Context(), "", http.MethodGet, "/v1/nothing", "")
	b := newTab(t)

	t.Run("a bad word is named and left out, and the page goes on", func(t *testing.T) {
		b.open(p, "?text=status:4x+createpet&colour=red&request=x&key=x")
		b.text("#problems", `status is "4x"`)
		b.rows(1)
		p.admin(http.MethodPost, "faults", "status=503,operation=getPet")
		b.text("#strip", "1 fault active")
		b.find("rex status:nope")
		b.text("#problems", `status is "nope"`)
		b.text("#said", "1 of 254 requests")
	})
	t.Run("words add up, and a minus takes away", func(t *testing.T) {
		for text, want := range map[string]string{"": "254", "KEY:TEA… post": "1 of 254", "-key:tea": "3 of 254", "status:2XX status:4xx": "0 of 254"} {
			b.find(text)
			b.until(`byId("fit").textContent === ` + quote(want))
			b.until(`byId("problems").textContent === ""`)
		}
	})
	t.Run("chips are pressed or not", func(t *testing.T) {
		b.find("")
		b.text("#shown", "The newest 100 of 254.")
		b.click("#shown button")
		b.rows(100)
		b.open(p, "")
		for chip, rows := range map[string]int{".fine": 100, ".refused": 2, ".limited": 1} {
			chip = "#counts " + chip
			b.click(chip)
			b.rows(rows)
			b.until(`document.querySelector("` + chip + `").ariaPressed === "true"`)
			b.click(chip)
			b.until(`location.search === "" && document.querySelector("` + chip + `").ariaPressed === "false"`)
		}
		b.find("nothing has this")
		b.click("#shown a")
		b.until(`location.search === "" && find.value === ""`)
	})
	t.Run("closing a request keeps what is found", func(t *testing.T) {
		b.open(p, "")
		b.find("key:none")
		b.rows(1)
		b.click("#list tbody")
		b.text("#detail", "no operation")
		b.click("#close")
		b.until(`byId("detail").hidden && location.search === "?text=key%3Anone"`)
		b.rows(1)
		b.run("history.back()")
		b.text("#detail-title", "Request 254")
		b.open(p, "?request=999&text=key:none")
		b.text("#detail", "Request 999 is not in the journal")
		b.rows(1)
	})
}

func TestList_standsStill(t *testing.T) {
	p, b := openPage(t, "-plan", "enterprise:0,0")
	p.list(205)
	b.newest(205)
	stands := func(why, at string, n int) {
		t.Helper()
		b.until(`!byId("release")`)
		y := value[float64](b, at+".getBoundingClientRect().top")
		p.list(n)
		b.text("#release", fmt.Sprint(n, " new"))
		assert.Equal(t, y, value[float64](b, at+".getBoundingClientRect().top"), why)
	}
	b.run("scroller.scrollTop = 1200")
	stands("scrolled", "links()[50]", 400)
	b.click("#release")
	b.newest(605)
	b.until(`scroller.scrollTop === 0`)
	b.run("links()[3].focus()")
	stands("focus", "document.activeElement", 3)
	b.press(kb.ArrowDown)
	assert.Equal(t, "601", value[string](b, `String(seqOf(document.activeElement))`), "the focus is where it was")
	b.run("document.activeElement.blur()")
	b.newest(608)
	b.mouse("links()[5]")(input.DispatchMouseEventTypeMouseMoved)
	stands("a pointer", "links()[5]", 2)
	b.run(`const now = Date.now; Date.now = () => now() + 3000`)
	b.newest(610) // once the mouse has rested for 3 s
	b.click("#pause")
	b.mouse("find")(input.DispatchMouseEventTypeMouseMoved)
	stands("paused", "links()[0]", 4)
	b.click("#pause")
	b.newest(614)

	mouse := b.mouse("links()[2]") // no new row may push the row away from under the mouse
	mouse(input.DispatchMouseEventTypeMouseMoved)
	mouse(input.DispatchMouseEventTypeMousePressed)
	p.burst(24, 60)
	b.text("#release", "24 new")
	mouse(input.DispatchMouseEventTypeMouseReleased)
	b.text("#detail-title", "Request 612")
}

func TestDetail(t *testing.T) {
	p := start(t, "-plan", "enterprise:2,0")
	p.send(http.MethodPost, "/v1/pets?dry=1", `{"name":"it's Rex","categoryId":9223372036854775807}`)
	for range 3 {
		p.send(http.MethodGet, "/v1/pets", "") // 200, 429, 429
	}
	b := newTab(t)
	b.open(p, "?text=pets")
	b.click("#r1 .status")
	for _, want := range []string{
		"201", "POST /v1/pets?dry=1", "fake-api-key", "Bearer [redacted]", `"categoryId": 9223372036854775807`, `"id": 1`, "took ",
		"52 bytes", "createPet has no parameter", "after this response", `--data-raw '{"name":"it'\''s Rex"`,
	} {
		b.text("#detail", want)
	}
	b.text("#r1", `/pets?dry=1 {"name":"it's Rex"`)
	b.text("#said", "Request 1: 201 POST /v1/pets?dry=1")
	assert.Empty(t, value[[]string](b, `["#request-body", "#response-body"].filter((s) => {
		const r = document.querySelector(s).getBoundingClientRect(), box = document.querySelector("#detail .scroll").getBoundingClientRect();
		return r.height < 40 || r.bottom > box.bottom; })`), "at 1280 × 800 both bodies are seen without scrolling")
	assert.Empty(t, value[[]string](b, `links().filter((a) => a.scrollWidth > a.clientWidth && !a.title.includes("POST")).map((a) => a.title)`), "paths are whole")
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		_, err := chromedp.CallBrowser(b.ctx, cdpbrowser.SetPermission, cdpbrowser.SetPermissionParams{
			Permission: &cdpbrowser.PermissionDescriptor{Name: name}, Setting: cdpbrowser.PermissionSettingGranted,
			Origin: p.origin, BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID,
		})
		require.NoError(t, err)
	}
	b.click(`[data-copy="curl"]`)
	b.text("#message", "Copied")
	assert.Equal(t, value[string](b, `byId("curl").textContent`), value[string](b, "navigator.clipboard.readText()"))
	b.run(`go(to("request", 4))`)
	b.text("#detail", "The 429 of #3 said wait until ")
	b.text("#detail", "a good client sends nothing before then")
	b.click(`#detail .why a`)
	b.text("#detail-title", "Request 3")
	b.size(640)
	b.until(`document.getElementById("detail-title").getBoundingClientRect().top < innerHeight / 2`)
	p.admin(http.MethodPost, "reset", "")
	b.text("#detail", "Request 3 is not in the journal")
}

func TestKeys(t *testing.T) {
	t.Parallel()
	p, b := openPage(t, "-plan", "enterprise:5,7")
	b.text("#gauge-minute", "5 of 5 a minute unused")
	p.list(5)
	b.text("#gauge-minute", "0 of 5 a minute resets in")
	b.click("#window-end")
	b.text("#gauge-minute strong", "5")
	b.click("#use-up-day")
	b.text("#gauge-day", "0 of 7 a day resets in")
	p.admin(http.MethodPut, "keys/1/ban", `10m`)
	for _, place := range []string{"#gauge-minute", "#plan", "#strip"} {
		b.text(place, "banned until ")
	}
	assert.Equal(t, "0", value[string](b, `document.querySelector("#gauge-minute svg").ariaValueNow`), "a banned key has nothing left")
	status, _ := p.send(http.MethodGet, "/v1/pets", "")
	assert.Equal(t, http.StatusTooManyRequests, status)
	b.text("#list .hint", "the API key is banned until ")
	assert.NotContains(t, value[string](b, "document.body.innerText"), "BanKey")
	b.click("#ban-lift")
	b.until(`!byId("ban-lift") && !byId("strip").innerText.includes("banned")`)

	b.click(".key summary")
	b.run(`byId("key-new").value = "team-key-000001"; byId("key-plan").value = "gold"`)
	b.click("#key-form button")
	b.text("#key-form .error", "is not a plan")
	assert.Equal(t, "key-plan true", value[string](b, `document.activeElement.id + " " + document.activeElement.ariaInvalid`))
	b.run(`byId("key-plan").value = byId("plans").lastElementChild.value`)
	b.click("#key-form button")
	b.until(`byId("key").options.length === 2 && byId("key-form").querySelector(".error").innerText === ""`)
	b.choose("#key", "2")
	b.text("#gauge-minute", "a minute: no limit")
	assert.False(t, value[bool](b, `Boolean(document.querySelector("#gauge-minute svg"))`), "no limit has no bar")
	b.run(`byId("plan-new").value = "free"`)
	b.click("#plan-form button")
	b.text("#gauge-minute", "of 60 a minute")
	b.run(`byId("ban-seconds").value = "1"`)
	b.click("#ban-key")
	b.text("#strip", "tea… #2 is banned until ")
	b.until(`!byId("strip").innerText.includes("banned")`) // by itself
	b.run(`window.confirm = (text) => text.includes("tea… #2")`)
	b.click("#revoke")
	b.until(`byId("key").innerText.includes("(revoked)")`)
	assert.NotContains(t, value[string](b, "document.documentElement.outerHTML"), "team-key")
}

func TestClockPetsReset(t *testing.T) {
	t.Parallel()
	p, b := openPage(t)
	b.click("[popovertarget=set-clock]")
	b.run(`byId("clock-new").value = "2031-01-01T00:00"`)
	b.run(`byId("set-clock").requestSubmit()`)
	b.text("#clock", "2031-01-01 00:00:")
	b.click(`[data-body="1m"]`)
	b.text("#clock", "2031-01-01 00:01:")
	b.text("#strip", "The clock is ")
	b.run(`byId("pet-name").value = 'Zoë "Z"'; byId("pet-category").value = "9223372036854775807"`)
	b.click("#add-pet button")
	b.text("#pets", "9223372036854775807")
	assert.False(t, value[bool](b, `[...document.querySelectorAll("#pets th")].some((th) => th.offsetHeight > 30)`), "a heading is one line")
	p.list(1)
	b.until(`document.querySelector("#chart rect.fine")`)
	for _, pixels := range value[[]float64](b, `[...document.querySelectorAll(".axis span")].map((e, i) => {
		const chart = byId("chart").getBoundingClientRect();
		return Math.abs(e.getBoundingClientRect().left - (chart.left + i * chart.width / 5)); })`) {
		assert.Less(t, pixels, 2.0, "a label begins at its line")
	}
	b.run(`window.confirm = () => true`)
	b.click("#reset")
	b.until(`!document.querySelector("#pets tr, #list tbody, #strip li")`)
	b.text("#base-url", "PETSTORE_BASE_URL="+p.origin+"/v1")
}

// What the text field shows is injected, whichever box or example wrote it.
func TestFaults(t *testing.T) {
	t.Parallel()
	p, b := openPage(t)
	injected := func() string {
		t.Helper()
		b.until(`document.querySelectorAll("#faults li").length === 1`)
		var shown struct{ Faults []struct{ Fault string } }
		require.NoError(t, json.Unmarshal([]byte(p.admin(http.MethodGet, "faults", "")), &shown))
		require.Len(t, shown.Faults, 1)
		p.admin(http.MethodDelete, "faults", "")
		b.until(`document.querySelectorAll("#faults li").length === 0`)
		return shown.Faults[0].Fault
	}
	for field, choice := range map[string]string{"operation": "createPet", "key": "#1", "times": "5", "chance": "0.5"} {
		b.run(`fault.value = 'status=503,message="a, b"'`)
		b.choose(`[data-field="`+field+`"]`, choice)
		b.click("#fault-form button")
		assert.Equal(t, `status=503, message="a, b", `+field+`=`+choice, injected())
		b.choose(`[data-field="`+field+`"]`, "")
		assert.Equal(t, `status=503,message="a, b"`, value[string](b, "fault.value"))
	}
	b.choose(`[data-field="times"]`, "5")
	for _, preset := range value[[]string](b, `[...document.querySelectorAll("[data-fault]")].map((e) => e.dataset.fault)`) {
		b.click(`[data-fault="` + preset + `"]`)
		text := strings.ReplaceAll(injected(), ", ", ",")
		for word := range strings.SplitSeq(preset, ",") {
			assert.Contains(t, text, word)
		}
		assert.Contains(t, text, "times=")
	}
	b.run(`fault.value = "status=503,times="`)
	b.click("#fault-form button")
	b.text("#fault-error", `times: "" is not a number of at least 1, or forever`)
	assert.Equal(t, "fault true", value[string](b, `document.activeElement.id + " " + fault.ariaInvalid`))

	b.open(p, "")
	b.click(`[data-fault="status=503"]`)
	b.text("#strip", "1 fault active")
	for range 2 {
		status, _ := p.send(http.MethodGet, "/v1/pets", "")
		assert.Equal(t, http.StatusServiceUnavailable, status)
		b.text("#faults", "over, struck 1 ×")
		b.click(`#faults button`) // again
		b.text("#strip", "1 fault active")
	}
	p.admin(http.MethodPost, "faults", "status=429,operation=createPet,for=10m")
	b.text("#faults", "9:5") // of the 10 minutes, which count down
	b.click("#faults-clear")
	b.until(`document.querySelectorAll("#faults li, #strip li").length === 0`)
}

func TestKeyboard(t *testing.T) {
	p, b := openPage(t)
	p.list(4)
	b.rows(4)
	b.press(kb.Tab)
	assert.Equal(t, "skip", value[string](b, "document.activeElement.className"))
	b.press(kb.Enter, kb.Tab)
	focused := `String(document.activeElement.closest("tbody")?.id)`
	assert.Equal(t, "r4", value[string](b, focused), "the newest is the stop of the tab key")
	b.press(kb.Tab)
	assert.Equal(t, "undefined", value[string](b, focused), "the only one")
	b.run("links()[0].focus()")
	for _, c := range []struct{ key, row string }{{"j", "r3"}, {kb.ArrowDown, "r2"}, {"k", "r3"}, {kb.End, "r1"}, {kb.Home, "r4"}} {
		b.press(c.key)
		assert.Equal(t, c.row, value[string](b, focused))
	}
	b.press("k")
	b.text("#message", "There is no newer request in the list.")
	b.press(kb.Enter)
	b.text("#detail-title", "Request 4")
	b.text("#said", "Request 4: 200 GET /v1/pets")
	b.press("j")
	b.text("#detail-title", "Request 3")
	b.until(`document.querySelector("#list [aria-current]").closest("tbody").id === "r3"`)
	b.press(kb.Escape)
	b.until(`byId("detail").hidden && document.activeElement.closest("tbody")?.id === "r3"`)
	b.press("?")
	b.until(`byId("keys-help").matches(":popover-open")`)
	b.click("#letters")
	b.press(kb.Escape, "/", "j", "?")
	b.until(`!byId("keys-help").matches(":popover-open") && document.activeElement !== find`)
	b.open(p, "")
	b.press("/")
	assert.NotEqual(t, "text", value[string](b, "document.activeElement.id"), "switched off, also after a reload")
	b.run(`letters.click()`)
	b.press("/")
	assert.Equal(t, "text", value[string](b, "document.activeElement.id"))
}

func TestFollow(t *testing.T) {
	t.Parallel()
	p, b := openPage(t)
	b.run(`window.asked = []; const before = window.fetch;
		window.fetch = (...a) => { asked.push({ path: a[0], at: performance.now() }); return before(...a); }`)
	p.list(1)
	b.rows(1)
	b.until(`asked.at(-1).path.includes("version=")`) // it does not ask for the rows that it has
	b.run(`asked.length = 0`)
	p.burst(96, 60)
	b.until(`asked.length > 5`)
	assert.Empty(t, value[[]float64](b, `asked.slice(1).map((a, i) => a.at - asked[i].at).filter((gap) => gap < 245)`),
		"at most four times a second")

	p.admin(http.MethodPost, "faults", "wire=stall")
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	go p.sendAs(ctx, "fake-api-key", http.MethodGet, "/v1/pets/7", "")
	b.text("#list", "pending")
	b.click("#pause")
	giveUp()
	b.until(`list.dataset.version !== state().version`)
	b.text("#list", "pending")
	b.click("#pause")
	b.until(`!list.innerText.includes("pending")`) // the row is up to date, although nothing has changed since

	hide := func(hidden string) {
		b.run(`Object.defineProperty(document, "hidden", {value: ` + hidden + `, configurable: true});
			document.dispatchEvent(new Event("visibilitychange"))`)
	}
	hide("true")
	b.text("#live", "paused")
	assert.Zero(t, value[float64](b, `new Promise((done) => { asked.length = 0; setTimeout(() => done(asked.length), 600); })`),
		"a page that nobody looks at asks for nothing")
	hide("false")
	b.text("#live", "live")
}

func TestLost(t *testing.T) {
	t.Parallel()
	p, b := openPage(t)
	p.signal(syscall.SIGSTOP) // the connections stay open, so that no error shows that it is stopped
	b.text("#live", "no response")
	b.text("#gone", "goes on by itself when the program is back.")
	p.signal(syscall.SIGCONT)
	b.text("#live", "live")
	b.until(`byId("gone").hidden`)

	p.stop()
	b.text("#live", "no response")
	b.click(`[data-act="DELETE requests"]`)
	b.text("#message.wrong", "The program cannot be reached.")
	again := startAt(t, strings.TrimPrefix(p.origin, "http://"))
	again.list(2)
	b.rows(2)
	b.text("#live", "live")
}

// A page that was just opened has everything, and so its next request gets nothing.
func TestFollow_first(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.list(3)
	b := newTab(t)
	b.open(p, "")
	b.rows(3)
	assert.Equal(t, 204.0, value[float64](b, `performance.getEntriesByType("resource").find((e) => e.name.includes("/page")).responseStatus`))
}

// Tests of internal/requestpage show that no script gets into the page's markup. If one did, the
// policy would not let it run.
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
