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
	// minKey is the length of the shortest key that is looked for, in bytes: a shorter one would be
	// found in ordinary words.
	minKey = 6
	// ellipsis follows what was cut off.
	ellipsis = "…"
	// maxText is how much of a text is searched, in bytes, and returned: as much as net/http reads
	// of a header by default.
	maxText = 1 << 20
)

// Redact returns text without the keys: as they are, or escaped once for JSON, for a URL or for
// HTML. If an ellipsis cuts off a key, its beginning is taken out, too, if that has 6 characters or
// more. Keys shorter than 6 bytes are not looked for. Text beyond 1 MiB is cut off.
func Redact(text string, keys ...string) string {
	if len(text) > maxText {
		text = text[:maxText] + ellipsis
	}
	for _, key := range longestFirst(keys) {
		if len(text) < len(key) && !strings.Contains(text, ellipsis) {
			continue // a whole key would be longer, and more so in an escaped form
		}
		text = without(text, key)
		if strings.IndexByte(text, '%') < 0 && strings.IndexByte(text, '\\') < 0 && strings.IndexByte(text, '&') < 0 {
			continue // nearly always: there is no escape
		}
		// If a key appears only in an escaped form, the whole text is unescaped before the key is taken
		// out.
		for _, escape := range escapes {
			if plain := unescaped(text, escape); plain != text {
				if clean := without(plain, key); clean != plain {
					text = clean
				}
			}
		}
	}
	return text
}

// longestFirst returns the keys that are looked for, the longest first: so none is taken out as a
// part of a longer one.
func longestFirst(keys []string) []string {
	if len(keys) == 1 && len(keys[0]) >= minKey {
		return keys // nearly always there is only one key, and no copy is needed
	}
	keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return len(key) < minKey })
	slices.SortFunc(keys, func(a, b string) int { return len(b) - len(a) })
	return keys
}

// Head returns at most limit bytes from the start of text, as a copy without key. cut says whether
// text was cut off before, perhaps within a key.
func Head(text []byte, key string, limit int, cut bool) []byte {
	start, end := string(text[:min(len(text), maxText)]), ""
	if cut || len(start) < len(text) {
		end = ellipsis
	}
	clean := strings.TrimSuffix(Redact(start+end, key), end)
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

// Header returns a copy of h without the keys. It shares the values that it does not change. It
// leaves out each header whose name contains a key, and each name without values, which would not
// be sent anyway.
func Header(h http.Header, keys ...string) http.Header {
	keys = longestFirst(keys)
	clean := maps.Clone(h)
	for name, values := range h {
		if len(values) == 0 || inName(name, keys) {
			delete(clean, name)
		} else if slices.ContainsFunc(values, func(v string) bool { return Redact(v, keys...) != v }) {
			values = slices.Clone(values)
			for i, v := range values {
				values[i] = Redact(v, keys...)
			}
			clean[name] = values
		} else if cap(values) > len(values) {
			clean[name] = slices.Clip(values) // or copies could append to the same array
		}
	}
	return clean
}

// inName reports whether the name of a header contains one of the keys. Upper and lower case are
// the same here, since software on the way may change the case.
func inName(name string, keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		if len(name) < len(key) { // most names are shorter than a key
			return false
		}
		// Most other names have neither an escape nor the start of a key, and need no copy in lower case.
		const lower = 'a' - 'A' // the bit that differs between upper and lower case
		perhaps := strings.IndexByte(name, '%') >= 0 || strings.IndexByte(name, '\\') >= 0
		for i := 0; !perhaps && i <= len(name)-len(key); i++ {
			perhaps = name[i]|lower == key[0]|lower && strings.EqualFold(name[i:i+minKey], key[:minKey])
		}
		return perhaps && slices.ContainsFunc(escapes, func(escape *regexp.Regexp) bool {
			return strings.Contains(strings.ToLower(unescaped(name, escape)), strings.ToLower(key))
		})
	})
}

// without removes the key from text: the whole key, and its beginning before each ellipsis. It does
// not look for escaped forms.
func without(text, key string) string {
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

// withoutStart returns text without the beginning of key at its end, if that has minKey bytes.
// Between this beginning and the end of the text, there may be an escape that is cut off.
func withoutStart(text, key string) string {
	end := text[max(0, len(text)-len(`\u002`)):]
	whole := text[:len(text)-len(cutEscape.FindString(end))]
	for n := min(len(whole), len(key)-1); n >= minKey; n-- {
		if strings.HasSuffix(whole, key[:n]) {
			return whole[:len(whole)-n] + Mark
		}
	}
	return text
}

var (
	// escapes are those of JSON, of URLs and of HTML. Each kind is resolved alone, since text around a
	// key may look like an escape of another kind.
	escapes = []*regexp.Regexp{
		regexp.MustCompile(`\\u00[2-7][0-9A-Fa-f]|\\/`), regexp.MustCompile(`%[2-7][0-9A-Fa-f]`),
		regexp.MustCompile(`&#(?:[0-9]{2,3}|[xX][2-7][0-9A-Fa-f]);`),
	}
	cutEscape = regexp.MustCompile(`(?:%[0-9A-Fa-f]?|\\|\\u[0-9A-Fa-f]{0,3})$`)
)

// unescaped resolves the escapes of one kind for the characters that a key may have, once. What was
// JSON stays JSON.
func unescaped(text string, escape *regexp.Regexp) string {
	return escape.ReplaceAllStringFunc(text, func(e string) string {
		if e == `\/` {
			return "/"
		}
		digits, base := strings.TrimSuffix(e, ";"), 16
		if decimal := strings.TrimPrefix(digits, "&#"); strings.Trim(decimal, "0123456789") == "" {
			digits, base = decimal, 10
		} else {
			digits = digits[len(digits)-2:]
		}
		c, err := strconv.ParseUint(digits, base, 7)
		if err != nil || c == '"' || c == '\\' {
			return e
		}
		return string(rune(c))
	})
}
