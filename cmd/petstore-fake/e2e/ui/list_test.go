package ui

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFilters(t *testing.T) {
	p := start(t, "-plan", "enterprise:300,0")
	p.send(http.MethodPost, "/_fake/keys", `{"key":"second-key-0001","plan":"free"}`)
	p.send(http.MethodPost, "/v1/pets", `{"name":"Rex"}`)
	p.list(250) // so that the first one is not on the page
	b := newTab(t)
	b.open(p, "")
	b.until(`document.querySelectorAll("#rows tr").length === 200`)
	b.text("#shown", "The newest 200 of 251.")
	b.text("#fit", "251")

	b.choose(`#filters [name="operation"]`, "createPet")
	b.until(`document.querySelectorAll("#rows tr").length === 1`)
	b.text("#rows", "categoryId")
	b.text("#rows", "section 4.2")
	b.text("#fit", "1 of 251")
	b.text("#har", "Save 1 as HAR")
	assert.Equal(t, "/_fake/har?operation=createPet", b.attribute("#har", "href"))
	b.text("#told", "1 of 251 requests fit.") // for who hears the page
	assert.Contains(t, value[string](b, "location.search"), "operation=createPet")

	b.choose(`#filters [name="operation"]`, "")
	b.choose(`#filters [name="status"]`, "429")
	b.until(`document.querySelectorAll("#rows tr").length === 0`)
	for range 60 {
		p.pets()
	}
	b.until(`document.querySelectorAll("#rows tr").length === 11`)
	b.text("#fit", "11 of 311")
	b.click("#clear-filters")
	b.text("#fit", "311")
	assert.Empty(t, value[string](b, "location.search"))
	b.until(`!document.getElementById("clear-filters")`)

	b.open(p, "?operation=createPet&status=400&key=1&violation=false")
	assert.Equal(t, "no violation", value[string](b, `filters.elements.violation.selectedOptions[0].text`))
	b.until(`document.querySelectorAll("#rows tr").length === 1`)
	assert.Equal(t, "400", value[string](b, `document.querySelector('#filters [name="status"]').value`))

	b.click("#clear-filters")
	b.choose(`#filters [name="status"]`, "200") // what is older than the list
	b.until(`document.querySelectorAll("#rows tr").length === 200`)
	b.click("#further")
	b.text("#fit", "99 of 311")
	b.until(`document.querySelector("#rows tr").id === "r100"`)
	b.click(`[data-clear="before"]`)
	b.text("#fit", "299 of 311")

	b.open(p, "?status=418&key=7") // which are not among the choices
	b.text("#shown", "No request that fits.")
	p.send(http.MethodGet, "/v1/pets", "")
	b.text("#fit", "0 of 312")
	assert.Zero(t, b.rows())
	assert.Equal(t, "418 7", value[string](b, `["status", "key"].map((n) => document.querySelector("#filters [name=" + n + "]").value).join(" ")`))
}

func TestList_notes(t *testing.T) {
	p := start(t, "-plan", "enterprise:4,0")
	for _, fault := range []string{"status=503,retry-after=1", "wire=reset", "delay=20ms", `header="X-Note: a"`} {
		require.Equal(t, http.StatusCreated, p.send(http.MethodPost, "/_fake/faults", quote(fault)).status)
	}
	for range 4 {
		p.send(http.MethodPost, "/v1/pets", `{"name":"Rex","categoryId":1}`)
	}
	p.send(http.MethodGet, "/v1/pets?status=available&limit=50", "")
	p.send(http.MethodGet, "/v1/pets/1", "")
	p.pets()
	p.pets()
	b := newTab(t)
	b.open(p, "")
	for seq, want := range map[string]string{
		"r1": "try 1 fault status 503, Retry-After 1", "r2": "repeated create try 2 fault connection reset",
		"r3": "fault delayed by 20 ms", "r4": "fault header X-Note: a", "r6": "deprecated", "r8": "early by ",
	} {
		b.until(fmt.Sprintf(`document.querySelector("#%s").innerText.replaceAll(/\s+/g, " ").includes(%q)`, seq, want))
	}
	assert.Equal(t, "getPet GET /v1/pets/1 200", b.attribute("#r6 a", "aria-label"), "what a screen reader says")
	b.text("#r5 .path", "GET /v1/pets?status=available&limit=50")
	b.text("#r5 .since", "+")
	b.text("#violations", " violations")
	assert.Equal(t, "none", value[string](b, `getComputedStyle(document.querySelector("#r1 .sender")).display`), "there is one key")
	b.click("#violations")
	b.until(`document.querySelectorAll("#rows tr").length < 8`)
	b.until(`[...document.querySelectorAll("#rows tr")].every((tr) => tr.querySelector(".rule"))`)
}

