// Package safetext makes texts fit to be shown: a line of limited length, without API keys.
package safetext

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Prefix returns how each error begins; the operation may be unknown.
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
	text := strings.TrimPrefix(err.Error(), "petstore: ")
	if operation == "" {
		return text
	}
	return strings.TrimPrefix(text, operation+": ")
}

// token is a usual code: a short word.
var token = regexp.MustCompile(`^[A-Za-z0-9_.-]{0,64}$`)

// Token returns a code of the server, quoted unless it is a usual one.
func Token(s string) string {
	if token.MatchString(s) {
		return s
	}
	return Quote(s)
}

// Quote returns text of the server as a Go string literal. At most 320 of the 512 bytes of an
// error's line are for the literal; the others are for the operation, the status and the outcome.
func Quote(s string) string {
	const most = 320
	q := strconv.Quote(s)
	for n := min(len(s), most); len(q) > most; n = n * 3 / 4 {
		q = strconv.Quote(strings.ToValidUTF8(s[:n], "\uFFFD")) + "…"
	}
	return q
}

// maxLine is the length of the longest line in bytes: one line of a log.
const maxLine = 512

// Line returns s on one line of at most 512 bytes, with a space for each character that is unfit
// for a line.
func Line(s string) string {
	s = strings.Map(func(r rune) rune {
		if unfitForLine(r) {
			return ' '
		}
		return r
	}, s)
	return Shorten(s, maxLine)
}

// LineWith returns text as [Line] does, with suffix at its end: it shortens only the text, which
// may end with suffix already.
func LineWith(text, suffix string) string {
	return Shorten(Line(strings.TrimSuffix(text, suffix)), maxLine-len(suffix)) + suffix
}

// Shorten returns s; if it has more than most bytes, as many as fit of its start, in whole
// characters, and an ellipsis.
func Shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-len("…")], "") + "…"
}

// unfitForLine reports whether r ends a line, moves the cursor of a terminal or changes the reading
// direction.
func unfitForLine(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// Hide returns err, but does not match the errors that are hidden.
func Hide(err error, hidden ...error) error {
	if slices.ContainsFunc(hidden, func(target error) bool { return errors.Is(err, target) }) {
		return &hidingError{err, hidden}
	}
	return err
}

// hidingError has no Unwrap, or errors.Is would find in it what it hides.
type hidingError struct {
	err    error
	hidden []error
}

func (e *hidingError) Error() string { return e.err.Error() }

func (e *hidingError) Is(target error) bool {
	return !slices.Contains(e.hidden, target) && errors.Is(e.err, target)
}

func (e *hidingError) As(target any) bool {
	return errors.As(e.err, target) // it passes the caller's variable on
}
