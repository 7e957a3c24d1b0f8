package ui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fetched is where the step ui of .ci/run puts what comes from the npm registry.
var fetched = filepath.Join("..", "..", "..", "..", "bin", "ui", "node_modules")

// readFetched reads a file that the step ui has fetched.
func readFetched(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(fetched, path))
	if err != nil {
		skip(t, "what judges the page is not there: run .ci/run ui once")
	}
	return text
}

func TestPage_overflow(t *testing.T) {
	// To both sides of where the layout changes, and a narrow window of twice the size.
	widths := []int64{320, 360, 720, 721, 900, 901, 1239, 1240, 1440, 1600, 2560}
	eachLook(t, widths, func(t *testing.T, b *tab, look string) {
		wide := value[[]string](b, `[document.documentElement, document.getElementById("detail"), ...document.querySelectorAll("main section")]
			.filter((e) => e.scrollWidth > e.clientWidth + 1)
			.map((e) => (e.id || e.className || e.tagName) + ": " + e.scrollWidth + " in " + e.clientWidth)`)
		assert.Empty(t, wide, look)
		outside := value[[]string](b, `[...document.querySelectorAll("header *, main button, main input, main select, main a.button, dialog[open] button")]
			.filter((e) => { const r = e.getBoundingClientRect(); return r.width > 0 && (r.left < -1 || r.right > innerWidth + 1) && !e.closest(".skip"); })
			.map((e) => e.id || e.textContent)`)
		assert.Empty(t, outside, look)
		if value[int](b, "innerWidth") >= 1240 { // the list scrolls, and the header, the filters and the faults stay
			assert.LessOrEqual(t, value[int](b, "document.documentElement.scrollHeight - innerHeight"), 0, look)
		}
		light := strings.HasSuffix(look, "light")
		ground := value[string](b, `getComputedStyle(document.body).backgroundColor`)
		assert.Equal(t, light, ground == "rgb(246, 246, 243)", look)
	})
}

func TestPage_axe(t *testing.T) {
	axe := string(readFetched(t, filepath.Join("axe-core", "axe.min.js")))
	looks := 0
	eachLook(t, []int64{360, 768, 1440, 2560}, func(t *testing.T, b *tab, look string) {
		if !value[bool](b, "Boolean(window.axe)") {
			b.run(axe)
		}
		found := value[[]string](b, `(async () => {
			const result = await axe.run(document, {
				resultTypes: ["violations"], preload: false,
				runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
			});
			if (result.passes.length === 0) return ["axe has judged nothing"];
			return result.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html + " " + n.failureSummary));
		})()`)
		assert.Empty(t, found, look)
		looks++
	})
	require.Equal(t, 56, looks)
}

// A reader who has set a larger text in the browser gets it, and need not scroll to the side.
func TestPage_textSize(t *testing.T) {
	p := full(t)
	b := newTab(t)
	call(b, page.SetFontSizes, page.SetFontSizesParams{FontSizes: &page.FontSizes{Standard: 24, Fixed: 20}}) // 150 %
	for _, width := range []int64{480, 768, 1440, 2560} {
		for _, query := range []string{"", "?request=7"} {
			b.size(width, 900)
			b.open(p, query)
			b.until(`document.querySelectorAll("#rows tr").length > 20 && document.getElementById("detail").open === ` + fmt.Sprint(query != ""))
			assert.Equal(t, "21px", value[string](b, `getComputedStyle(document.body).fontSize`))
			assert.LessOrEqual(t, value[int](b, `document.documentElement.scrollWidth - innerWidth`), 0, "%d px, %q", width, query)
			b.picture(fmt.Sprintf("large-%d-%d", width, len(query)))
		}
	}
}
