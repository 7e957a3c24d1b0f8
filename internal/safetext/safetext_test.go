package safetext_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/internal/safetext"
)

const key = "c2Vj+cmV0/a2V5=="

func TestRedact(t *testing.T) {
	for _, c := range []struct{ text, want, key string }{
		{"a " + key + `,"` + key + `"`, `a [redacted],"[redacted]"`, key},
		{"a sixsix", "a [redacted]", "sixsix"},
		{"a short word", "a short word", "short"}, // ordinary text has such a word
		{"C2VJ+CMV0/A2V5== " + key[1:], "C2VJ+CMV0/A2V5== " + key[1:], key},
		{key, key, ""},
	} {
		assert.Equal(t, c.want, safetext.Redact(c.text, c.key))
	}
	err := errors.New("fine")
	assert.Same(t, err, safetext.Error(err, key))
	assert.EqualError(t, safetext.Error(errors.New("no "+key), key), "no [redacted]")
}

func TestHeader(t *testing.T) {
	echo := func(text string) http.Header { return http.Header{"X-Echo": {"a", text}, "Date": {"today"}} }
	given := echo("Bearer " + key)
	assert.Equal(t, echo("Bearer [redacted]"), safetext.Header(given, key))
	assert.Equal(t, echo("Bearer "+key), given, "the transport's own stays as it is")
	assert.Nil(t, safetext.Header(nil, key))
}

func TestHead(t *testing.T) {
	const limit = 200
	head := func(text string) string { return string(safetext.Head([]byte(text), key, limit)) }
	for n := range key { // a body that was cut off within the key
		want := "text " + key[:n]
		if n >= 6 {
			want = "text [redacted]"
		}
		assert.Equal(t, want, head("text "+key[:n]))
	}
	for before := limit - 3*len(key); before <= limit+1; before++ { // keys around the limit
		start := strings.Repeat(".", before)
		want := start + strings.Repeat(safetext.Mark, 30)
		assert.Equal(t, want[:limit], head(start+strings.Repeat(key, 30)))
	}
	text := []byte("a text")
	safetext.Head(text, key, limit)[0] = 'b'
	assert.Equal(t, "a text", string(text), "it returns a copy")
}

func TestLine(t *testing.T) {
	for s, want := range map[string]string{
		"犬 🐾 Zoë Łata שלום":         "犬 🐾 Zoë Łata שלום",
		"a\nb\u2028c\u2029d\u0085e": "a b c d e",
		"a\u202eb\u2066c\x1b[31md":  "a b c [31md",
		strings.Repeat("x", 512):    strings.Repeat("x", 512),
		strings.Repeat("x", 513):    strings.Repeat("x", 509) + "…",
		strings.Repeat("日", 200):    strings.Repeat("日", 169) + "…",
	} {
		assert.Equal(t, want, safetext.Line(s))
	}
	assert.Equal(t, "a (2); done", safetext.Line("a (2); done", " (2)", "; done"), "each note stands there once")
	assert.Equal(t, strings.Repeat("x", 506)+"…end", safetext.Line(strings.Repeat("x", 600), "end"))
}

func TestQuote(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	for code, want := range map[string]string{
		"rate_limited": "rate_limited", "v1.2-b": "v1.2-b", x(64): x(64),
		"": "", "no such\ncode": `"no such\ncode"`, "\xff\n": `"\xff\n"`, "é": `"é"`, x(65): `"` + x(65) + `"`,
		x(318): `"` + x(318) + `"`, x(319): `"` + x(316) + "…",
		strings.Repeat("日", 999):    `"` + strings.Repeat("日", 105) + "…",
		strings.Repeat("\x00", 999): `"` + strings.Repeat(`\x00`, 79) + "…",
	} {
		assert.Equal(t, want, safetext.Token(code))
	}
	assert.Equal(t, `"rate_limited"`, safetext.Quote("rate_limited"))
	assert.Equal(t, "日…", safetext.Shorten("日本国", 8))
}
