package fake

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"unicode/utf8"

	petstore "github.com/petstore/petstore-go"
)

// The wire format is written and read here by hand, so that it owes nothing to the client: a wrong
// tag there must not be made good by the same tag here.

// appendPet appends a Pet object (section 2). A pet without a status shows none.
func appendPet(b []byte, p petstore.Pet) []byte {
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, p.ID, 10)
	b = append(b, `,"name":`...)
	b = appendString(b, p.Name)
	b = append(b, `,"categoryId":`...)
	b = strconv.AppendInt(b, p.CategoryID, 10)
	if p.Status != "" {
		b = append(b, `,"status":`...)
		b = appendString(b, string(p.Status))
	}
	return append(b, '}')
}

// appendPets appends a Pets array, [] if there are none.
func appendPets(b []byte, pets []petstore.Pet) []byte {
	b = append(b, '[')
	for i, p := range pets {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendPet(b, p)
	}
	return append(b, ']')
}

// appendError appends an Error object (section 7).
func appendError(b []byte, code, message string, status int) []byte {
	b = append(b, `{"code":`...)
	b = appendString(b, code)
	b = append(b, `,"message":`...)
	b = appendString(b, message)
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(status), 10)
	return append(b, '}')
}

// appendString appends a JSON string. What is not UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		case r < utf8.RuneSelf:
			b = append(b, byte(r))
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// checkJSON returns what keeps a body from being one JSON value, nil if nothing does.
func checkJSON(body []byte) error {
	if !utf8.Valid(body) {
		return errors.New("it is not valid UTF-8")
	}
	if json.Valid(body) {
		return nil
	}
	err := json.Unmarshal(body, new(json.RawMessage))
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("it is not JSON: %w at byte %d", syntax, syntax.Offset)
	}
	return fmt.Errorf("it is not JSON: %w", err)
}

// members yields the names and the raw values of a JSON object, which checkJSON has passed and which
// begins at the first byte of b. That makes every byte below predictable.
func members(b []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for i := skipSpace(b, 1); b[i] != '}'; i = skipSpace(b, i) {
			if b[i] == ',' {
				i = skipSpace(b, i+1)
			}
			end := valueEnd(b, i)
			name := b[i:end]
			i = skipSpace(b, skipSpace(b, end)+1)
			end = valueEnd(b, i)
			if !yield(name, b[i:end]) {
				return
			}
			i = end
		}
	}
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// valueEnd returns the end of the JSON value that begins at b[i].
func valueEnd(b []byte, i int) int {
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = stringEnd(b, i)
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			i = literalEnd(b, i)
		}
		if depth == 0 {
			return i + 1
		}
	}
	return i
}

// stringEnd returns the place of the quotation mark that ends the string which begins at b[i].
func stringEnd(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i
}

// literalEnd returns the place of the last byte of a number or a name, or of what stands between
// values.
func literalEnd(b []byte, i int) int {
	for ; i+1 < len(b); i++ {
		switch b[i+1] {
		case ',', ':', '{', '}', '[', ']', '"', ' ', '\t', '\n', '\r':
			return i
		}
	}
	return i
}

// unquote returns the text of a JSON string, and false if a \u escape in it is half of a pair, which
// no text can hold.
func unquote(raw []byte) (string, bool) {
	plain := true
	for _, c := range raw {
		plain = plain && c != '\\'
	}
	if plain {
		return string(raw[1 : len(raw)-1]), true
	}
	if hasLoneSurrogate(raw) {
		return "", false
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// hasLoneSurrogate reports whether a JSON string escapes one half of a surrogate pair alone.
func hasLoneSurrogate(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		if raw[i] != 'u' {
			continue
		}
		switch unit := hex4(raw[i+1:]); {
		case unit >= 0xdc00 && unit <= 0xdfff:
			return true
		case unit >= 0xd800 && unit <= 0xdbff:
			i += 5
			if i+5 >= len(raw) || raw[i] != '\\' || raw[i+1] != 'u' || hex4(raw[i+2:])>>10 != 0xdc00>>10 {
				return true
			}
			i += 5
		}
	}
	return false
}

// hex4 reads the four digits of a \u escape.
func hex4(b []byte) uint64 {
	n, _ := strconv.ParseUint(string(b[:4]), 16, 32)
	return n
}
