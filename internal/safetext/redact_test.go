package safetext

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const slashedKey = "c2Vj+cmV0/a2V5=="

// everyCharacter returns slashedKey with each character escaped in the given format.
func everyCharacter(format string) string {
	var b strings.Builder
	for _, c := range []byte(slashedKey) {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

func TestRedact(t *testing.T) {
	t.Run("removes a key in each escape", func(t *testing.T) {
		for _, form := range []string{
			slashedKey,
			strings.ReplaceAll(slashedKey, "/", `\/`),
			strings.ReplaceAll(slashedKey, "+", `\u002B`),
			strings.ReplaceAll(slashedKey, "+", `\u002b`),
			url.QueryEscape(slashedKey), url.PathEscape(slashedKey),
			strings.ReplaceAll(url.QueryEscape(slashedKey), "%2B", "%2b"),
			everyCharacter(`\u%04x`), everyCharacter("%%%02X"), everyCharacter("%%%02x"),
			everyCharacter("&#%d;"), everyCharacter("&#x%02X;"), strings.ReplaceAll(slashedKey, "+", "&#43;"),
		} {
			assert.Equal(t, "a [redacted], b [redacted]", Redact("a "+form+", b "+form, slashedKey), form)
		}
	})
	t.Run("removes several keys, and the beginning of one before an ellipsis", func(t *testing.T) {
		for _, c := range []struct {
			text, want string
			keys       []string
		}{
			{"key-one key-two&key-one", "[redacted] [redacted]&[redacted]", []string{"key-one", "key-two"}},
			{"key-one key-one-two", "[redacted] [redacted]", []string{"key-one", "key-one-two"}}, // one begins with another
			{"a sixsix", "a [redacted]", []string{"short", "sixsix", ""}},
			{"a word", "a word", []string{"word", ""}},                                      // too short to be told from a word
			{"key%41b", "[redacted]", []string{"key%41b"}},                                  // it looks like an escape itself
			{`u0041bc \u0041bc`, `[redacted] \[redacted]`, []string{"u0041bc"}},             // only after a backslash
			{`"\u0022k\u0065y-one\u005c"`, `"\u0022[redacted]\u005c"`, []string{"key-one"}}, // it is still JSON
			{`%2c2Vj+cmV0\/a2V5==`, "%2[redacted]", []string{slashedKey}},                   // %2c is no escape here
			{"c2Vj+c… c2Vj%2Bc…", "[redacted]… [redacted]…", []string{slashedKey}},
		} {
			assert.Equal(t, c.want, Redact(c.text, c.keys...))
		}
	})
	t.Run("cuts off what it does not search", func(t *testing.T) {
		long := strings.Repeat(".", 1<<20-6)
		assert.Equal(t, long+Mark+"…", Redact(long+"c2Vj+cmV0", slashedKey))
		assert.Equal(t, long+"c2Vj+c", Redact(long+"c2Vj+c", slashedKey), "it is not too long")
	})
	t.Run("leaves other text unchanged", func(t *testing.T) {
		for _, text := range []string{
			"", `\`, `\u`, `\u00`, `\u00zz`, "%", "%2", "%zz", "%%%", `\\`, "…", "%…", `\u00…`, "c2Vj+…", "C2VJ%2bCMV0",
			slashedKey[1:], slashedKey[:len(slashedKey)-1], slashedKey[:8] + "%zz…", slashedKey[:8] + `\`,
			slashedKey[:8] + "%2", slashedKey[:8] + `\u002`,
			everyCharacter("%%25%02X"), // escaped twice, or in another way
		} {
			assert.Equal(t, text, Redact(text, slashedKey), text)
		}
	})
}

func TestError(t *testing.T) {
	err := errors.New("fine")
	assert.Same(t, err, Error(err, slashedKey))
	assert.EqualError(t, Error(errors.New("no "+slashedKey), slashedKey), "no "+Mark)
}

func TestHeader(t *testing.T) {
	const key, other = "Secret-Key-1234", "other-key"
	value := func(text string) http.Header { return http.Header{"X-Echo": {text, "b"}, "Date": {"today"}} }
	for name, c := range map[string]struct {
		keys     []string
		is, want http.Header
	}{
		"a key in a value":       {[]string{key}, value("Bearer " + key), value("Bearer " + Mark)},
		"two keys":               {[]string{other, key, "short"}, value(key + other), value(Mark + Mark)},
		"none":                   {[]string{key}, value("a"), value("a")},
		"a name that has no key": {[]string{key}, http.Header{"Secret-Key-123": {"a"}}, http.Header{"Secret-Key-123": {"a"}}},
		"a name without values":  {nil, http.Header{"X-Echo": {}}, http.Header{}},
		"a key in a name":        {[]string{other, key}, http.Header{"X-Secret-key-1234": {"a"}}, http.Header{}},
		"the shortest in a name": {[]string{"sixsix"}, http.Header{"Sixsix": {"a"}, "Sixsi": {"b"}}, http.Header{"Sixsi": {"b"}}},
		"escaped in a name":      {[]string{key}, http.Header{"%53ecre%74-Key-1234": {"a"}}, http.Header{}},
	} {
		given := c.is.Clone()
		assert.Equal(t, c.want, Header(c.is, c.keys...), name)
		assert.Equal(t, given, c.is, "the transport's own stays as it is")
	}
	spare := http.Header{"X-Echo": append(make([]string, 0, 2), "a")}
	assert.Equal(t, 1, cap(Header(spare, key)["X-Echo"]), "what is appended to copies stays apart")
}

func TestHead(t *testing.T) {
	const key, limit = slashedKey, 200
	assert.Len(t, Head(make([]byte, 2*limit), key, limit, false), limit)
	long := strings.Repeat(".", 1<<20-6)
	assert.Equal(t, long+key[:6], string(Head([]byte(long+key[:6]), key, 2<<20, false)))
	assert.Equal(t, long+Mark, string(Head([]byte(long+key), key, 2<<20, false)))
	assert.Equal(t, "a wor", string(Head([]byte("a wor"), "word", limit, true)))
	for _, form := range []string{key, everyCharacter(`\u%04x`)} {
		for before := limit - len(form) - 1; before <= limit+1; before++ {
			body := strings.Repeat(".", before) + form + strings.Repeat(form, 30)
			start := string(Head([]byte(body), key, limit, false))
			assert.LessOrEqual(t, len(start), limit)
			clean := strings.Repeat(".", before) + strings.Repeat(Mark, 31)
			assert.True(t, strings.HasPrefix(clean, start), "%d: %s", before, strings.Trim(start, "."))
		}
	}
	for _, format := range []string{"%c", `\u%04x`, "%%%02X"} { // cut off at each byte
		form := everyCharacter(format)
		for n := range len(form) {
			want := "text " + form[:n]
			if n >= minKey*len(form)/len(key) { // the characters that are not cut off
				want = "text " + Mark
			}
			assert.Equal(t, want, string(Head([]byte("text "+form[:n]), key, limit, true)))
		}
	}
}

// BenchmarkRedact searches 1 MiB of what a hostile server may send. The time must depend only on
// the length of the text.
func BenchmarkRedact(b *testing.B) {
	for _, part := range []string{"%", "%25", `\`, `\u0061`, "a", "aaaaaa…"} {
		text := strings.Repeat(part, maxText/len(part))
		for _, length := range []int{minKey, 4000} {
			b.Run(fmt.Sprintf("%s/key=%d", part, length), func(b *testing.B) {
				key := strings.Repeat("a", length-1) + "b"
				for b.Loop() {
					Redact(text, key)
					Header(http.Header{text: nil, text + ".": {""}}, key)
				}
			})
		}
	}
}
