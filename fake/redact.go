package fake

import (
	"bytes"

	"github.com/petstore/petstore-go/internal/redact"
)

// redactor takes keys out of what the journal returns. Keys shorter than redact.MinKey stay where
// they are outside Authorization: a key "pro" would tear holes into words, and keeps no secret.
type redactor []string

func (r redactor) text(s string) string { return redact.Text(s, r...) }

// piece is how many bytes of a body are searched, or written, at a time, roughly.
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
