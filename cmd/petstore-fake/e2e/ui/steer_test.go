package ui

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
)

// pets calls listPets and returns the status of the response, 0 if there was none.
func (p *program) pets() int {
	p.t.Helper()
	return p.send(http.MethodGet, "/v1/pets", "").status
}

func TestFaults(t *testing.T) {
	p, b := openPage(t)
	for _, c := range []struct {
		example, text string
		status        int
	}{
		{"status=503", "any request: status 503; the next one", 503},
		{"status=429,retry-after=5", "any request: status 429, Retry-After 5; the next one", 429},
		{"wire=reset", "any request: connection reset; the next one", 0},
	} {
		b.click(`[data-fault="` + c.example + `"]`)
		b.text("#message", "The fault is active.")
		b.text("#faults li:first-child", c.text)
		assert.Equal(t, c.status, p.pets(), c.example)
		assert.Equal(t, http.StatusOK, p.pets(), "it strikes once")
	}
	b.until(`document.querySelectorAll("#faults li.done").length === 3`)
	b.until(`document.querySelectorAll("#rows i.fault").length === 3`)
	b.text("#rows", "429")
	b.text("#rows", "503")
	b.text("#rows", "none")

	p.send(http.MethodPost, "/_fake/keys", `{"key":"team-key-000001","plan":"free"}`)
	b.until(`document.querySelectorAll("#fault-key option").length === 3`)
	b.choose(`[data-field="operation"]`, "createPet")
	b.choose(`[data-field="times"]`, "5")
	b.choose("#fault-key", "2")
	b.click(`[data-fault="wire=reset"]`)
	b.text("#faults li:first-child", "createPet with the key tea…: connection reset; the next 5")
	assert.Equal(t, "wire=reset,operation=createPet,times=5", value[string](b, `document.getElementById("fault").value`))
	b.click("#faults li:first-child button")
	b.choose("#fault-key", "")
	b.run(`document.getElementById("fault").value = "status=503,times="`)
	b.click("#fault-form button")
	b.text("#fault-error", `times: "" is neither a number of at least 1 nor forever`)
	assert.Equal(t, "fault true", value[string](b, `document.activeElement.id + " " + fault.ariaInvalid`))
	b.consoleErrors() // the status 400
	b.run(`document.getElementById("fault").value = "status=429,retry-after=77,operation=createPet,for=10m; delay=1ms,operation=getPet"`)
	b.click("#fault-form button")
	b.text("#message", "2 faults are active.")
	b.text("#strip", "2 faults active")
	b.text("#faults li:nth-child(2)", "createPet: status 429, Retry-After 77; the next one, for 10 min")
	b.text("#faults li:nth-child(2)", "9:5") // of the 10 minutes, which count down
	assert.Equal(t, http.StatusOK, p.pets(), "it is for another operation")
	response := p.send(http.MethodPost, "/v1/pets", `{"name":"Rex","categoryId":1}`)
	assert.Equal(t, http.StatusTooManyRequests, response.status)
	assert.Equal(t, "77", response.header.Get("Retry-After"))

	b.text("#faults li:first-child", "struck 0")
	b.click("#faults li:first-child button")
	b.text("#message", "Removed")
	b.click("#faults-clear")
	b.until(`document.querySelectorAll("#faults li, #strip li").length === 0`)
	assert.Equal(t, http.StatusCreated, p.send(http.MethodPost, "/v1/pets", `{"name":"Rex","categoryId":1}`).status)
}

func TestKey_ban(t *testing.T) {
	p, b := openPage(t)
	b.click(".key summary")
	b.click("#ban-key")
	b.text("#plan", "banned for ")
	b.text("#strip", "fake-api-key is banned for ")
	assert.Equal(t, http.StatusTooManyRequests, p.pets())
	b.text("#rows", "section 8.3")
	b.click("#strip button")
	b.until(`document.querySelectorAll("#strip li").length === 0`)
	assert.Equal(t, http.StatusOK, p.pets())
	for _, key := range []string{"team-key-000001", "team-key-000002"} {
		p.send(http.MethodPost, "/_fake/keys", `{"key":"`+key+`","plan":"free"}`)
	}
	for _, id := range []string{"1", "2", "3"} {
		p.send(http.MethodPut, "/_fake/keys/"+id+"/ban", `{"duration":"1h"}`)
	}
	b.text("#strip", "3 keys are banned")
	b.click("#strip button")
	b.until(`document.querySelectorAll("#strip li").length === 0`)

	b.run(`document.getElementById("ban-seconds").value = "1"`)
	b.click("#ban-key")
	b.until(`document.getElementById("ban-lift")`)
	b.until(`!document.getElementById("ban-lift")`) // a ban that has ended is not there to lift
	b.until(`document.querySelectorAll("#strip li").length === 0`)
}

