package petstore

import (
	"fmt"
	"html"
	"html/template"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const slashedKey = "c2Vj+cmV0/a2V5=="

func TestAKeyIsTakenOutOfATextHoweverItIsEscaped(t *testing.T) {
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
		assert.Equal(t, "a [redacted], b [redacted]", redact("a "+form+", b "+form, slashedKey), form)
		assert.Equal(t, redacted, redact(form, slashedKey))
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

func TestWhatIsNotTheKeyStaysAsItIs(t *testing.T) {
	for _, text := range []string{
		"", `\`, `\u`, `\u00`, `\u00zz`, "%", "%2", "%zz", "&#", "&#;", "&#x;", "&#99999;", "&#x;;;;;;;;", slashedKey[1:],
		slashedKey[:len(slashedKey)-1], slashedKey[:8] + `\`, slashedKey[:8] + "%2", slashedKey[:8] + "&#4", "C2VJ%2bCMV0",
		`c2Vj\\u002bcmV0\/a2V5==`,
	} {
		assert.Equal(t, text, redact(text, slashedKey), text)
	}
	assert.Equal(t, "a word", redact("a word", "word"), "too short to be told from a word")
	assert.Equal(t, "a word", redact("a word", ""))
}

func TestTheStartOfABodyHoldsNoPartOfTheKey(t *testing.T) {
	for _, form := range []string{slashedKey, everyCharacter(`\u%04x`)} {
		for before := maxErrorBody - len(form) - 1; before <= maxErrorBody+1; before++ {
			body := strings.Repeat(".", before) + form + strings.Repeat(form, 100)
			x := exchange{body: []byte(body), authorization: bearerToken(slashedKey)}
			start := string(x.bodyStart())
			assert.LessOrEqual(t, len(start), maxErrorBody)
			clean := strings.Repeat(".", before) + strings.Repeat(redacted, 101)
			assert.True(t, strings.HasPrefix(clean, start), "%d: %s", before, strings.Trim(start, "."))
		}
	}
}
