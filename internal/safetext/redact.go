package safetext

import (
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	// Mark replaces a key.
	Mark = "[redacted]"
	// MinKey is the length of the shortest key that is looked for: shorter ones are ordinary words.
	MinKey = 6
	// ellipsis follows what was cut off.
	ellipsis = "…"
	// maxText is how much of a text is searched, in bytes, and returned: as much as net/http reads
	// of a header by default.
	maxText = 1 << 20
)

// Redact returns text without the keys: as they are, escaped once for JSON, or escaped once for a
// URL. Of a key that is cut off by an ellipsis, it takes out as few as 6 characters. Keys shorter
// than 6 bytes stay. What is longer than 1 MiB is cut off.
func Redact(text string, keys ...string) string {
	if len(text) > maxText {
		text = text[:maxText] + ellipsis
	}
	for _, key := range longestFirst(keys) {
		if len(key) >= MinKey {
			text = without(text, key)
		}
	}
	return text
}

// redactCut is [Redact] for a text that was cut off at its end.
func redactCut(text, key string) string {
	return strings.TrimSuffix(Redact(text+ellipsis, key), ellipsis)
}

// Head returns at most limit bytes from the start of text, as a copy without key. cut reports
// whether text was cut off already, perhaps within a key.
func Head(text []byte, key string, limit int, cut bool) []byte {
	start := string(text[:min(len(text), maxText)])
	clean := Redact(start, key)
	if cut || len(start) < len(text) {
		clean = redactCut(start, key)
	}
	return []byte(clean[:min(len(clean), limit)])
}

// Error returns err. If its text contains key, it returns an error with the redacted text.
func Error(err error, key string) error {
	text := err.Error()
	if clean := Redact(text, key); clean != text {
		return errors.New(clean)
	}
	return err
}

// Header returns a copy of h without the keys in its names and values. It shares the values that it
// does not change.
func Header(h http.Header, keys ...string) http.Header {
	keys = longestFirst(keys)
	if !repeats(h, keys) {
		return maps.Clone(h)
	}
	clean := make(http.Header, len(h))
	for name, values := range h {
		name = headerName(name, keys)
		for _, v := range values {
			clean[name] = append(clean[name], Redact(v, keys...))
		}
	}
	return clean
}

func repeats(h http.Header, keys []string) bool {
	for name, values := range h {
		if headerName(name, keys) != name {
			return true
		}
		for _, v := range values {
			if Redact(v, keys...) != v {
				return true
			}
		}
	}
	return false
}

// longestFirst returns keys in an order in which none is a part of a later one.
func longestFirst(keys []string) []string {
	if len(keys) < 2 {
		return keys
	}
	return slices.SortedFunc(slices.Values(keys), func(a, b string) int { return len(b) - len(a) })
}

// maxName is the length of the longest header name that is kept, in bytes: the search for a key
// takes its square.
const maxName = 256

// headerName returns the name of a header without the keys in any case, since software on the way
// changes the case of names.
func headerName(name string, keys []string) string {
	const mark = "Redacted"
	if len(name) > maxName {
		return mark
	}
	clean, found := unescaped(name), false
	for _, key := range keys {
		for i := 0; len(key) >= MinKey && i+len(key) <= len(clean); i++ {
			if strings.EqualFold(clean[i:i+len(key)], key) {
				clean, found = clean[:i]+mark+clean[i+len(key):], true
				i += len(mark) - 1
			}
		}
	}
	if !found {
		return name
	}
	return http.CanonicalHeaderKey(clean)
}

// without returns text without key. If it finds key in an escape only, it returns the whole text
// unescaped.
func without(text, key string) string {
	text = withoutPlain(text, key)
	plain := unescaped(text)
	if plain == text {
		return text
	}
	if clean := withoutPlain(plain, key); clean != plain {
		return clean
	}
	return text
}

// withoutPlain returns text without key as it is, and without its beginning before each ellipsis.
func withoutPlain(text, key string) string {
	text = strings.ReplaceAll(text, key, Mark)
	if !strings.Contains(text, ellipsis) {
		return text
	}
	parts := strings.Split(text, ellipsis)
	for i, part := range parts[:len(parts)-1] {
		parts[i] = withoutStart(part, key)
	}
	return strings.Join(parts, ellipsis)
}

// withoutStart returns text without the beginning of key at its end, if that has [MinKey] bytes. An
// escape after it may be cut off.
func withoutStart(text, key string) string {
	end := text[max(0, len(text)-len(`\u002`)):]
	whole := text[:len(text)-len(cutEscape.FindString(end))]
	for n := min(len(whole), len(key)-1); n >= MinKey; n-- {
		if strings.HasSuffix(whole, key[:n]) {
			return whole[:len(whole)-n] + Mark
		}
	}
	return text
}

var (
	escape    = regexp.MustCompile(`%[2-7][0-9A-Fa-f]|\\u00[2-7][0-9A-Fa-f]|\\/`)
	cutEscape = regexp.MustCompile(`(?:%[0-9A-Fa-f]?|\\|\\u[0-9A-Fa-f]{0,3})$`)
)

// unescaped resolves the escapes of JSON and URLs for the characters that a key may have, once.
// What was JSON stays JSON.
func unescaped(text string) string {
	if strings.IndexByte(text, '%') < 0 && strings.IndexByte(text, '\\') < 0 { // nearly always
		return text
	}
	return escape.ReplaceAllStringFunc(text, func(e string) string {
		if e == `\/` {
			return "/"
		}
		c, _ := strconv.ParseUint(e[len(e)-2:], 16, 8)
		if c == '"' || c == '\\' {
			return e
		}
		return string(rune(c))
	})
}