func TestKey_addPlanRevoke(t *testing.T) {
	_, b := openPage(t)
	b.click(".key summary")
	b.run(`document.getElementById("key-new").value = "team-key-000001"`)
	b.run(`document.getElementById("key-plan").value = "enterprise:3,0"`)
	b.click("#key-form button")
	b.text("#message", "The key is added.")
	b.until(`document.querySelectorAll("#key option").length === 2`)
	assert.Empty(t, value[string](b, `document.getElementById("key-new").value`))
	b.choose("#key", "2")
	b.text("#gauge-minute", "of 3 a minute")
	b.text("#gauge-day", "a day: no limit")
	b.run(`document.getElementById("plan-new").value = "free"`)
	b.click("#plan-form button")
	b.text("#gauge-minute", "of 60 a minute")
	b.run(`window.confirm = (text) => text.includes("tea… #2")`)
	b.click("#revoke")
	b.text("#message", "The key is revoked.")
	b.until(`document.getElementById("key").innerText.includes("(revoked)")`)
	assert.NotContains(t, value[string](b, "document.documentElement.outerHTML"), "team-key")
	b.run(`document.getElementById("plan-new").value = "golden"`)
	b.click("#plan-form button")
	b.text("#message.wrong", "plan")
	b.consoleErrors() // the status 400
}

func TestNumbers_wrong(t *testing.T) {
	p, b := openPage(t)
	b.click(".key summary")
	for field, button := range map[string]string{"latency-ms": "latency", "ban-seconds": "ban-key"} {
		for _, wrong := range []string{"", "-1", "1.5", "99999999"} {
			b.run(`document.getElementById("` + field + `").value = "` + wrong + `"`)
			b.click("#" + button)
			assert.Equal(t, field, value[string](b, "document.activeElement.id"), "%q", wrong)
		}
	}
	assert.JSONEq(t, `{"latency":"0s"}`, p.send(http.MethodGet, "/_fake/latency", "").body)
	b.run(`document.getElementById("latency-ms").value = "1e1"`)
	b.click("#latency")
	b.text("#strip", "takes 10 ms more")
	b.click("#strip button")
	b.until(`document.querySelectorAll("#strip li").length === 0`)
	assert.JSONEq(t, `{"latency":"0s"}`, p.send(http.MethodGet, "/_fake/latency", "").body)
}

func TestClock(t *testing.T) {
	p, b := openPage(t, "-plan", "enterprise:5,7")
	b.text("#gauge-minute strong", "5")
	p.list(5)
	b.text("#gauge-minute strong", "0")
	b.text("#gauge-minute", "of 5 a minute")
	b.text("#gauge-minute", "resets in")
	assert.Equal(t, http.StatusTooManyRequests, p.pets())

	b.click("#window-end")
	b.text("#gauge-minute strong", "5")
	b.text("#strip", "The clock is ")
	p.send(http.MethodPut, "/_fake/clock", `{"time":"2031-01-01T00:00:00Z"}`)
	b.text("#clock", "2031-01-01 00:00:")
	b.click(`[data-body*='"1m"']`)
	b.text("#clock", "2031-01-01 00:01:")
	p.list(1)
	b.text("#gauge-minute strong", "4")
	b.click(`[data-body*='"24h"']`)
	b.until(`document.getElementById("gauge-day").ariaValueNow === "7"`)
}

func TestReset(t *testing.T) {
	p, b := openPage(t)
	p.list(3)
	b.until(`document.querySelectorAll("#rows tr").length === 3`)
	b.click("#clear")
	b.until(`document.querySelectorAll("#rows tr").length === 0`)
	p.list(1)
	b.until(`document.querySelector("#rows tr")?.id === "r4"`)
	p.send(http.MethodPost, "/_fake/pets", `{"name":"Rex","categoryId":1}`)
	b.text("#pets", "Rex")
	b.run(`window.confirm = () => true`)
	b.click("#reset")
	b.until(`document.querySelectorAll("#rows tr, #pets tr").length === 0`)
	b.text("#gauge-minute", "unused")
	p.list(1)
	b.until(`document.querySelector("#rows tr")?.id === "r1"`)

	// Ids begin again, and belong to others.
	for _, name := range []string{"Mimi", "Coco"} {
		p.send(http.MethodPost, "/_fake/pets", `{"name":"`+name+`","categoryId":1}`)
		p.send(http.MethodPost, "/_fake/faults", `{"status":503,"operation":"getPet","message":"`+name+`"}`)
		b.text("#pets", name)
		b.text("#faults", name)
		p.send(http.MethodPost, "/_fake/reset", "")
	}
	b.until(`document.querySelectorAll("#pets tr, #faults li").length === 0`)
}

