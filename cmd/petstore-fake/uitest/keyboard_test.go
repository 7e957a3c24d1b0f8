package uitest

import (
	"net/http"
	"slices"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEverythingIsReachedByTheTabKeyAndSeenToBe(t *testing.T) {
	p := start(t)
	p.send(http.MethodPost, "/_fake/pets", `{"name":"Rex","categoryId":1}`)
	p.send(http.MethodPost, "/_fake/faults", `{"status":503,"operation":"createPet"}`)
	p.list(3)
	b := newTab(t)
	b.size(1600, 1000)
	b.open(p, "")
	b.until(`document.querySelectorAll("#faults li").length === 1`)
	var walk []string
	for range 60 {
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
		"Skip to the requests", "copy-base", "+1 minute", "+1 day", "reset", "key", "operation", "status",
		"Save all as HAR", "clear", "listPets", "fault-operation", "fault-503", "fault-reset", "fault-429", "retry-after",
		"latency", "latency-ms", "ban-key", "ban-seconds", "Remove", "faults-clear", "pet-name", "pet-category",
		"pet-status", "Add",
	} {
		assert.Contains(t, walk, want)
	}
	rows := slices.DeleteFunc(slices.Clone(walk), func(s string) bool { return s != "listPets" })
	assert.Len(t, rows, 1, "the list takes one stop, and the arrow keys from there")
	for _, at := range walk {
		assert.NotContains(t, at, "UNSEEN")
	}
}

func TestTheListIsWalkedAndOpenedByKeys(t *testing.T) {
	p := start(t)
	p.list(4)
	b := newTab(t)
	b.open(p, "")
	b.until(`document.querySelectorAll("#rows tr").length === 4`)
	focused := func() string {
		return value[string](b, `document.activeElement.closest("tr")?.id ?? document.activeElement.closest("dialog")?.id ?? ""`)
	}
	b.run(`document.querySelector('#rows a[tabindex="0"]').focus()`)
	require.Equal(t, "r4", focused())
	for _, c := range []struct{ key, want string }{
		{kb.ArrowDown, "r3"},
		{kb.ArrowDown, "r2"},
		{kb.ArrowUp, "r3"},
		{kb.End, "r1"},
		{kb.ArrowDown, "r1"},
		{kb.Home, "r4"},
		{kb.ArrowUp, "r4"},
		{kb.ArrowDown, "r3"},
	} {
		b.press(c.key)
		assert.Equal(t, c.want, focused())
	}
	b.press(kb.Enter)
	b.until(`document.getElementById("detail").open`)
	assert.Equal(t, "detail", focused())
	b.text("#detail-title", "Request 3")
	b.press(kb.ArrowDown)
	b.text("#detail-title", "Request 2")
	b.press(kb.Escape)
	b.until(`!document.getElementById("detail").open && document.activeElement.closest("tr")?.id === "r2"`) // where the reader was
}

func TestAFastReaderGetsWhatWasAskedForLast(t *testing.T) {
	p := start(t)
	p.list(4)
	b := newTab(t)
	b.open(p, "?request=4")
	b.text("#detail-title", "Request 4")
	b.run(`for (let i = 0; i < 3; i++) document.getElementById("older").click()`)
	b.text("#detail-title", "Request 1")
	b.click("#older")
	b.text("#detail-message", "no older request")
	assert.False(t, value[bool](b, `(async () => {
		const dialog = document.getElementById("detail");
		document.getElementById("newer").click();
		dialog.close();
		for (let i = 0; i < 3; i++) await ask("GET", "requests/2");
		return dialog.open;
	})()`), "what comes after all does not open what was closed")
}
