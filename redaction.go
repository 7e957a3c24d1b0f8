package petstore

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
)

const (
	// redacted stands where the other side had repeated the API key.
	redacted = "[redacted]"
	// minRedacted is the length of the shortest key that is looked for: others are found in ordinary words.
	minRedacted = 6
	// maxEscape is the length of the longest escape of one character that is looked for, as of &#x002b; is.
	maxEscape = 8
)

// authorization gives the value of the Authorization header of an attempt. It is a closure, so that no dump of a
// call can reach the key.
type authorization func() []string

// key is the API key, empty if the attempt had none.
func (a authorization) key() string {
	if a == nil {
		return ""
	}
	return strings.TrimPrefix(a()[0], "Bearer ")
}

// redact is text without key, as it is or escaped for JSON, a URL or HTML: who repeats what he was sent escapes
// it for what he writes.
func redact(text, key string) string {
	start, end := findKey(text, key)
	if start < 0 {
		return text
	}
	var clean strings.Builder
	for ; start >= 0; start, end = findKey(text, key) {
		clean.WriteString(text[:start] + redacted)
		text = text[end:]
	}
	return clean.String() + text
}

// findKey returns where key first stands in text, and -1 if it does not.
func findKey(text, key string) (start, end int) {
	if len(key) < minRedacted {
		return -1, -1
	}
	if !mayHaveEscape(text) {
		start = strings.Index(text, key)
		return start, start + len(key)
	}
	for start := range len(text) {
		if end := start + prefixed(text[start:], key); end > start {
			return start, end
		}
	}
	return -1, -1
}

// mayHaveEscape reports whether text has one of the characters that escapes begin with, none of which a key can have.
// Every header of every answer is looked through: strings.ContainsAny would take several times as long.
func mayHaveEscape(text string) bool {
	return strings.IndexByte(text, '\\') >= 0 || strings.IndexByte(text, '%') >= 0 || strings.IndexByte(text, '&') >= 0
}

// prefixed is the length of the key that text begins with, 0 if it does not.
func prefixed(text, key string) int {
	n := 0
	for i := range len(key) {
		c, size := unescaped(text[n:])
		if size == 0 || c != key[i] {
			return 0
		}
		n += size
	}
	return n
}

// unescaped is the first character of text and how many bytes it takes there: 0 of an empty text.
func unescaped(text string) (c byte, size int) {
	switch {
	case text == "":
		return 0, 0
	case strings.HasPrefix(text, `\u00`) && len(text) >= 6:
		return character(text[4:6], 16), 6
	case strings.HasPrefix(text, `\`) && len(text) >= 2:
		return text[1], 2
	case strings.HasPrefix(text, "%") && len(text) >= 3:
		return character(text[1:3], 16), 3
	case strings.HasPrefix(text, "&#"):
		return unescapedHTML(text)
	}
	return text[0], 1
}

func unescapedHTML(text string) (c byte, size int) {
	digits, _, ok := strings.Cut(text[:min(len(text), maxEscape)], ";")
	if !ok {
		return text[0], 1
	}
	size = len(digits) + 1
	digits = strings.ToLower(digits[len("&#"):])
	if hex, ok := strings.CutPrefix(digits, "x"); ok {
		return character(hex, 16), size
	}
	return character(digits, 10), size
}

// character is the one with the number in digits, and NUL, which no key has, if there is none.
func character(digits string, base int) byte {
	n, err := strconv.ParseUint(digits, base, 8)
	if err != nil {
		return 0
	}
	return byte(n)
}

// redact takes the key out of what an exchange brought, but for its body. What the transport may share with others
// it copies first.
func (x *exchange) redact() {
	key := x.authorization.key()
	if repeats(x.header, key) {
		x.header = x.header.Clone()
		for _, values := range x.header {
			for i, v := range values {
				values[i] = redact(v, key)
			}
		}
	}
	if _, ended := errors.AsType[*endedError](x.err); x.err != nil && !ended {
		x.err = redactError(x.err, key)
	}
}

// redactError is err, or its text without key if that is in it.
func redactError(err error, key string) error {
	text := err.Error()
	if clean := redact(text, key); clean != text {
		return errors.New(clean)
	}
	return err
}

func repeats(h http.Header, key string) bool {
	for _, values := range h {
		for _, v := range values {
			if len(v) < len(key) {
				continue
			}
			if start, _ := findKey(v, key); start >= 0 {
				return true
			}
		}
	}
	return false
}

// bodyStart is a copy of what an error keeps of the body, so that one that is kept does not keep megabytes.
func (x *exchange) bodyStart() []byte {
	key := x.authorization.key()
	more := maxEscape * len(key) // so that no key is cut in two
	start := string(x.body[:min(len(x.body), maxErrorBody+more)])
	clean := []byte(redact(start, key))
	if len(x.body) > len(start) {
		clean = clean[:max(0, len(clean)-more)]
	}
	return clean[:min(len(clean), maxErrorBody)]
}
