// Package redact takes an API key out of what a service or a transport repeats, however it is escaped there: whoever
// repeats what he was sent escapes it for what he writes.
package redact

import (
	"net/http"
	"strconv"
	"strings"
)

const (
	// Mark stands where the key was.
	Mark = "[redacted]"
	// minKey is the length of the shortest key that is looked for: shorter ones are found in ordinary words.
	minKey = 6
	// MaxEscape is the length of the longest escape of one character that is looked for, as of &#x002b; is.
	MaxEscape = 8
)

// Text returns text without key, as it is or escaped for JSON, a URL or HTML. A key shorter than 6 bytes is
// not looked for.
func Text(text, key string) string {
	start, end := find(text, key)
	if start < 0 {
		return text
	}
	var clean strings.Builder
	for ; start >= 0; start, end = find(text, key) {
		clean.WriteString(text[:start] + Mark)
		text = text[end:]
	}
	return clean.String() + text
}

// Cut is [Text] for a text that was cut off at its end: what it ends with is no piece of key either, from
// 6 bytes of it on.
func Cut(text, key string) string {
	text = Text(text, key)
	if len(key) < minKey {
		return text
	}
	for start := max(0, len(text)-MaxEscape*len(key)); start < len(text); start++ {
		if n, whole := match(text[start:], key); whole && n >= minKey {
			return text[:start] + Mark
		}
	}
	return text
}

// Header returns h without key in its names and values: h itself if key is not in it, a copy otherwise.
func Header(h http.Header, key string) http.Header {
	if len(key) < minKey || !repeats(h, key) {
		return h
	}
	clean := make(http.Header, len(h))
	for name, values := range h {
		name = http.CanonicalHeaderKey(foldName(name, key))
		for _, v := range values {
			clean[name] = append(clean[name], Text(v, key))
		}
	}
	return clean
}

func repeats(h http.Header, key string) bool {
	for name, values := range h {
		if foldName(name, key) != name {
			return true
		}
		for _, v := range values {
			if len(v) < len(key) {
				continue
			}
			if start, _ := find(v, key); start >= 0 {
				return true
			}
		}
	}
	return false
}

// foldName returns the name of a header without key, in whatever case: names are written in another on the way.
func foldName(name, key string) string {
	const lower = 0x20 // which sets the letters of ASCII apart from their capitals
	for start := range max(0, len(name)-len(key)+1) {
		if name[start]|lower == key[0]|lower && strings.EqualFold(name[start:start+len(key)], key) {
			return name[:start] + "Redacted" + name[start+len(key):]
		}
	}
	return name
}

// find returns where key first stands in text, and -1 if it does not.
func find(text, key string) (start, end int) {
	if len(key) < minKey {
		return -1, -1
	}
	if !mayHaveEscape(text) {
		start = strings.Index(text, key)
		return start, start + len(key)
	}
	for start := range len(text) {
		if n, _ := match(text[start:], key); n == len(key) {
			return start, start + length(text[start:], n)
		}
	}
	return -1, -1
}

// mayHaveEscape reports whether text has one of the characters that escapes begin with, none of which a key can have.
// Every header of every response is looked through: strings.ContainsAny would take several times as long.
func mayHaveEscape(text string) bool {
	return strings.IndexByte(text, '\\') >= 0 || strings.IndexByte(text, '%') >= 0 || strings.IndexByte(text, '&') >= 0
}

// match returns how many characters of key text begins with, and whether text has nothing else.
func match(text, key string) (n int, whole bool) {
	at := 0
	for n < len(key) {
		c, size := unescaped(text[at:])
		if size == 0 {
			return n, true
		}
		if c != key[n] {
			return n, incomplete(text[at:])
		}
		at += size
		n++
	}
	return n, at == len(text)
}

// incomplete reports whether text may be an escape that is cut off.
func incomplete(text string) bool {
	return len(text) < MaxEscape && strings.IndexByte(`\%&`, text[0]) >= 0
}

// length is how many bytes the first n characters of text take there.
func length(text string, n int) (bytes int) {
	for range n {
		_, size := unescaped(text[bytes:])
		bytes += size
	}
	return bytes
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
	digits, _, ok := strings.Cut(text[:min(len(text), MaxEscape)], ";")
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
