package ui

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
)

func TestChart(t *testing.T) {
	p := start(t, "-plan", "enterprise:5,0")
	p.send(http.MethodPost, "/_fake/faults", `"status=503; wire=reset"`)
	for range 9 {
		p.pets()
	}
	p.send(http.MethodPost, "/_fake/clock", `{"advance":"40s"}`)
	p.send(http.MethodPost, "/v1/pets", `{}`)
	b := newTab(t)
	b.open(p, "")
	for kind, want := range map[string]string{
		"fine": "2xx 5", "limited": "429 3", "failed": "5xx 1", "lost": "none 1", "left": "left of fake-api-key",
	} {
		b.text("#legend ."+kind, want)
	}
	b.until(`document.querySelectorAll("#graph line.limited, #graph line.failed, #graph line.lost").length >= 3`)
	b.until(`document.querySelector("#graph .left").getAttribute("d").startsWith("M")`)
	b.until(`document.querySelector("#graph .end").textContent === "0 of 5 left"`)

	b.run(`document.getElementById("graph").focus()`)
	for range 60 {
		if b.press(kb.ArrowLeft); value[bool](b, `document.getElementById("slot").textContent.includes("× 2xx")`) {
			break
		}
	}
	assert.Contains(t, b.attribute("#graph", "aria-valuetext"), "× 2xx")
	b.press(kb.Enter)
	b.until(`document.getElementById("fit").textContent.endsWith(" of 10")`)
	assert.Contains(t, value[string](b, "location.search"), "at=")
	b.text(`[data-clear="at"]`, " to ")
	assert.Positive(t, b.rows())
	assert.False(t, value[bool](b, `document.getElementById("rows").innerText.includes("createPet")`))
	b.click(`[data-clear="at"]`)
	b.until(`document.querySelectorAll("#rows tr").length === 10`)
}
