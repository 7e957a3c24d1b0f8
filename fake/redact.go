package fake

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/petstore/petstore-go/internal/redact"
)

// redactor takes keys out of what the journal returns. Keys shorter than redact.MinKey stay where
// they are outside Authorization: a key "pro" would tear holes into words, and keeps no secret.
type redactor []string

// redactor returns one for every key that the server knows.
func (r *keyring) redactor() redactor {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.texts
}

func (r redactor) text(s string) string { return redact.Text(s, r...) }

// name returns the name of a header without keys. net/http changes the case of names.
func (r redactor) name(s string) string {
	for _, key := range r {
		if len(key) >= redact.MinKey && strings.Contains(strings.ToLower(s), strings.ToLower(key)) {
			return redact.Mark
		}
	}
	return r.text(s)
}

// header returns a copy without keys.
func (r redactor) header(h http.Header) http.Header {
	clean := make(http.Header, len(h))
	for name, values := range h {
		name = r.name(name)
		for _, v := range values {
			clean[name] = append(clean[name], r.text(v))
		}
	}
	return clean
}

// piece is how many bytes of a body are searched at a time, roughly.
const piece = 32 << 10

// bytes returns b without keys: b itself if there is none in it.
func (r redactor) bytes(b []byte) []byte {
	var clean []byte
	changed := false
	for from := 0; from < len(b); {
		to := min(from+piece, len(b))
		for to < len(b) && b[to] > ' ' { // no key has a space, and no escape
			to++
		}
		found := string(b[from:to])
		text := r.text(found)
		if text != found && !changed {
			clean, changed = bytes.Clone(b[:from]), true
		}
		if changed {
			clean = append(clean, text...)
		}
		from = to
	}
	if changed {
		return clean
	}
	return b
}

// maxQuote bounds the bytes of a request that a message repeats.
const maxQuote = 64

// clip returns the beginning of a long text, and a short one as it is. The journal recognises the
// part of a key at the end of what is left.
func clip(s string) string {
	if len(s) > maxQuote {
		return s[:maxQuote] + string(redact.Ellipsis)
	}
	return s
}

// quote returns a text, clipped, in quotes.
func quote(s string) string { return strconv.Quote(clip(s)) }
