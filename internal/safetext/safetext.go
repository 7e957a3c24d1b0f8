// Package safetext makes texts fit to be shown: one line of limited length, without API keys.
package safetext

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Mark replaces a key.
const Mark = "[redacted]"

// minKey is the length in bytes of the shortest key that is removed: a shorter one may be a word.
const minKey = 6

// Redact returns text without key. It does not find an escaped key, and removes no key of less than
// 6 bytes.
func Redact(text, key string) string {
	if len(key) < minKey {
		return text
	}
	return strings.ReplaceAll(text, key, Mark)
}

// Error returns err, or an error with the redacted text if err's text contains key.
func Error(err error, key string) error {
	if clean := Redact(err.Error(), key); clean != err.Error() {
		return errors.New(clean)
	}
	return err
}

// Header returns h, or a copy without key if a value of h contains it.
func Header(h http.Header, key string) http.Header {
	clean := h
	for name, values := range h {
		for i, value := range values {
			if without := Redact(value, key); without != value {
				clean = clean.Clone()
				clean[name][i] = without
			}
		}
	}
	return clean
}

// Head returns at most limit bytes from the start of text, as a copy without key. It also removes a
// beginning of key from the end of text, which may have been cut off.
func Head(text []byte, key string, limit int) []byte {
	clean := Redact(string(text), key)
	for n := len(key) - 1; n >= minKey; n-- {
		if strings.HasSuffix(clean, key[:n]) {
			clean = clean[:len(clean)-n] + Mark
			break
		}
	}
	return []byte(clean[:min(len(clean), limit)])
}

// Prefix returns the text with which each error begins: "petstore: " and, unless empty, the
// operation.
func Prefix(operation string) string {
	if operation == "" {
		return "petstore: "
	}
	return "petstore: " + operation + ": "
}

// TrimPrefix returns the text of err without its prefix, which the wrapping error writes itself. A
// nil error has the text "no response".
func TrimPrefix(err error, operation string) string {
	if err == nil {
		return "no response"
	}
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), Prefix("")), operation+": ")
}

var token = regexp.MustCompile(`^[A-Za-z0-9_.-]{0,64}$`)

// Token returns an error code of the server, quoted unless it is a short word.
func Token(s string) string {
	if token.MatchString(s) {
		return s
	}
	return Quote(s)
}

// Quote returns a text of the server as a Go string literal of at most 320 bytes, which leaves room
// for the other parts of a line. If the text is longer, an ellipsis replaces its end.
func Quote(s string) string {
	const most = 320
	return Shorten(strconv.Quote(s[:min(len(s), most)]), most)
}

// Line returns text and notes on one line of at most 512 bytes. Spaces replace the characters that
// end a line, move the cursor of a terminal or change the reading direction. Only the text is
// shortened, never a note. The text of a wrapped error may already end with some of the notes; they
// are not repeated.
func Line(text string, notes ...string) string {
	const most = 512
	for _, note := range slices.Backward(notes) {
		text = strings.TrimSuffix(text, note)
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return ' '
		}
		return r
	}, text)
	end := strings.Join(notes, "")
	return Shorten(text, most-len(end)) + end
}

// Shorten returns s if it has at most the given number of bytes, else the start of s, in whole
// characters, and an ellipsis.
func Shorten(s string, most int) string {
	const ellipsis = "…"
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-len(ellipsis)], "") + ellipsis
}
