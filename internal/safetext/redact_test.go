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

// everyCharacter is slashedKey with each of its characters escaped in a format.
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
		} {
			assert.Equal(t, "a [redacted], b [redacted]", Redact("a "+form+", b "+form, slashedKey), form)
			assert.Equal(t, Mark, Redact(form, slashedKey))
		}
	})
	t.Run("removes several keys", func(t *testing.T) {
		assert.Equal(t, "[redacted] [redacted]&[redacted]", Redact("key-one key-two&key-one", "key-one", "key-two"))
		assert.Equal(t, "[redacted] [redacted]", Redact("key-one key-one-two", "key-one", "key-one-two"), "one begins with another")
		assert.Equal(t, "a [redacted]", Redact("a sixsix", "sixsix"), "the shortest")
		assert.Equal(t, "[redacted]", Redact("key%41b", "key%41b"), "it looks like an escape itself")
		assert.Equal(t, `[redacted] \[redacted]`, Redact(`u0041bc \u0041bc`, "u0041bc"), "only with what is before it")
		assert.Equal(t, `"\u0022[redacted]\u005c"`, Redact(`"\u0022k\u0065y-one\u005c"`, "key-one"), "it is still JSON")
	})
	t.Run("removes the beginning of a key before an ellipsis", func(t *testing.T) {
		assert.Equal(t, "[redacted]… [redacted]…", Redact("c2Vj+c… c2Vj%2Bc…", slashedKey))
		assert.Equal(t, "c2Vj+…", Redact("c2Vj+…", slashedKey), "too short")
	})
	t.Run("cuts off what it does not search", func(t *testing.T) {
		long := strings.Repeat(".", 1<<20-6)
		assert.Equal(t, long+Mark+"…", Redact(long+"c2Vj+cmV0", slashedKey))
		assert.Equal(t, long+"c2Vj+c", Redact(long+"c2Vj+c", slashedKey), "it is not too long")
	})
	t.Run("leaves other text unchanged", func(t *testing.T) {
		for _, text := range []string{
			"", `\`, `\u`, `\u00`, `\u00zz`, "%", "%2", "%zz", "%%%", `\\`, slashedKey[1:], slashedKey[:len(slashedKey)-1],
			slashedKey[:8] + "%zz…", slashedKey[:8] + `\`, slashedKey[:8] + "%2", slashedKey[:8] + `\u002`, "C2VJ%2bCMV0", "…", "%…", `\u00…`,
			everyCharacter("%%25%02X"), everyCharacter("&#%d;"), // not once, or another escape
		} {
			assert.Equal(t, text, Redact(text, slashedKey), text)
		}
		assert.Equal(t, "a word", Redact("a word", "word"), "too short to be told from a word")
		assert.Equal(t, "a word", Redact("a word", ""))
	})
}

func TestRedactCut(t *testing.T) {
	for _, format := range []string{"%c", `\u%04x`, "%%%02X"} {
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
			assert.Equal(t, want, redactCut("text "+form[:n], slashedKey))
		}
		assert.Equal(t, "text "+Mark+" more", redactCut("text "+form+" more", slashedKey))
	}
	assert.Empty(t, redactCut("", slashedKey))
	assert.Equal(t, "a wor", redactCut("a wor", "word"))
}

func TestError(t *testing.T) {
	err := errors.New("fine")
	assert.Same(t, err, Error(err, slashedKey))
	assert.EqualError(t, Error(errors.New("no "+slashedKey), slashedKey), "no "+Mark)
}

func TestHeader(t *testing.T) {
	const key = "Secret-Key-1234"
	h := http.Header{"X-Echo": {"Bearer " + key, "other"}, "X-Secret-Key-1234": {"yes"}, "Date": {"today"}}
	want := http.Header{"X-Echo": {"Bearer " + Mark, "other"}, "X-Redacted": {"yes"}, "Date": {"today"}}
	assert.Equal(t, want, Header(h, key))
	escaped := http.Header{"X-Secret%2dkey%2d1234": {"yes"}}
	assert.Equal(t, http.Header{"X-Redacted": {"yes"}}, Header(escaped, key))
	assert.Contains(t, h, "X-Secret-Key-1234", "the transport's own stays as it is")
	assert.Equal(t, http.Header{"Redacted": {"yes"}}, Header(http.Header{"%53ecre%74-Key-1234": {"yes"}}, key))
	assert.Equal(t, http.Header{"Redacted": {"yes"}}, Header(http.Header{"Sixsix": {"yes"}}, "sixsix"))

	several := http.Header{"X-Secret-Key-1234-Other-Key": {key, "Other-Key"}}
	assert.Equal(t, http.Header{"X-Redacted-Redacted": {Mark, Mark}}, Header(several, "other-key", key, "Other-Key", "short"))

	within := http.Header{"X-Other-Key-1": {"yes"}, "X-My-Other-Key": {"yes"}}
	assert.Equal(t, http.Header{"X-Redacted": {"yes", "yes"}}, Header(within, "other-key", "other-key-1", "my-other-key"))
	assert.Equal(t, http.Header{"X-Redacted": {"yes"}}, Header(http.Header{"X-Redacted": {"yes"}}, "redacted"))

	clean := http.Header{"Date": {"today"}, "Via": {"a", "b"}}
	copied := Header(clean, key)
	assert.Equal(t, clean, copied)
	copied.Set("Date", "tomorrow")
	copied.Del("Via")
	assert.Equal(t, http.Header{"Date": {"today"}, "Via": {"a", "b"}}, clean, "a caching transport may keep it")

	for _, name := range []string{strings.Repeat(key, 20), strings.Repeat("X-Secret-", 1<<16)} { // the search is bounded
		assert.Equal(t, http.Header{"Redacted": {"yes"}}, Header(http.Header{name: {"yes"}}, key))
	}
	name := "X-" + strings.Repeat("S", 254)
	assert.Equal(t, http.Header{name: {"yes"}}, Header(http.Header{name: {"yes"}}, key), "the longest")
}

func TestHead(t *testing.T) {
	const key, limit = slashedKey, 200
	assert.Len(t, Head(make([]byte, 2*limit), key, limit, false), limit)
	long := strings.Repeat(".", 1<<20-6)
	assert.Equal(t, long+key[:6], string(Head([]byte(long+key[:6]), key, 2<<20, false)))
	assert.Equal(t, long+Mark, string(Head([]byte(long+key), key, 2<<20, false)))
	for _, form := range []string{key, everyCharacter(`\u%04x`)} {
		for before := limit - len(form) - 1; before <= limit+1; before++ {
			body := strings.Repeat(".", before) + form + strings.Repeat(form, 30)
			start := string(Head([]byte(body), key, limit, false))
			assert.LessOrEqual(t, len(start), limit)
			clean := strings.Repeat(".", before) + strings.Repeat(Mark, 31)
			assert.True(t, strings.HasPrefix(clean, start), "%d: %s", before, strings.Trim(start, "."))
		}
	}
}

// BenchmarkRedact searches 1 MiB of what a hostile server may send: the time grows with the text
// alone.
func BenchmarkRedact(b *testing.B) {
	for _, part := range []string{"%", "%25", `\`, `\u0061`, "a", "aaaaaa…"} {
		text := strings.Repeat(part, maxText/len(part))
		for _, length := range []int{MinKey, 4000} {
			b.Run(fmt.Sprintf("%s/key=%d", part, length), func(b *testing.B) {
				key := strings.Repeat("a", length-1) + "b"
				for b.Loop() {
					Redact(text, key)
				}
			})
		}
	}
}
