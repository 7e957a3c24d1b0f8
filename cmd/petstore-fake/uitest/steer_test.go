package uitest

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
)

// pets calls listPets and returns the status of the answer, 0 if there was none.
func (p *program) pets() int {
	p.t.Helper()
	return p.send(http.MethodGet, "/v1/pets", "").status
}

func TestAFaultButtonMakesTheNextCallFail(t *testing.T) {
	p := start(t)
	b := newTab(t)
	b.open(p, "")
	for _, c := range []struct {
		button, message string
		status          int
	}{
		{"#fault-503", "gets 503", 503},
		{"#fault-429", "gets 429", 429},
		{"#fault-reset", "is reset", 0},
	} {
		b.click(c.button)
		b.text("#message", c.message)
		assert.Equal(t, c.status, p.pets(), c.button)
		assert.Equal(t, http.StatusOK, p.pets(), "it strikes once")
	}
	b.until(`document.querySelectorAll("#faults li.done").length === 3`)
	b.until(`document.querySelectorAll("#rows i.fault").length === 3`)
	b.text("#rows", "429")
	b.text("#rows", "503")
	b.text("#rows", "none")

	b.run(`document.getElementById("retry-after").value = "77"`)
	b.choose("#fault-operation", "createPet")
	b.click("#fault-429")
	b.text("#message", "The next createPet gets 429.")
	b.text("#faults li:first-child", "on createPet with status 429, Retry-After 77, once")
	assert.Equal(t, http.StatusOK, p.pets(), "it is for another operation")
	answer := p.send(http.MethodPost, "/v1/pets", `{"name":"Rex","categoryId":1}`)
	assert.Equal(t, http.StatusTooManyRequests, answer.status)
	assert.Equal(t, "77", answer.header.Get("Retry-After"))

	b.click("#fault-503")
	b.text("#faults li:first-child", "struck 0")
	b.click("#faults li:first-child button")
	b.text("#message", "Removed")
	b.click("#faults-clear")
	b.until(`document.querySelectorAll("#faults li").length === 0`)
	assert.Equal(t, http.StatusCreated, p.send(http.MethodPost, "/v1/pets", `{"name":"Rex","categoryId":1}`).status)
}

func TestALatencyAndABanComeAndGo(t *testing.T) {
	p := start(t)
	b := newTab(t)
	b.open(p, "")
	b.run(`document.getElementById("latency-ms").value = "20"`)
	b.click("#latency")
	b.text("#latency", "Latency: 20ms")
	assert.JSONEq(t, `{"latency":"20ms"}`, p.send(http.MethodGet, "/_fake/latency", "").body)
	b.click("#latency-off")
	b.until(`document.getElementById("latency").textContent === "Latency"`)
	assert.JSONEq(t, `{"latency":"0s"}`, p.send(http.MethodGet, "/_fake/latency", "").body)

	b.click("#ban-key")
	b.text("#ban", "Banned for another")
	assert.Equal(t, http.StatusTooManyRequests, p.pets())
	b.text("#rows", "section 8.3")
	b.click("#ban-lift")
	b.until(`document.getElementById("ban").textContent === ""`)
	assert.Equal(t, http.StatusOK, p.pets())

	b.run(`document.getElementById("ban-seconds").value = "1"`)
	b.click("#ban-key")
	b.until(`!document.getElementById("ban-lift").disabled`)
	b.until(`document.getElementById("ban").textContent === ""`)
	assert.True(t, value[bool](b, `document.getElementById("ban-lift").disabled`), "a ban that has ended is not there to lift")
}

func TestAWrongNumberIsLeftToTheBrowserToTell(t *testing.T) {
	p := start(t)
	b := newTab(t)
	b.open(p, "")
	for field, button := range map[string]string{"retry-after": "fault-429", "latency-ms": "latency", "ban-seconds": "ban-key"} {
		for _, wrong := range []string{"", "-1", "1.5", "99999999"} {
			b.run(`document.getElementById("` + field + `").value = "` + wrong + `"`)
			b.click("#" + button)
			assert.Equal(t, field, value[string](b, "document.activeElement.id"), "%q", wrong)
		}
	}
	assert.JSONEq(t, `{"faults":[]}`, p.send(http.MethodGet, "/_fake/faults", "").body)
	b.run(`document.getElementById("latency-ms").value = "1e1"`)
	b.click("#latency")
	b.text("#latency", "Latency: 10ms")
}

