package safetext_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/internal/safetext"
)

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

func TestToken(t *testing.T) {
	for code, want := range map[string]string{
		"rate_limited": "rate_limited", "v1.2-b": "v1.2-b", "no such\ncode": `"no such\ncode"`, "é": `"é"`,
		strings.Repeat("x", 64): strings.Repeat("x", 64), strings.Repeat("x", 65): `"` + strings.Repeat("x", 65) + `"`,
	} {
		assert.Equal(t, want, safetext.Token(code))
	}
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"":                          `""`,
		strings.Repeat("x", 318):    `"` + strings.Repeat("x", 318) + `"`,
		strings.Repeat("x", 319):    `"` + strings.Repeat("x", 239) + `"…`, // three quarters are left
		strings.Repeat("\x00", 999): `"` + strings.Repeat(`\x00`, 75) + `"…`,
		strings.Repeat("\xff", 100): "\"\uFFFD\"…",
	} {
		assert.Equal(t, want, safetext.Quote(text))
	}
}

func TestShorten(t *testing.T) {
	assert.Equal(t, "日本", safetext.Shorten("日本", 6))
	assert.Equal(t, "日…", safetext.Shorten("日本国", 8))
}

func TestPrefix(t *testing.T) {
	for _, operation := range []string{"", "getPet"} {
		err := errors.New(safetext.Prefix(operation) + "not found")
		assert.Equal(t, "not found", safetext.TrimPrefix(err, operation))
	}
	assert.Equal(t, "timed out", safetext.TrimPrefix(errors.New("timed out"), "getPet"), "of another package")
	assert.Equal(t, "no response", safetext.TrimPrefix(nil, "getPet"))
}
