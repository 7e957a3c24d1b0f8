package petstore

import (
	"strconv"
	"strings"
	"unicode"
)

// callError is each error of a call. Its Is speaks of that call alone, where errors.Is may find
// another one, which ended the context or failed in the function of WithAPIKeyFunc.
type callError interface {
	error
	Is(target error) bool
}

// errorLine returns text with the number of attempts and, if err is about a create whose outcome is
// unknown, with that. It shortens the text only, and text may end with the same words.
func errorLine(err callError, text string, attempts int) string {
	suffix := attemptsText(attempts)
	if err.Is(ErrOutcomeUnknown) {
		suffix += "; the pet may have been created"
	}
	text = oneLine(strings.TrimSuffix(text, suffix))
	if most := maxErrorText - len(suffix); len(text) > most {
		text = clip(text, most-len("…")) + "…"
	}
	return text + suffix
}

// attemptsText returns the number of attempts of a call, if it had more than one.
func attemptsText(n int) string {
	if n <= 1 {
		return ""
	}
	return " (" + strconv.Itoa(n) + " attempts)"
}

// prefix returns how each error begins; the operation may be unknown.
func prefix(operation string) string {
	if operation == "" {
		return "petstore: "
	}
	return "petstore: " + operation + ": "
}

// trimPrefix returns err's text without the "petstore: operation: " that the wrapping error writes.
func trimPrefix(err error, operation string) string {
	if err == nil {
		return "no response"
	}
	text := strings.TrimPrefix(err.Error(), "petstore: ")
	if operation == "" {
		return text
	}
	return strings.TrimPrefix(text, operation+": ")
}

// token returns a code of the server: unchanged if it is a short word of ASCII letters, digits and
// _-., else quoted. 64 bytes are more than any usual code has.
func token(s string) string {
	plain := func(r rune) bool {
		return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.", r))
	}
	if len(s) <= 64 && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return quote(s)
}

// quote returns text of the server as a Go string literal. At most 320 of the 512 bytes of an
// error's line are for the literal; the others are for the operation, the status and the outcome.
func quote(s string) string {
	const most = 320
	q := strconv.Quote(s)
	for n := min(len(s), most); len(q) > most; n = n * 3 / 4 {
		q = strconv.Quote(clip(s, n)) + "…"
	}
	return q
}

// oneLine returns s on one line of at most maxErrorText bytes, with a space for each character that
// is unfit for a line.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unfitForLine(r) {
			return ' '
		}
		return r
	}, s)
	if len(s) <= maxErrorText {
		return s
	}
	return clip(s, maxErrorText-len("…")) + "…"
}

// unfitForLine reports whether r ends a line, moves the cursor of a terminal or changes the reading
// direction.
func unfitForLine(r rune) bool {
	return unicode.IsControl(r) || r > unicode.MaxLatin1 && unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// clip returns at most the first n bytes of s, without a part of a rune at the end.
func clip(s string, n int) string {
	if len(s) <= n {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ToValidUTF8(s[:n], "")
}