func TestTheClockButtonsRestoreWhatRemains(t *testing.T) {
	p := start(t, "-plan", "enterprise:5,7")
	b := newTab(t)
	b.open(p, "")
	b.text("#gauge-minute strong", "5")
	p.list(5)
	b.text("#gauge-minute strong", "0")
	b.text("#gauge-minute", "of 5 a minute")
	b.text("#gauge-minute", "resets in")
	assert.Equal(t, http.StatusTooManyRequests, p.pets())

	b.click(`[data-advance="1m"]`)
	b.text("#gauge-minute strong", "5")
	b.text("#ahead", "+1m")
	answer := p.send(http.MethodGet, "/v1/pets", "")
	assert.Equal(t, http.StatusOK, answer.status)
	assert.Equal(t, "1", answer.header.Get("X-RateLimit-Remaining"), "of the day")
	p.list(1)
	b.text("#gauge-day strong", "0")
	assert.Equal(t, http.StatusTooManyRequests, p.pets())

	b.click(`[data-advance="24h"]`)
	b.text("#gauge-day strong", "7")
	b.until(`document.getElementById("ahead").textContent === "+24h1m"`)
	p.list(1)
	b.text("#gauge-day strong", "6")
	assert.Equal(t, "6", b.attribute("#gauge-day", "aria-valuenow"))
}

func TestResetAndClearEmptyTheList(t *testing.T) {
	p := start(t)
	b := newTab(t)
	b.open(p, "")
	p.list(3)
	b.until(`document.querySelectorAll("#rows tr").length === 3`)
	b.click("#clear")
	b.until(`document.querySelectorAll("#rows tr").length === 0`)
	p.list(1)
	b.until(`document.querySelector("#rows tr")?.id === "r4"`)
	p.send(http.MethodPost, "/_fake/pets", `{"name":"Rex","categoryId":1}`)
	b.text("#pets", "Rex")
	b.click("#reset")
	b.until(`document.querySelectorAll("#rows tr, #pets tr").length === 0`)
	b.text("#gauge-minute", "unused")
	p.list(1)
	b.until(`document.querySelector("#rows tr")?.id === "r1"`)
}

func TestPetsAreAddedChangedAndDeleted(t *testing.T) {
	p := start(t)
	b := newTab(t)
	b.open(p, "")
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

	b.run(`document.getElementById("pet-name").value = "Rex"`)
	b.run(`document.getElementById("pet-category").value = "99999999999999999999"`)
	b.click("#add-pet button")
	b.text("#message.wrong", "categoryId")
	assert.NotEmpty(t, b.consoleErrors(), "the browser reports the status 400")

	b.click("#pets button")
	b.until(`document.querySelectorAll("#pets tr").length === 0`)
	assert.Equal(t, http.StatusNotFound, p.send(http.MethodGet, "/v1/pets/1", "").status)
}

func TestTheFocusGoesToTheNeighbourOfWhatIsDeleted(t *testing.T) {
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
	for _, want := range []string{"Delete Mimi, id 2", "Delete Rex, id 1"} {
		assert.Equal(t, want, value[string](b, `document.activeElement.ariaLabel`))
		b.press(kb.Enter)
		b.until(`!document.querySelector("#pets").contains(document.activeElement) || document.activeElement.ariaLabel !== ` + quote(want))
	}
	assert.Equal(t, "Add", value[string](b, `document.activeElement.textContent`))
}

// A table that is drawn anew under the reader's hands would take the focus away.
func TestTheFocusStaysWhileRequestsCome(t *testing.T) {
	p := start(t)
	p.send(http.MethodPost, "/_fake/pets", `{"name":"Rex","categoryId":1}`)
	p.list(2)
	b := newTab(t)
	b.open(p, "")
	rows := 2
	for _, selector := range []string{"#pets select", "#rows tr:last-child a", `#filters [name="key"]`, "#key"} {
		b.run(`document.querySelector(` + quote(selector) + `).focus(); window.before = document.activeElement`)
		p.send(http.MethodPost, "/v1/pets", `{"name":"Mimi","categoryId":1}`)
		rows++
		b.until(fmt.Sprintf(`document.querySelectorAll("#rows tr").length === %d`, rows))
		b.until(`document.querySelector("#rows tr:first-child b").textContent === "201"`)
		assert.True(t, value[bool](b, `document.activeElement === window.before`), selector)
	}
}
