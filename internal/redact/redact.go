// Package redact takes API keys out of texts that may repeat them. Software that repeats what it
// was sent escapes it for what it writes, and may be the second to do so: a key is found as it is,
// escaped for JSON, a JSON pointer, Go, a URL or HTML, and escaped several times.
package redact

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
)

const (
	// Mark replaces a key.
	Mark = "[redacted]"
	// MinKey is the length of the shortest key that is looked for: shorter ones are ordinary words.
	MinKey = 6
	// maxEscape is the length of the longest escape of one character, as of &#x002b; is.
	maxEscape = 8
	// Ellipsis follows what was cut off.
	Ellipsis = '…'
	// maxLayers bounds the escapes within escapes, such as %252541: more of them are no accident.
	maxLayers = 8
)

// Text returns text without the keys. Of a key that is cut off by an ellipsis, it takes out as few
// as 6 characters. Keys shorter than 6 bytes stay.
func Text(text string, keys ...string) string {
	if len(text) < MinKey {
		return text
	}
	found := hasEscape(text)
	for _, key := range keys {
		found = found || len(key) >= MinKey && strings.Contains(text, key)
	}
	if !found { // nearly always, and then there is nothing to allocate
		return text
	}
	return replace(text, find(text, keys))
}

// Cut is [Text] for a text that was cut off at its end.
func Cut(text, key string) string {
	return strings.TrimSuffix(Text(text+string(Ellipsis), key), string(Ellipsis))
}

// Head returns at most limit bytes from the start of text, as a copy without key. cut reports
// whether text was cut off already, perhaps within a key.
func Head(text []byte, key string, limit int, cut bool) []byte {
	more := maxEscape * len(key) // a key that begins within the limit is then found
	start := string(text[:min(len(text), limit+more)])
	var clean string
	switch {
	case len(start) < len(text):
		clean = Cut(start, key)
		clean = clean[:max(0, len(clean)-more)]
	case cut:
		clean = Cut(start, key)
	default:
		clean = Text(start, key)
	}
	return []byte(clean[:min(len(clean), limit)])
}

// Error returns err. If its text contains key, it returns an error with the redacted text.
func Error(err error, key string) error {
	text := err.Error()
	if clean := Text(text, key); clean != text {
		return errors.New(clean)
	}
	return err
}

// Header returns h without the keys in its names and values: h itself if they are not in it, a copy
// otherwise.
func Header(h http.Header, keys ...string) http.Header {
	if !repeats(h, keys) {
		return h
	}
	clean := make(http.Header, len(h))
	for name, values := range h {
		name = http.CanonicalHeaderKey(foldName(name, keys))
		for _, v := range values {
			clean[name] = append(clean[name], Text(v, keys...))
		}
	}
	return clean
}

func repeats(h http.Header, keys []string) bool {
	for name, values := range h {
		if foldName(name, keys) != name {
			return true
		}
		for _, v := range values {
			if Text(v, keys...) != v {
				return true
			}
		}
	}
	return false
}

// foldName returns the name of a header without the keys in any case, since software on the way
// changes the case of names.
func foldName(name string, keys []string) string {
	const lower = 0x20 // the bit in which the letters of ASCII differ from their capitals
	for _, key := range keys {
		if len(key) < MinKey {
			continue
		}
		for start := 0; start+len(key) <= len(name); start++ {
			end := start + len(key)
			if name[start]|lower == key[0]|lower && strings.EqualFold(name[start:end], key) {
				name = name[:start] + "Redacted" + name[end:]
			}
		}
		if hasEscape(name) {
			lowered := strings.ToLower(name)
			if clean := Text(lowered, strings.ToLower(key)); clean != lowered {
				name = strings.ReplaceAll(clean, Mark, "Redacted")
			}
		}
	}
	return name
}

// hasEscape reports whether a character of text begins escapes, or may be an ellipsis. It runs for
// every header of every response: the functions of package strings take longer for short texts.
func hasEscape(text string) bool {
	for i := range len(text) {
		switch text[i] {
		case '%', '\\', '&', '~', 0xE2: // the first byte of an ellipsis
			return true
		}
	}
	return false
}

// part is a part of a text, from one byte to before another.
type part struct{ from, to int }

// find returns the parts of text that hold a key: as it is, or once escapes are resolved, one layer
// after the other.
func find(text string, keys []string) []part {
	var found []part
	keys = resolved(keys)
	for l := range layers(text) {
		for _, key := range keys {
			found = append(found, l.whole(key)...)
			found = append(found, l.cut(key)...)
		}
	}
	return found
}

// resolved returns the keys, and what is left of those that look like escapes, such as "a%41b":
// that is what is left of them in a text, too.
func resolved(keys []string) []string {
	var all []string
	for _, key := range keys {
		for l := range layers(key) {
			if len(l.text) >= MinKey {
				all = append(all, l.text)
			}
		}
	}
	return all
}

// replace puts Mark in place of parts of a text.
func replace(text string, parts []part) string {
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.from, b.from) })
	var b strings.Builder
	end := 0 // of what is written or replaced
	for _, p := range parts {
		if p.from >= end {
			b.WriteString(text[end:p.from] + Mark)
		}
		end = max(end, p.to)
	}
	return b.String() + text[end:]
}
