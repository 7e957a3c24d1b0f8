package petstore

import (
	"errors"

	"github.com/petstore/petstore-go/internal/redact"
)

// redact removes the key from the header and the error of a; bodyStart does so for the body. It
// copies the header first, because the transport may share it with other requests.
func (a *attempt) redact() {
	key := a.key.Secret()
	a.header = redact.Header(a.header, key)
	if _, ended := errors.AsType[*endedError](a.err); a.err != nil && !ended {
		a.err = redactError(a.err, key)
	}
}

// redactError returns err. If its text contains the key, it returns an error with the redacted
// text.
func redactError(err error, key string) error {
	text := err.Error()
	if clean := redact.Text(text, key); clean != text {
		return errors.New(clean)
	}
	return err
}

// bodyStart returns the part of the body that an error keeps, as a copy, so that an error does not
// keep the whole body in memory.
func (a *attempt) bodyStart() []byte {
	key := a.key.Secret()
	more := redact.MaxEscape * len(key) // a key that begins within the limit is then found
	start := string(a.body[:min(len(a.body), maxErrorBody+more)])
	if len(a.body) > len(start) {
		clean := redact.Cut(start, key)
		clean = clean[:max(0, len(clean)-more)]
		return []byte(clean[:min(len(clean), maxErrorBody)])
	}
	clean := redact.Text(start, key)
	if a.tooLarge || a.err != nil { // the body may end within a key
		clean = redact.Cut(start, key)
	}
	return []byte(clean[:min(len(clean), maxErrorBody)])
}
