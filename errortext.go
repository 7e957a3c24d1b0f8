package petstore

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
)

// outcomeText is the one fact that matters about an error that leaves open whether a pet was created.
func outcomeText(err error) string {
	if errors.Is(err, ErrOutcomeUnknown) {
		return "; the pet may have been created"
	}
	return ""
}

// errorLine is text and its suffix on one line; what is too long is cut before the suffix.
func errorLine(text, suffix string) string {
	text = oneLine(text)
	if most := maxErrorText - len(suffix); len(text) > most {
		text = clip(text, most-len("…")) + "…"
	}
	return text + suffix
}

// attemptsText says how many requests a call took, if more than one.
func attemptsText(n int) string {
	if n <= 1 {
		return ""
	}
	return " (" + strconv.Itoa(n) + " attempts)"
}

// trimPrefix is err's text without the path that the wrapping error has already written.
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

// token is a word of the server's: bare if it is a plain one, quoted if not.
func token(s string) string {
	plain := func(r rune) bool {
		return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.", r))
	}
	if len(s) <= 64 && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return quote(s)
}

// quote is text of the server's as a Go string literal, short enough to leave room for the rest of
// an error's line.
func quote(s string) string {
	const most = 320
	q := strconv.Quote(s)
	for n := min(len(s), most); len(q) > most; n = n * 3 / 4 {
		q = strconv.Quote(clip(s, n)) + "…"
	}
	return q
}

// oneLine is s on one line of at most maxErrorText bytes, to be read in the order in which it is written.
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

// unfitForLine reports whether r ends a line, moves a cursor or turns the direction of reading.
func unfitForLine(r rune) bool {
	return unicode.IsControl(r) || r > unicode.MaxLatin1 && unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// clip is at most the first n bytes of s, cut between runes.
func clip(s string, n int) string {
	if len(s) <= n {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ToValidUTF8(s[:n], "")
}
