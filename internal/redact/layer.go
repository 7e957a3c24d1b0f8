package redact

import (
	"html"
	"iter"
	"strconv"
	"strings"
)

// layer is a text some of whose escapes are resolved. at has the place in the original text of each
// byte and of the end.
type layer struct {
	text string
	at   []int32 // half the memory of int: a text of 1 MiB may have many layers
}

// layers yields a text, and what is left of it each time that its escapes are resolved.
func layers(text string) iter.Seq[layer] {
	return func(yield func(layer) bool) {
		l := layer{text, make([]int32, len(text)+1)}
		for i := range l.at {
			l.at[i] = int32(i) // no text has 2 GiB
		}
		for range maxLayers + 1 {
			if !yield(l) {
				return
			}
			next := l.resolve()
			if len(next.text) == len(l.text) {
				return
			}
			l = next
		}
	}
}

// resolve resolves one layer of escapes.
func (l layer) resolve() layer {
	text, at := make([]byte, 0, len(l.text)), make([]int32, 0, len(l.at))
	for i := 0; i < len(l.text); {
		c, n := character(l.text[i:])
		text, at = append(text, c), append(at, l.at[i])
		i += n
	}
	return layer{string(text), append(at, l.at[len(l.text)])}
}

// whole returns the parts of the original text that hold a key.
func (l layer) whole(key string) []part {
	var found []part
	for i := 0; ; i++ {
		next := strings.Index(l.text[i:], key)
		if next < 0 {
			return found
		}
		i += next
		found = append(found, part{int(l.at[i]), int(l.at[i+len(key)])})
	}
}

// longestCut is the length of the longest rest of an escape before an ellipsis: of an escape of an
// escape of one.
const longestCut = 3 * maxEscape

// cut returns the parts of the original text that hold the beginning of a key before an ellipsis,
// which may have cut off an escape, too.
func (l layer) cut(key string) []part {
	var found []part
	for i, c := range l.text {
		if c != Ellipsis {
			continue
		}
		for end := i; end >= max(0, i-longestCut); end-- {
			if end < i && strings.IndexByte(`%\&~`, l.text[end]) < 0 {
				continue
			}
			if n := overlap(l.text[:end], key); n >= MinKey {
				found = append(found, part{int(l.at[end-n]), int(l.at[i])})
				break
			}
		}
	}
	return found
}

// overlap returns the length of the longest end of a text that a key begins with.
func overlap(text, key string) int {
	n := min(len(key), len(text))
	for n > 0 && !strings.HasSuffix(text, key[:n]) {
		n--
	}
	return n
}

// character returns the ASCII character at the start of a text, and the length of its escape. What
// is no escape of an ASCII character stands for itself.
func character(text string) (c byte, length int) {
	switch text[0] {
	case '%':
		return number(text, 1, 2, 16)
	case '\\':
		return backslash(text)
	case '~': // in a JSON pointer
		if strings.HasPrefix(text, "~0") {
			return '~', 2
		}
		if strings.HasPrefix(text, "~1") {
			return '/', 2
		}
	case '&':
		const longest = maxEscape + 2 // names are longer than numbers: &lbrack;
		if end := strings.IndexByte(text[:min(len(text), longest)], ';'); end > 0 {
			if c := html.UnescapeString(text[:end+1]); len(c) == 1 {
				return c[0], end + 1
			}
		}
	}
	return text[0], 1
}

func backslash(text string) (c byte, length int) {
	switch {
	case len(text) == 1:
		return text[0], 1
	case text[1] == 'u':
		return number(text, 2, 4, 16)
	case text[1] == 'x':
		return number(text, 2, 2, 16)
	case text[1] == '0' || text[1] == '1':
		return number(text, 1, 3, 8)
	case strings.IndexByte(`"'/\%&`, text[1]) >= 0:
		return text[1], 2
	}
	return text[0], 1
}

// number reads the digits of an escape that follow a prefix.
func number(text string, prefix, digits, base int) (c byte, length int) {
	if len(text) < prefix+digits {
		return text[0], 1
	}
	n, err := strconv.ParseUint(text[prefix:prefix+digits], base, 32)
	if err != nil || n >= 0x80 {
		return text[0], 1
	}
	return byte(n), prefix + digits
}
