package fake

import (
	"bytes"
	"cmp"
	"html"
	"slices"
	"strconv"
	"strings"
)

// redacted replaces a key. Keys shorter than minRedact stay where they are outside Authorization: a
// key "pro" would tear holes into words, and keeps no secret.
const (
	redacted  = "[redacted]"
	minRedact = 6
)

// maxEscapes bounds the escapes within escapes that are looked through, such as %252541.
const maxEscapes = 8

// redactor replaces keys in what the journal returns. A key that looks like an escape itself, such
// as "a%41b", is in keys as it is and as what is left when that escape is resolved.
type redactor struct{ keys []string }

// redactor returns one for every key that the server knows.
func (r *keyring) redactor() *redactor {
	var keys []string
	for _, k := range r.all() {
		for _, e := range plain(k.key).layers() {
			if len(e.text) >= minRedact {
				keys = append(keys, e.text)
			}
		}
	}
	slices.Sort(keys) // so that the result does not depend on the order of a map
	return &redactor{keys}
}

// Redact returns a text with every API key that the server knows replaced by "[redacted]", however
// the key is escaped, as the journal does it. Keys of less than 6 characters stay.
func (s *Server) Redact(text string) string { return s.keys.redactor().text(text) }

// text returns s without keys. It looks before it replaces: most texts have neither a key nor an
// escape.
func (r *redactor) text(s string) string {
	found := strings.ContainsRune(s, clipped) || mayEscape(s)
	for _, key := range r.keys {
		found = found || strings.Contains(s, key)
	}
	if !found {
		return s
	}
	return r.replace(s, r.find(plain(s)))
}

// mayEscape reports whether there is a byte in s that begins an escape.
func mayEscape(s string) bool {
	return strings.IndexByte(s, '%') >= 0 || strings.IndexByte(s, '\\') >= 0 ||
		strings.IndexByte(s, '&') >= 0
}

// name returns the name of a header without keys. net/http changes the case of names.
func (r *redactor) name(s string) string {
	for _, key := range r.keys {
		if len(s) >= len(key) && strings.Contains(strings.ToLower(s), strings.ToLower(key)) {
			return redacted
		}
	}
	return r.text(s)
}

// bytes returns a copy without keys.
func (r *redactor) bytes(b []byte) []byte {
	if len(b) == 0 {
		return bytes.Clone(b)
	}
	return []byte(r.text(string(b)))
}

// span is a part of a text, from one byte to before another.
type span struct{ from, to int }

// escaped is a text and the part of the original text that each of its bytes stands for.
type escaped struct {
	text string
	from []span
}

func plain(s string) escaped {
	from := make([]span, len(s))
	for i := range from {
		from[i] = span{i, i + 1}
	}
	return escaped{s, from}
}

// find returns where keys are in a text: as they are, and in what is left when its escapes are
// resolved, one layer after the other.
func (r *redactor) find(e escaped) []span {
	var found []span
	for _, e := range e.layers() {
		for _, key := range r.keys {
			found = append(found, e.all(key)...)
			found = append(found, e.clipped(key)...)
		}
	}
	return found
}

// layers returns a text and what is left of it each time that its escapes are resolved.
func (e escaped) layers() []escaped {
	layers := []escaped{e}
	for range maxEscapes {
		next := e.unescape()
		if len(next.text) == len(e.text) {
			break
		}
		layers = append(layers, next)
		e = next
	}
	return layers
}

// original returns the part of the original text that the bytes from one place to before another
// stand for.
func (e escaped) original(from, to int) span { return span{e.from[from].from, e.from[to-1].to} }

// all returns where a key is.
func (e escaped) all(key string) []span {
	var found []span
	for at := 0; ; {
		i := strings.Index(e.text[at:], key)
		if i < 0 {
			return found
		}
		found = append(found, e.original(at+i, at+i+len(key)))
		at += i + 1
	}
}

// clipped returns where clip has cut a key off.
func (e escaped) clipped(key string) []span {
	var found []span
	for at := 0; ; {
		i := strings.IndexRune(e.text[at:], clipped)
		if i < 0 {
			return found
		}
		at += i
		for _, end := range []int{at, lastEscape(e.text[:at])} {
			if n := overlap(e.text[:end], key); n >= minRedact {
				found = append(found, e.original(end-n, at))
			}
		}
		at += len(string(clipped))
	}
}

// overlap returns the length of the longest end of a text that a key begins with.
func overlap(text, key string) int {
	n := min(len(key), len(text))
	for n > 0 && !strings.HasSuffix(text, key[:n]) {
		n--
	}
	return n
}

// lastEscape returns the length of a text without the part of an escape at its end.
func lastEscape(s string) int {
	const longest = len(`\u0000`)
	if i := strings.LastIndexAny(s, `%\&`); i >= len(s)-longest && i >= 0 {
		return i
	}
	return len(s)
}

// unescape resolves one layer of escapes.
func (e escaped) unescape() escaped {
	text := make([]byte, 0, len(e.text))
	from := make([]span, 0, len(e.text))
	for i := 0; i < len(e.text); {
		c, n := escape(e.text[i:])
		text = append(text, c)
		from = append(from, e.original(i, i+n))
		i += n
	}
	return escaped{string(text), from}
}

// escape returns the ASCII character at the start of a text, and the length of its escape. What is
// no escape of an ASCII character stands for itself.
func escape(s string) (c byte, length int) {
	switch s[0] {
	case '%':
		return hex(s, 1, 2)
	case '&':
		if end := strings.IndexByte(s[:min(len(s), 10)], ';'); end > 0 {
			if c := html.UnescapeString(s[:end+1]); len(c) == 1 {
				return c[0], end + 1
			}
		}
	case '\\':
		return backslash(s)
	}
	return s[0], 1
}

func backslash(s string) (c byte, length int) {
	switch {
	case len(s) == 1:
		return s[0], 1
	case s[1] == 'u':
		return hex(s, 2, 4)
	case s[1] == 'x':
		return hex(s, 2, 2)
	case strings.IndexByte(`"'/\%&`, s[1]) >= 0:
		return s[1], 2
	}
	return s[0], 1
}

// hex reads the digits of an escape that follow a prefix.
func hex(s string, prefix, digits int) (c byte, length int) {
	if len(s) < prefix+digits {
		return s[0], 1
	}
	n, err := strconv.ParseUint(s[prefix:prefix+digits], 16, 32)
	if err != nil || n >= 0x80 {
		return s[0], 1
	}
	return byte(n), prefix + digits
}

// replace puts redacted in place of parts of a text.
func (r *redactor) replace(s string, parts []span) string {
	slices.SortFunc(parts, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var b strings.Builder
	end := 0 // of what is written or replaced
	for _, p := range parts {
		if p.from >= end {
			b.WriteString(s[end:p.from] + redacted)
		}
		end = max(end, p.to)
	}
	return b.String() + s[end:]
}