func TestList_daysAndKeys(t *testing.T) {
	p := start(t, "-clock", "2030-12-04T23:59:00Z")
	p.list(2)
	p.send(http.MethodPost, "/_fake/clock", `{"advance":"1h"}`)
	p.list(1)
	b := newTab(t)
	b.open(p, "")
	b.text("#r2 .day", "2030-12-04")
	assert.Equal(t, 1, value[int](b, `[...document.querySelectorAll(".day")].filter((e) => e.offsetWidth > 0).length`))
	p.send(http.MethodGet, "/v1/pets/x", "")
	b.text("#r4 .time", "00:59:")
	require.NoError(t, p.call(t.Context(), "/v1/pets", "no-such-key"))
	b.text("#r5 .sender", "unknown key")
	b.text("#r1 .sender", "fake-api-key")
}

func TestDetail_pending(t *testing.T) {
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
	b.text("#detail .why", "fault")
}

func TestDetail(t *testing.T) {
	p, b := openPage(t)
	p.send(http.MethodPost, "/v1/pets?dry=1", `{"name":"it's Rex","categoryId":9223372036854775807}`)
	p.list(1)
	b.until(`document.querySelectorAll("#rows tr").length === 2`)
	b.click("#rows tr:last-child .status")
	b.until(`document.getElementById("detail").open`)
	for _, want := range []string{
		"Request 1", "201", "POST /v1/pets?dry=1", "fake-api-key", "Authorization", "Bearer [redacted]",
		`"name": "it's Rex"`, `"categoryId": 9223372036854775807`, "X-RateLimit-Remaining", `"id": 1`, "52 bytes",
		"createPet has no parameter", "after this response", "Bearer fake-api-key", `--data-raw '{"name":"it'\''s Rex"`,
	} {
		b.text("#detail", want)
	}
	assert.Contains(t, value[string](b, "location.search"), "request=1")
	assert.Equal(t, "r1", value[string](b, `document.querySelector("#rows [aria-current]").closest("tr").id`))

	b.click("[data-step=newer]")
	b.text("#detail-title", "Request 2")
	b.text("#detail-body", "No body.")
	b.click(".forms button:nth-child(2)")
	b.text("#code", "client.ListPets(")
	b.click(".forms button:nth-child(3)")
	b.text("#code", "await fetch(")
	b.click("#rows tr:last-child .status") // another row swaps
	b.text("#detail-title", "Request 1")
	b.text("#code", "await fetch(")
	b.click("#repeat")
	b.until(`document.querySelectorAll("#rows tr").length === 3`)
	b.text("#r3", "POST /v1/pets?dry=1")
	b.click("#close")
	b.until(`!document.getElementById("detail").open && location.search === ""`)

	b.open(p, "?request=1") // as somebody does who was given the address
	b.until(`document.getElementById("detail").open`)
	b.text("#detail-title", "Request 1")
}

func TestDetail_back(t *testing.T) {
	p := start(t)
	p.list(3)
	b := newTab(t)
	for _, width := range []int64{1600, 1000} {
		b.size(width, 1000)
		b.open(p, "?operation=listPets")
		b.click("#r2 .status")
		b.until(`document.getElementById("detail").open`)
		assert.Equal(t, width < 1240, value[bool](b, `document.getElementById("detail").matches(":modal")`))
		b.click("[data-step=older]")
		b.text("#detail-title", "Request 1")
		b.run("history.back()")
		b.until(`!document.getElementById("detail").open`)
		assert.Equal(t, "?operation=listPets", value[string](b, "location.search"))
		b.run("history.forward()")
		b.until(`document.getElementById("detail").open`)
		b.text("#detail-title", "Request 1")
	}
	b.size(1600, 1000) // the open request moves beside the list
	b.until(`document.getElementById("detail").open && !document.getElementById("detail").matches(":modal")`)
}

func TestDetail_copy(t *testing.T) {
	p := start(t)
	b := newTab(t)
	b.size(1000, 1000)
	b.open(p, "")
	p.list(1)
	b.until(`document.querySelectorAll("#rows tr").length === 1`)
	b.allow("clipboard-read", p.origin)
	b.allow("clipboard-write", p.origin)
	b.click("#rows tr")
	b.click("#copy-code")
	b.text("#detail .message", "Copied")
	assert.True(t, value[bool](b, `(() => {
		const e = document.querySelector("#detail .message"), r = e.getBoundingClientRect();
		return document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2) === e;
	})()`), "the open request would cover it")
	copied := value[string](b, "navigator.clipboard.readText()")
	assert.Equal(t, p.send(http.MethodGet, "/_fake/requests/1/curl", "").body, copied)
	out, err := exec.CommandContext(t.Context(), "sh", "-c", copied).Output()
	require.NoError(t, err)
	assert.Equal(t, "[]", strings.TrimSpace(string(out)), "pasted, it works")
}