func TestReset_openRequest(t *testing.T) {
	p := start(t)
	p.send(http.MethodGet, "/v1/pets/7", "")
	b := newTab(t)
	b.open(p, "?request=1")
	b.text("#detail-title", "Request 1")
	p.send(http.MethodPost, "/_fake/reset", "")
	b.text(".message.wrong", "The journal was cleared.")
	p.send(http.MethodPost, "/v1/pets", `{"name":"Rex","categoryId":1}`)
	b.text("#rows", "createPet")
	b.text("#detail .what", "GET /v1/pets/7")
	assert.True(t, value[bool](b, `[...document.querySelectorAll("#repeat, #copy-code, [data-step]")].every((e) => e.disabled)`))
	b.run(`for (const e of document.querySelectorAll("#repeat, #copy-code, [data-step]")) { e.disabled = false; e.click(); }`)
	b.text(".message.wrong", "the journal was cleared since")
	assert.Equal(t, "Request 1", value[string](b, `byId("detail-title").textContent`))
	assert.Contains(t, p.send(http.MethodGet, "/_fake/requests", "").body, `"total":1`, "nothing was sent")
	b.consoleErrors() // the status 409
}

func TestPets(t *testing.T) {
	p, b := openPage(t)
	b.run(`document.getElementById("pet-name").value = 'Zoë "Z"'`)
	b.run(`document.getElementById("pet-category").value = "9223372036854775807"`)
	b.click("#add-pet button")
	b.text("#pets", `Zoë "Z"`)
	b.text("#pets", "9223372036854775807")
	assert.JSONEq(t, `[{"id":1,"name":"Zoë \"Z\"","categoryId":9223372036854775807,"status":"available"}]`,
		p.send(http.MethodGet, "/v1/pets", "").body)

	b.choose("#pets select", "sold")
	b.text("#message", "Changed")
	assert.Contains(t, p.send(http.MethodGet, "/v1/pets/1", "").body, `"status":"sold"`)
	p.send(http.MethodPut, "/_fake/pets/1/status", `{"status":"pending"}`)
	b.until(`document.querySelector("#pets select").value === "pending"`)

	b.click("#pets button")
	b.until(`document.querySelectorAll("#pets tr").length === 0`)
	assert.Equal(t, http.StatusNotFound, p.send(http.MethodGet, "/v1/pets/1", "").status)
}

func TestFocus_deleted(t *testing.T) {
	p := start(t)
	for _, name := range []string{"Rex", "Mimi", "Coco"} {
		p.send(http.MethodPost, "/_fake/pets", `{"name":"`+name+`","categoryId":1}`)
	}
	b := newTab(t)
	b.open(p, "")
	b.until(`document.querySelectorAll("#pets tr").length === 3`)
	b.run(`document.querySelector("#pets tr:nth-child(2) button").focus()`)
	p.send(http.MethodDelete, "/_fake/pets/3", "")
	b.until(`document.querySelectorAll("#pets tr").length === 2`)
	for _, want := range []string{"Delete pet 2", "Delete pet 1"} {
		assert.Equal(t, want, value[string](b, `document.activeElement.ariaLabel`))
		b.press(kb.Enter)
		b.until(`!document.querySelector("#pets")?.contains(document.activeElement) || document.activeElement.ariaLabel !== ` + quote(want))
	}
	assert.Equal(t, "Add", value[string](b, `document.activeElement.textContent`))
}

// A table that is drawn anew under the reader's hands would take the focus away.
func TestFocus_whileRequestsCome(t *testing.T) {
	p := start(t)
	p.send(http.MethodPost, "/_fake/pets", `{"name":"Rex","categoryId":1}`)
	p.list(2)
	b := newTab(t)
	b.open(p, "")
	rows := 2
	for _, selector := range []string{"#pets select", "#rows tr:last-child a", "#fault", `#filters [name="key"]`, "#key"} {
		b.run(`document.querySelector(` + quote(selector) + `).focus(); window.before = document.activeElement`)
		p.send(http.MethodPost, "/v1/pets", `{"name":"Mimi","categoryId":1}`)
		rows++
		b.until(fmt.Sprintf(`document.querySelectorAll("#rows tr").length === %d`, rows))
		b.until(`document.querySelector("#rows tr:first-child b").textContent === "201"`)
		assert.True(t, value[bool](b, `document.activeElement === window.before`), selector)
	}
}
