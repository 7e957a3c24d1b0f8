// Package safetext makes texts fit to be shown: a line of limited length, without API keys.
package safetext

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Prefix returns the text with which each error begins: "petstore: " and, unless empty, the
// operation.
func Prefix(operation string) string {
	if operation == "" {
		return "petstore: "
	}
	return "petstore: " + operation + ": "
}

// TrimPrefix returns err's text without the "petstore: operation: " that the wrapping error writes.
func TrimPrefix(err error, operation string) string {
	if err == nil {
		return "no response"
	}
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), Prefix("")), operation+": ")
}

// token matches a usual code: a short word.
var token = regexp.MustCompile(`^[A-Za-z0-9_.-]{0,64}$`)

// Token returns a code of the server, quoted unless it is a usual one.
func Token(s string) string {
	if token.MatchString(s) {
		return s
	}
	return Quote(s)
}

// Quote returns text of the server as a Go string literal. The literal gets at most 320 of the 512
// bytes of an error's line. The rest is for the operation, the status and what is said about the
// outcome.
func Quote(s string) string {
	const most = 320
	q := strconv.Quote(s)
	for n := min(len(s), most); len(q) > most; n = n * 3 / 4 {
		q = strconv.Quote(strings.ToValidUTF8(s[:n], "\uFFFD")) + ellipsis
	}
	return q
}

// Line returns text on one line of at most 512 bytes, with notes at its end: a space in place of
// each character that ends a line, moves the cursor of a terminal or changes the reading direction.
// If the line would be too long, only the text is shortened, never the notes. A text that already
// ends with some of the notes, since it wraps such a line, does not get these twice.
func Line(text string, notes ...string) string {
	const maxLine = 512
	suffix := strings.Join(notes, "")
	for _, note := range slices.Backward(notes) {
		text = strings.TrimSuffix(text, note)
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return ' '
		}
		return r
	}, text)
	return Shorten(text, maxLine-len(suffix)) + suffix
}

// Shorten returns s if it is no longer than most bytes. Otherwise it returns the start of s, in
// whole characters, and an ellipsis.
func Shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-len(ellipsis)], "") + ellipsis
}
