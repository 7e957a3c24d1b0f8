// Package credential decides which base URLs, API keys and headers are valid, and keeps a key so
// that no dump shows it. The problems and errors that it returns never repeat the refused value.
package credential

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Key is an API key, held by a closure, so that no dump can print it. The zero Key is no key.
type Key struct {
	secret func() string
	ID     string // Call.KeyID; empty for none
}

// New returns a key with its ID. The ID is a one-way hash. It is the same in all processes, so that
// they can share the rate limit of the key.
func New(key string) Key {
	const salt = "github.com/petstore/petstore-go key: " // so that no table of plain hashes has the IDs
	sum := sha256.Sum256([]byte(salt + key))
	id := hex.EncodeToString(sum[:8]) // 64 bits distinguish keys, but do not reveal a random key
	return Key{func() string { return key }, id}
}

// Secret returns the key itself. It must not be called for the zero Key.
func (k Key) Secret() string { return k.secret() }

// From asks f for a key. The returned error hides the text of f's error, which may contain a key,
// unless f's error is a [*FileError].
func From(ctx context.Context, f func(context.Context) (string, error)) (Key, error) {
	key, err := f(ctx)
	if err != nil {
		return Key{}, &funcError{func() error { return err }}
	}
	if problem := KeyProblem(key); problem != "" {
		return Key{}, errors.New(problem)
	}
	return New(key), nil
}

// funcError is an error of the function of WithAPIKeyFunc. A closure holds it, so that errors.Is
// finds it and a dump does not.
type funcError struct{ cause func() error }

func (e *funcError) Error() string {
	if file, ok := errors.AsType[*FileError](e.cause()); ok {
		return file.Error()
	}
	return "the function of WithAPIKeyFunc failed; use errors.Is or errors.AsType for its error"
}
func (e *funcError) Unwrap() error { return e.cause() }

// FileError is an error of a key file. Its text has neither the path nor a key.
type FileError struct{ Err error }

func (e *FileError) Error() string { return "key file: " + e.Err.Error() }
func (e *FileError) Unwrap() error { return e.Err }

// ReadFile returns the key in a regular file. Its errors are of type *FileError.
func ReadFile(name string) (key string, err error) {
	var text []byte
	info, err := os.Stat(name) // first, because to open a named pipe would wait for a writer
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("is not a regular file")
	default:
		text, err = os.ReadFile(name)
	}
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err // without the path
	}
	if err != nil {
		return "", &FileError{err}
	}
	return strings.TrimSpace(string(text)), nil
}

var bearerToken = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

// KeyProblem returns why key cannot be a bearer token (RFC 6750, section 2.1); empty if it can.
func KeyProblem(key string) string {
	scheme, _, found := strings.Cut(key, " ")
	return cmp.Or(
		when(key == "", "is empty"),
		when(found && strings.EqualFold(scheme, "Bearer"), "starts with the scheme; pass the key alone"),
		when(!bearerToken.MatchString(key), "has a character that a bearer token cannot have"))
}

var token = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// HeaderProblem returns why a request cannot get this header; empty if it can. A name must be a
// token (RFC 9110, section 5.6.2). A value has no control character except the tab.
func HeaderProblem(name, value string) string {
	isControl := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	return cmp.Or(
		when(!token.MatchString(name), "has an invalid key"),
		when(IsReserved(name), name+" cannot be set"),
		when(strings.ContainsFunc(value, isControl), "has an invalid value"))
}

// IsReserved reports whether a header is one that the client itself sets, or relies on; or one with
// which net/http would repeat a write.
func IsReserved(header string) bool { return slices.Contains(reserved, header) }

var reserved = []string{
	"Authorization", "Accept", "Accept-Encoding", "Content-Type", "Content-Length", "Content-Encoding", "Host",
	"Connection", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding",
	"Upgrade", "Expect", "Idempotency-Key", "X-Idempotency-Key",
}
