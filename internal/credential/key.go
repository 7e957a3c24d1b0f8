// Package credential decides which base URLs, API keys and headers are valid, and keeps a key so
// that no dump shows it. Its reasons and errors never repeat the value that they are about.
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
	"strings"
)

// Key is the API key of an attempt. A function closes over the text of the key, so that no dump can
// print it.
type Key struct {
	header func() string
	ID     *string // Call.KeyID
}

// Header returns the value of the Authorization header.
func (k Key) Header() string { return k.header() }

// Secret returns the key itself; empty if the attempt has none.
func (k Key) Secret() string {
	if k.header == nil {
		return ""
	}
	return strings.TrimPrefix(k.header(), "Bearer ")
}

// From asks f for the key. The text of an error of f may contain a key, so it is hidden, unless it
// is the error of a key file.
func From(ctx context.Context, f func(context.Context) (string, error)) (Key, error) {
	key, err := f(ctx)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return Key{}, &funcError{func() error { return err }}
	}
	if reason := KeyProblem(key); reason != "" {
		return Key{}, errors.New("API key: " + reason)
	}
	return New(key), nil
}

// New returns a key.
func New(key string) Key {
	// The salt is the same in all processes, so that a fleet can share the budget of a key. It keeps
	// IDs out of tables of plain hashes. 64 bits distinguish keys, and a random key cannot be guessed.
	const salt = "github.com/petstore/petstore-go key: "
	sum := sha256.Sum256([]byte(salt + key))
	header, id := "Bearer "+key, hex.EncodeToString(sum[:8])
	return Key{func() string { return header }, &id}
}

// funcError hides the error of the function of WithAPIKeyFunc, which may contain a key that is not
// known here: a function closes over it, so that errors.Is finds the error, and a dump does not.
type funcError struct{ cause func() error }

func (e *funcError) Error() string {
	if file, ok := errors.AsType[*FileError](e.cause()); ok {
		return file.Error()
	}
	return "API key: the function of WithAPIKeyFunc failed; use errors.Is or errors.Unwrap for its error"
}
func (e *funcError) Unwrap() error { return e.cause() }

// FileError is an error of a key file. Its text has neither a path nor a key.
type FileError struct{ Err error }

func (e *FileError) Error() string { return "API key file: " + e.Err.Error() }
func (e *FileError) Unwrap() error { return e.Err }

// ReadFile returns the key in a file. Its errors are *FileError.
func ReadFile(name string) (string, error) {
	const longest = 64 << 10 // bytes: a longer file is probably a log, named by mistake
	var text []byte
	info, err := os.Stat(name) // first, because a named pipe would wait for a writer
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("is not a regular file")
	case info.Size() > longest:
		err = errors.New("has more than 64 KiB")
	default:
		text, err = os.ReadFile(name)
	}
	key := strings.TrimSpace(string(text))
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err // without the path
	} else if err == nil && key == "" {
		err = errors.New("is empty")
	}
	if err != nil {
		return "", &FileError{err}
	}
	return key, nil
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

// ValidToken reports whether s is a token (RFC 9110, section 5.6.2), as each header name must be.
func ValidToken(s string) bool { return token.MatchString(s) }

var token = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// ValidHeaderValue reports whether s can be a header value: no control character except the tab.
func ValidHeaderValue(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
