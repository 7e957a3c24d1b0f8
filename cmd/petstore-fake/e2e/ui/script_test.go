package ui

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
)

func TestPage_withoutJavaScript(t *testing.T) {
	p := start(t)
	p.list(2)
	p.send(http.MethodPost, "/v1/pets", `{"name":"Rex"}`)
	b := newTab(t)
	b.size(1200, 900)
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.do(chromedp.Navigate(p.origin + "/_fake/"))
	b.text("noscript", "Without JavaScript")
	assert.Equal(t, 3, b.rows())
	b.text("#rows tr:first-child", "createPet")
	b.text("#rows tr:first-child", "section 4.2")
	assert.False(t, value[bool](b, `[...document.querySelectorAll(".js")].some((e) => e.getBoundingClientRect().height > 0)`),
		"what needs the script is not shown")

	b.run(`document.querySelector('#filters [name="operation"]').value = "listPets"`)
	b.click("#filters noscript button")
	b.until(`location.search.includes("operation=listPets")`)
	assert.Equal(t, 2, b.rows())
	b.click("#rows tr:first-child a")
	b.text(".detail", "Request 2")
	b.text(".detail", "200 GET /v1/pets")
	assert.Equal(t, 2, b.rows(), "the filter is still there")
	b.text(".detail", "Bearer [redacted]")
}

func TestPage_hidden(t *testing.T) {
	p, b := openPage(t)
	p.list(1)
	b.until(`document.querySelectorAll("#rows tr").length === 1`)
	hide := func(hidden string) {
		b.run(`Object.defineProperty(document, "hidden", {value: ` + hidden + `, configurable: true});
			document.dispatchEvent(new Event("visibilitychange"))`)
	}
	hide("true")
	b.text("#live", "paused")
	assert.True(t, value[bool](b, `stream.readyState === EventSource.CLOSED`), "a browser has few connections for a host")
	b.run(`window.before = document.querySelector("#rows tr")`)
	p.list(2)
	hide("false")
	b.until(`document.querySelectorAll("#rows tr").length === 3`)
	b.text("#live", "live")
	assert.True(t, value[bool](b, `window.before === document.querySelector("#rows tr:last-child")`), "it was resumed")
}

func TestPage_comesBackWithTheProgram(t *testing.T) {
	p := start(t)
	b := newTab(t)
	p.list(3)
	b.open(p, "")
	b.until(`document.querySelectorAll("#rows tr").length === 3`)
	b.expect("net::ERR_") // of the connection that breaks, and of those that nobody accepts
	p.stop()
	b.text("#live", "connecting")
	b.click("#latency")
	b.text("#message.wrong", "The program cannot be reached.")
	b.text(".gone", "No response from the program since")
	again := startAt(t, strings.TrimPrefix(p.origin, "http://"))
	again.list(1)
	b.until(`document.querySelectorAll("#rows tr").length === 1`)
	b.text("#live", "live")
	b.until(`document.querySelector(".gone").hidden`)
}

// A program that is stopped keeps its connections, so that no error shows it.
func TestPage_frozenProgram(t *testing.T) {
	p := start(t)
	p.list(1)
	b := newTab(t)
	b.open(p, "")
	b.until(`document.querySelectorAll("#rows tr").length === 1`)
	p.signal(syscall.SIGSTOP)
	b.click("#latency") // before the loss is seen
	b.text("#message.wrong", "No response from the program within 5 s.")
	b.text(".gone", "No response from the program since")
	b.text(".gone", "The page shows the state at that time, and goes on by itself when the program is back.")
	b.text("#live", "lost")
	assert.Equal(t, "grayscale(1)", value[string](b, `getComputedStyle(document.querySelector(".key")).filter`))
	p.signal(syscall.SIGCONT)
	b.until(`document.querySelector(".gone").hidden`)
	b.text("#live", "live")
	p.list(1)
	b.until(`document.querySelectorAll("#rows tr").length === 2`)
}
