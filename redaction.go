package petstore

import (
	"errors"

	"github.com/petstore/petstore-go/internal/redact"
)

// redact takes the key out of what a brought, but for its body. What the transport may share with others is
// copied first.
func (a *attempt) redact() {
	key := a.key.secret()
	a.header = redact.Header(a.header, key)
	if _, ended := errors.AsType[*endedError](a.err); a.err != nil && !ended {
		a.err = redactError(a.err, key)
	}
}

// redactError is err, or its text without key if that is in it.
func redactError(err error, key string) error {
	text := err.Error()
	if clean := redact.Text(text, key); clean != text {
		return errors.New(clean)
	}
	return err
}

// bodyStart is a copy of what an error keeps of the body, so that one that is kept does not keep megabytes.
func (a *attempt) bodyStart() []byte {
	key := a.key.secret()
	more := redact.MaxEscape * len(key) // so that no key is cut in two
	start := string(a.body[:min(len(a.body), maxErrorBody+more)])
	if len(a.body) > len(start) {
		clean := redact.Text(start, key)
		clean = clean[:max(0, len(clean)-more)]
		return []byte(clean[:min(len(clean), maxErrorBody)])
	}
	clean := redact.Text(start, key)
	if a.tooLarge || a.err != nil { // the body itself is cut
		clean = redact.Cut(start, key)
	}
	return []byte(clean[:min(len(clean), maxErrorBody)])
}
