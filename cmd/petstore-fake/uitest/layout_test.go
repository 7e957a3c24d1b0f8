package uitest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fetched is where the step ui of .ci/run puts what comes from the npm registry.
var fetched = filepath.Join("..", "..", "..", "bin", "ui", "node_modules")

// readFetched reads a file that the step ui has fetched.
func readFetched(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(fetched, path))
	if err != nil {
		skip(t, "what judges the page is not there: run .ci/run ui once")
	}
	return text
}

// full starts a program of which every part of the page has something to show, some of it unwieldy.
func full(t *testing.T) *program {
	t.Helper()
	p := start(t, "-plan", "enterprise:40,100")
	long := strings.Repeat("unbroken", 40)
	p.send(http.MethodPost, "/_fake/keys", `{"key":"`+long+`","plan":"free"}`)
	p.send(http.MethodPost, "/v1/pets", `{"name":"Rex","categoryId":1,"status":"sold"}`)
	p.send(http.MethodPost, "/v1/pets", `{"name":"`+long+`","categoryId":9223372036854775807}`)
	p.send(http.MethodPost, "/v1/pets", `{"name":"Rex"}`)
	p.send(http.MethodPost, "/v1/pets?"+long+"=1", `{"`+long+`":1,"name":"Rex","categoryId":1}`)
	p.send(http.MethodGet, "/v1/"+long, "")
	p.send(http.MethodPost, "/_fake/faults", `{"wire":"reset"}`)
	p.send(http.MethodGet, "/v1/pets", "")
	for range 40 {
		p.pets()
	}
	p.send(http.MethodPost, "/_fake/faults", `{"status":503,"operation":"createPet","retryAfter":"`+long+`"}`)
	p.send(http.MethodPut, "/_fake/keys/1/ban", `{"duration":"10m"}`)
	return p
}

// eachLook calls f for both themes and some widths, with the page and with a request open on it.
func eachLook(t *testing.T, widths []int64, f func(t *testing.T, b *tab, look string)) {
	t.Helper()
	p := full(t)
	b := newTab(t)
	for _, theme := range []string{"light", "dark"} {
		for _, width := range widths {
			b.theme(theme)
			b.size(width, 900)
			for _, query := range []string{"", "?request=4"} {
				b.open(p, query)
				b.until(`document.querySelectorAll("#rows tr").length > 40 && document.querySelectorAll("#faults li").length === 2`)
				if query != "" {
					b.until(`document.getElementById("detail").open`)
				}
				f(t, b, fmt.Sprintf("%s, %d px, %q", theme, width, query))
			}
		}
	}
}

func TestNothingOverflowsInEitherThemeAtAnyWidth(t *testing.T) {
	// To both sides of where the layout changes, and a narrow window of twice the size.
	widths := []int64{320, 360, 720, 721, 900, 901, 1239, 1240, 1600}
	eachLook(t, widths, func(t *testing.T, b *tab, look string) {
		wide := value[[]string](b, `[document.documentElement, document.getElementById("detail"), ...document.querySelectorAll("main section")]
			.filter((e) => e.scrollWidth > e.clientWidth + 1)
			.map((e) => (e.id || e.className || e.tagName) + ": " + e.scrollWidth + " in " + e.clientWidth)`)
		assert.Empty(t, wide, look)
		outside := value[[]string](b, `[...document.querySelectorAll("header *, main button, main input, main select, main a.button, dialog[open] button")]
			.filter((e) => { const r = e.getBoundingClientRect(); return r.width > 0 && (r.left < -1 || r.right > innerWidth + 1) && !e.closest(".skip"); })
			.map((e) => e.id || e.textContent)`)
		assert.Empty(t, outside, look)
		light := strings.HasPrefix(look, "light")
		ground := value[string](b, `getComputedStyle(document.body).backgroundColor`)
		assert.Equal(t, light, ground == "rgb(246, 246, 243)", look)
	})
}

func TestAxeFindsNothingToComplainOf(t *testing.T) {
	axe := string(readFetched(t, filepath.Join("axe-core", "axe.min.js")))
	looks := 0
	eachLook(t, []int64{360, 900, 1240, 1600}, func(t *testing.T, b *tab, look string) {
		b.run(axe)
		found := value[[]string](b, `(async () => {
			const result = await axe.run(document, {resultTypes: ["violations"]});
			if (result.passes.length === 0) return ["axe has judged nothing"];
			return result.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html + " " + n.failureSummary));
		})()`)
		assert.Empty(t, found, look)
		looks++
	})
	require.Equal(t, 16, looks)
}

// Otherwise all requests lie between the reader and the buttons.
func TestWhatLiesBelowTheRequestsIsOneStepAwayOnANarrowPage(t *testing.T) {
	p := full(t)
	b := newTab(t)
	b.size(360, 700)
	b.open(p, "")
	b.until(`document.querySelectorAll("#rows tr").length > 40`)
	for _, part := range []string{"faults-title", "pets-title", "requests"} {
		b.click(`nav a[href="#` + part + `"]`)
		b.until(`((top) => top >= 0 && top < innerHeight / 2 || scrollY + innerHeight > document.body.scrollHeight - 2)(document.getElementById("` + part + `").getBoundingClientRect().top)`)
		b.run("scrollTo(0, 0)")
	}
}
