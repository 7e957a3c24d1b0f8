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

func TestTextTakesOutAKeyHoweverItIsEscaped(t *testing.T) {
	for _, form := range []string{
		slashedKey,
		strings.ReplaceAll(slashedKey, "/", `\/`),
		strings.ReplaceAll(slashedKey, "+", `\u002B`),
		strings.ReplaceAll(slashedKey, "+", `\u002b`),
		url.QueryEscape(slashedKey), url.PathEscape(slashedKey), strings.ReplaceAll(url.QueryEscape(slashedKey), "%2B", "%2b"),
		html.EscapeString(slashedKey), template.HTMLEscapeString(slashedKey), template.JSEscapeString(slashedKey),
		strings.NewReplacer("+", "&#43;", "/", "&#x2F;", "=", "&#061;").Replace(slashedKey),
		everyCharacter(`\u%04x`), everyCharacter("%%%02X"), everyCharacter("&#%d;"), everyCharacter("&#x%x;"),
	} {
		assert.Equal(t, "a [redacted], b [redacted]", Text("a "+form+", b "+form, slashedKey), form)
		assert.Equal(t, Mark, Text(form, slashedKey))
	}
}

// everyCharacter is slashedKey with each of its characters escaped in a format.
func everyCharacter(format string) string {
	var b strings.Builder
	for _, c := range []byte(slashedKey) {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

func TestTextLeavesWhatIsNotTheKey(t *testing.T) {
	for _, text := range []string{
		"", `\`, `\u`, `\u00`, `\u00zz`, "%", "%2", "%zz", "&#", "&#;", "&#x;", "&#99999;", "&#x;;;;;;;;", slashedKey[1:],
		slashedKey[:len(slashedKey)-1], slashedKey[:8] + `\`, slashedKey[:8] + "%2", slashedKey[:8] + "&#4", "C2VJ%2bCMV0",
		`c2Vj\\u002bcmV0\/a2V5==`,
	} {
		assert.Equal(t, text, Text(text, slashedKey), text)
	}
	assert.Equal(t, "a word", Text("a word", "word"), "too short to be told from a word")
	assert.Equal(t, "a word", Text("a word", ""))
}

func TestCutTakesOutAKeyThatIsCutOff(t *testing.T) {
	for _, form := range []string{slashedKey, everyCharacter(`\u%04x`), everyCharacter("&#%d;")} {
		for n := range len(form) {
			text := Cut("text "+form[:n], slashedKey)
			if characters, _ := match(form[:n], slashedKey); characters >= minKey {
				assert.Equal(t, "text "+Mark, text, form[:n])
			} else {
				assert.Equal(t, "text "+form[:n], text)
			}
		}
		assert.Equal(t, "text "+Mark+" more", Cut("text "+form+" more", slashedKey))
	}
	assert.Empty(t, Cut("", slashedKey))
	assert.Equal(t, "a wor", Cut("a wor", "word"))
}

func TestHeaderTakesOutAKeyInNamesAndValues(t *testing.T) {
	const key = "Secret-Key-1234"
	h := http.Header{"X-Echo": {"Bearer " + key, "other"}, "X-Secret-Key-1234": {"yes"}, "Date": {"today"}}
	want := http.Header{"X-Echo": {"Bearer " + Mark, "other"}, "X-Redacted": {"yes"}, "Date": {"today"}}
	assert.Equal(t, want, Header(h, key))
	assert.Contains(t, h, "X-Secret-Key-1234", "the transport's own stays as it is")

	clean := http.Header{"Date": {"today"}}
	Header(clean, key).Set("Date", "tomorrow")
	assert.Equal(t, "tomorrow", clean.Get("Date"), "without the key there is no copy")
}
