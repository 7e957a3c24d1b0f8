package redact

import (
	"fmt"
	"html"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const slashedKey = "c2Vj+cmV0/a2V5=="

// everyCharacter is slashedKey with each of its characters escaped in a format.
func everyCharacter(format string) string {
	var b strings.Builder
	for _, c := range []byte(slashedKey) {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

func TestText(t *testing.T) {
	t.Run("removes a key in each escape", func(t *testing.T) {
		for _, form := range []string{
			slashedKey,
			strings.ReplaceAll(slashedKey, "/", `\/`),
			strings.ReplaceAll(slashedKey, "+", `\u002B`),
			strings.ReplaceAll(slashedKey, "+", `\u002b`),
			url.QueryEscape(slashedKey), url.PathEscape(slashedKey),
			strings.ReplaceAll(url.QueryEscape(slashedKey), "%2B", "%2b"),
			html.EscapeString(slashedKey), template.HTMLEscapeString(slashedKey),
			template.JSEscapeString(slashedKey), `c2Vj\\u002bcmV0\/a2V5==`,
			strings.NewReplacer("+", "&#43;", "/", "&#x2F;", "=", "&#061;").Replace(slashedKey),
			strings.NewReplacer("+", "&plus;", "/", "&sol;", "=", "&equals;").Replace(slashedKey),
			everyCharacter(`\u%04x`), everyCharacter("%%%02X"), everyCharacter("&#%d;"),
			everyCharacter("&#x%x;"), everyCharacter("%%2525%02x"),
		} {
			assert.Equal(t, "a [redacted], b [redacted]", Text("a "+form+", b "+form, slashedKey), form)
			assert.Equal(t, Mark, Text(form, slashedKey))
		}
	})
	t.Run("removes several keys", func(t *testing.T) {
		assert.Equal(t, "[redacted] [redacted]&[redacted]", Text("key-one key-two&key-one", "key-one", "key-two"))
		assert.Equal(t, "[redacted]", Text("key-one-two", "key-one", "one-two"), "they overlap")
		assert.Equal(t, "[redacted]", Text("key%41b", "key%41b"), "it looks like an escape itself")
	})
	t.Run("leaves other text unchanged", func(t *testing.T) {
		for _, text := range []string{
			"", `\`, `\u`, `\u00`, `\u00zz`, "%", "%2", "%zz", "&#", "&#;", "&#x;", "&#99999;",
			"&#x;;;;;;;;", slashedKey[1:], slashedKey[:len(slashedKey)-1], slashedKey[:8] + `\`,
			slashedKey[:8] + "%2", slashedKey[:8] + "&#4", "C2VJ%2bCMV0",
		} {
			assert.Equal(t, text, Text(text, slashedKey), text)
		}
		assert.Equal(t, "a word", Text("a word", "word"), "too short to be told from a word")
		assert.Equal(t, "a word", Text("a word", ""))
	})
}

func TestCut(t *testing.T) {
	for _, format := range []string{"%c", `\u%04x`, "&#%d;"} {
		form := everyCharacter(format)
		for n := range len(form) {
			whole := 0 // the characters that are not cut off
			for end := 0; ; whole++ {
				if end += len(fmt.Sprintf(format, slashedKey[whole])); end > n {
					break
				}
			}
			want := "text " + form[:n]
			if whole >= MinKey {
				want = "text " + Mark
			}
			assert.Equal(t, want, Cut("text "+form[:n], slashedKey))
		}
		assert.Equal(t, "text "+Mark+" more", Cut("text "+form+" more", slashedKey))
	}
	assert.Empty(t, Cut("", slashedKey))
	assert.Equal(t, "a wor", Cut("a wor", "word"))
}

func TestHeader(t *testing.T) {
	const key = "Secret-Key-1234"
	h := http.Header{"X-Echo": {"Bearer " + key, "other"}, "X-Secret-Key-1234": {"yes"}, "Date": {"today"}}
	want := http.Header{"X-Echo": {"Bearer " + Mark, "other"}, "X-Redacted": {"yes"}, "Date": {"today"}}
	assert.Equal(t, want, Header(h, key))
	assert.Contains(t, h, "X-Secret-Key-1234", "the transport's own stays as it is")

	clean := http.Header{"Date": {"today"}}
	Header(clean, key).Set("Date", "tomorrow")
	assert.Equal(t, "tomorrow", clean.Get("Date"), "without the key there is no copy")
}
