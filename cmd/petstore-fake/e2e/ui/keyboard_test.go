package ui

import (
	"net/http"
	"slices"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKeyboard_tab(t *testing.T) {
	p := start(t)
	p.send(http.MethodPost, "/_fake/pets", `{"name":"Rex","categoryId":1}`)
	p.send(http.MethodPost, "/_fake/faults", `{"status":503,"operation":"createPet"}`)
	p.list(3)
	b := newTab(t)
	b.size(1600, 1000)
	b.open(p, "")
	b.until(`document.querySelectorAll("#faults li").length === 1`)
	var walk []string
	for range 80 {
		b.press(kb.Tab)
		at := value[string](b, `(() => {
			const e = document.activeElement;
			if (e === document.body) return "";
			const outline = getComputedStyle(e).outlineStyle;
			return (outline === "none" ? "UNSEEN " : "") + (e.id || e.name || e.textContent.trim());
		})()`)
		if at == "" {
			break
		}
		walk = append(walk, at)
	}
	for _, want := range []string{
		"Skip to the requests", "Copy", "+1 minute", "window-end", "+1 day", "reset", "help", "Remove all", "key",
		"Ban, plan, revoke, add", "graph", "har", "clear", "text", "operation", "status", "fault", "violation", "listPets GET /v1/pets",
		"Inject", "503", "Cut off", "fault-key", "latency", "latency-ms", "Remove", "pet-name", "pet-category",
		"pet-status", "Add",
	} {
		assert.Contains(t, walk, want)
	}
	rows := slices.DeleteFunc(slices.Clone(walk), func(s string) bool { return s != "listPets GET /v1/pets" })
	assert.Len(t, rows, 1, "the list takes one stop, and the arrow keys from there")
	for _, at := range walk {
		assert.NotContains(t, at, "UNSEEN")
	}
}

// focused returns the id of the row or the dialog that has the focus.
func (b *tab) focused() string {
	b.t.Helper()
	return value[string](b, `document.activeElement.closest("tr")?.id ?? document.activeElement.closest("dialog")?.id ?? ""`)
}

func TestKeyboard_list(t *testing.T) {
	p := start(t)
	p.list(4)
	b := newTab(t)
	for _, width := range []int64{1600, 1000} { // beside the list, and over everything
		b.size(width, 1000)
		b.open(p, "")
		b.until(`document.querySelectorAll("#rows tr").length === 4`)
		b.run(`document.querySelector('#rows a[tabindex="0"]').focus()`)
		require.Equal(t, "r4", b.focused())
		for _, c := range []struct{ key, want string }{
			{kb.ArrowDown, "r3"},
			{"j", "r2"},
			{"k", "r3"},
			{kb.End, "r1"},
			{kb.ArrowDown, "r1"},
			{kb.Home, "r4"},
			{kb.ArrowUp, "r4"},
			{kb.ArrowDown, "r3"},
		} {
			b.press(c.key)
			assert.Equal(t, c.want, b.focused())
		}
		b.press(kb.Enter)
		b.text("#detail-title", "Request 3")
		b.until(`document.getElementById("detail").open`)
		want := "detail"
		if width == 1600 {
			want = "r3"
		}
		assert.Equal(t, want, b.focused())
		// On a button, a second Enter of an impatient reader would go somewhere else.
		assert.NotEqual(t, "BUTTON", value[string](b, "document.activeElement.tagName"))
		b.press(kb.ArrowDown)
		b.text("#detail-title", "Request 2")
		b.press("j")
		b.text("#detail-title", "Request 1")
		b.press("k")
		b.text("#detail-title", "Request 2")
		b.press(kb.Escape)
		b.until(`!document.getElementById("detail").open && document.activeElement.closest("tr")?.id === "r2"`) // where the reader was
	}
}

func TestKeyboard_letters(t *testing.T) {
	p := start(t)
	p.list(2)
	b := newTab(t)
	b.open(p, "")
	b.until(`document.querySelectorAll("#rows tr").length === 2`)
	b.letter("/")
	assert.Equal(t, "text", value[string](b, "document.activeElement.name"))
	b.press("?", "j")
	assert.Equal(t, "?j", value[string](b, "document.activeElement.value"), "a field takes letters as they are")
	b.click("#clear-filters")
	b.run("document.activeElement.blur()")
	b.letter("?")
	b.until(`document.getElementById("keyboard").open`)
	b.click("#letters")
	b.press(kb.Escape)
	b.until(`!document.getElementById("keyboard").open`)
	b.run("document.activeElement.blur()")
	b.letter("?")
	b.letter("/")
	b.letter("j")
	assert.False(t, value[bool](b, `document.getElementById("keyboard").open || document.activeElement !== document.body`), "they are off")
	b.open(p, "")
	assert.False(t, value[bool](b, `document.getElementById("letters").checked`), "and stay off")
}

func TestDetail_lastRequestAskedFor(t *testing.T) {
	p := start(t)
	p.list(4)
	b := newTab(t)
	b.open(p, "?request=4")
	b.text("#detail-title", "Request 4")
	b.run(`document.querySelector("[data-step=older]").click()`)
	b.text("#detail-title", "Request 3")
	b.run(`byId("detail").close()`)
	b.open(p, "?request=1")
	b.text("#detail-title", "Request 1")
	b.click("[data-step=older]")
	b.text("#message", "no older request")
	assert.False(t, value[bool](b, `(async () => {
		const dialog = document.getElementById("detail");
		document.querySelector("[data-step=newer]").click();
		dialog.close();
		for (let i = 0; i < 3; i++) await ask("GET", "requests/2");
		return dialog.open;
	})()`), "a late response does not open what was closed")
}
