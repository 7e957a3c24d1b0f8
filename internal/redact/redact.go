// Package redact takes API keys out of texts that may repeat them: as they are, escaped for JSON, or
// escaped for a URL. The time it takes grows with the length of the text, whatever the keys are.
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
	// Ellipsis follows what was cut off.
	Ellipsis = '…'
	// maxEscape is the length of the longest escape of one character, as of \u002b.
	maxEscape = 6
	// maxText is how much of a text is searched, in bytes, and returned: as much as net/http reads
	// of a header by default.
	maxText = 1 << 20
)

// Text returns text without the keys. Of a key that is cut off by an ellipsis, it takes out as few
// as 6 characters. Keys shorter than 6 bytes stay. What is longer than 1 MiB is cut off.
func Text(text string, keys ...string) string {
	if len(text) > maxText {
		text = text[:maxText] + string(Ellipsis)
	}
	escaped := strings.IndexByte(text, '%') >= 0 || strings.IndexByte(text, '\\') >= 0
	cut := strings.Contains(text, string(Ellipsis))
	var found []part
	for _, key := range keys {
		if len(key) < MinKey {
			continue
		}
		if cut || strings.Contains(text, key) {
			found = plain(text).find(key, found)
		}
		if escaped {
			found = unescaped(text).find(key, found)
		}
	}
	if len(found) == 0 { // nearly always, and then there is nothing to allocate
		return text
	}
	return replace(text, found)
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
		name = headerName(name, keys)
		for _, v := range values {
			clean[name] = append(clean[name], Text(v, keys...))
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
			if Text(v, keys...) != v {
				return true
			}
		}
	}
	return false
}

// headerName returns the name of a header without the keys in any case, since software on the way
// changes the case of names.
func headerName(name string, keys []string) string {
	var found []part
	for _, key := range keys {
		if len(key) >= MinKey && mayHave(name, key) {
			read := unescaped(name)
			read.text = lower(read.text)
			found = read.find(lower(key), found)
		}
	}
	if len(found) == 0 {
		return name
	}
	return http.CanonicalHeaderKey(strings.ReplaceAll(replace(name, found), Mark, "Redacted"))
}

// lower returns a text with its letters of ASCII in lower case: each byte stays in its place.
func lower(text string) string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// mayHave reports whether a name has an escape or the beginning of a key, in any case. It saves the
// copies of headerName for nearly every header.
func mayHave(name, key string) bool {
	if strings.IndexByte(name, '%') >= 0 {
		return true
	}
	for i := 0; i+MinKey <= len(name); i++ {
		if strings.EqualFold(name[i:i+MinKey], key[:MinKey]) {
			return true
		}
	}
	return false
}

// part is a part of a text, from one byte to before another.
type part struct{ from, to int }

// view is a text as somebody reads it, who may resolve its escapes.
type view struct {
	text string
	at   []int32 // the place in the original text of each byte and of the end; nil: the same place
}

func plain(text string) view { return view{text: text} }

// unescaped resolves the escapes of JSON and URLs, once. It leaves out an escape that an ellipsis
// cuts off.
func unescaped(text string) view {
	read, at := make([]byte, 0, len(text)), make([]int32, 0, len(text)+1)
	for i := 0; i < len(text); {
		if c, n := character(text[i:]); n > 0 {
			read, at = append(read, c), append(at, int32(i))
			i += n
		} else {
			i += strings.IndexRune(text[i:], Ellipsis)
		}
	}
	return view{string(read), append(at, int32(len(text)))}
}

// character returns the character at the start of a text, and how many bytes stand for it: none if
// the start is an escape that an ellipsis cuts off.
func character(text string) (c byte, length int) {
	switch {
	case text[0] != '%' && text[0] != '\\':
		return text[0], 1
	case strings.HasPrefix(text, `\/`):
		return '/', 2
	}
	prefix, end := 1, 3 // %2b
	if text[0] == '\\' {
		prefix, end = len(`\u`), maxEscape
	}
	if len(text) >= end && (prefix == 1 || text[1] == 'u') {
		if c, ok := ascii(text[prefix:end]); ok {
			return c, end
		}
	}
	if strings.ContainsRune(text[:min(len(text), end-1+len(string(Ellipsis)))], Ellipsis) {
		return 0, 0
	}
	return text[0], 1
}

// ascii returns the character that hexadecimal digits stand for.
func ascii(digits string) (c byte, ok bool) {
	n := 0
	for i := range len(digits) {
		d := strings.IndexByte("0123456789abcdefABCDEF", digits[i])
		if d > 0xf {
			d -= len("abcdef")
		}
		if n = n<<4 + d; d < 0 || n > 0x7f {
			return 0, false
		}
	}
	return byte(n), true
}

// find adds the parts of the original text that hold a key, or its beginning before an ellipsis. It
// is the algorithm of Knuth, Morris and Pratt: matched is how much of the key ends at each byte.
func (v view) find(key string, found []part) []part {
	borders := borders(key)
	matched := 0
	for i := range len(v.text) {
		if matched >= MinKey && strings.HasPrefix(v.text[i:], string(Ellipsis)) {
			found = append(found, part{v.original(i - matched), v.original(i)})
		}
		for matched > 0 && (matched == len(key) || v.text[i] != key[matched]) {
			matched = borders[matched]
		}
		if v.text[i] == key[matched] {
			matched++
		}
		if matched == len(key) {
			found = join(found, part{v.original(i + 1 - matched), v.original(i + 1)})
		}
	}
	return found
}

func (v view) original(i int) int {
	if v.at == nil {
		return i
	}
	return int(v.at[i])
}

// borders returns, for each length of the start of a key, the length of the longest shorter start
// that it ends with.
func borders(key string) []int {
	lengths := make([]int, len(key)+1)
	for i, n := 1, 0; i < len(key); i++ {
		for n > 0 && key[i] != key[n] {
			n = lengths[n]
		}
		if key[i] == key[n] {
			n++
		}
		lengths[i+1] = n
	}
	return lengths
}

// join adds a part, to the last one if they overlap.
func join(parts []part, p part) []part {
	if last := len(parts) - 1; last >= 0 && parts[last].from <= p.from && p.from < parts[last].to {
		parts[last].to = p.to
		return parts
	}
	return append(parts, p)
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
