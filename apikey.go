package petstore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// apiKey is an API key as an attempt needs it. The key is in a closure, so that no dump can reach it.
type apiKey struct {
	header func() []string // the value of the Authorization header
	id     *string         // Call.KeyID
}

// authorization is the value of the Authorization header.
func (k apiKey) authorization() []string { return k.header() }

// secret is the key itself, empty if the attempt had none.
func (k apiKey) secret() string {
	if k.header == nil {
		return ""
	}
	return strings.TrimPrefix(k.header()[0], "Bearer ")
}

// keySource gives the key of an attempt.
type keySource func(context.Context) (apiKey, error)

func newKeySource(key string, f func(context.Context) (string, error)) (keySource, error) {
	if f == nil {
		if reason := keyFault(key); reason != "" {
			return nil, invalid("apiKey", reason)
		}
		fixed := newAPIKey(key)
		return func(context.Context) (apiKey, error) { return fixed, nil }, nil
	}
	if key != "" {
		return nil, invalid("apiKey", "is given, and WithAPIKeyFunc as well")
	}
	return func(ctx context.Context) (apiKey, error) {
		key, err := f(ctx)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return apiKey{}, &keyError{func() error { return err }}
		}
		if reason := keyFault(key); reason != "" {
			return apiKey{}, errors.New("API key: " + reason)
		}
		return newAPIKey(key), nil
	}, nil
}

func newAPIKey(key string) apiKey {
	header := []string{"Bearer " + key}
	id := keyID(key)
	return apiKey{func() []string { return header }, &id}
}

// keySalt makes the hashes of this process useless for any other.
var keySalt = newSalt()

func newSalt() [sha256.BlockSize]byte {
	var salt [sha256.BlockSize]byte
	_, _ = rand.Read(salt[:]) // which never fails
	return salt
}

// keyID is a hash of key: 64 bits distinguish the keys of a process.
func keyID(key string) string {
	sum := sha256.Sum256(append(keySalt[:len(keySalt):len(keySalt)], key...))
	return hex.EncodeToString(sum[:8])
}

// keyError is the failure of the function that gives the key. What that says may hold a key that nobody here has
// seen: it is not repeated, and in a closure, where errors.Is finds it and no dump does.
type keyError struct{ cause func() error }

func (e *keyError) Error() string {
	return "API key: the function of WithAPIKeyFunc failed; errors.Is and errors.Unwrap give its error"
}
func (e *keyError) Unwrap() error { return e.cause() }

// keyFault says why key cannot be a bearer token (RFC 6750, section 2.1), without repeating it.
func keyFault(key string) string {
	if key == "" {
		return "is empty"
	}
	if len(key) > 7 && strings.EqualFold(key[:7], "bearer ") {
		return "starts with the scheme; give the key alone"
	}
	body := strings.TrimRight(key, "=")
	for i := range len(body) {
		if c := body[i]; !alphanumeric(c) && strings.IndexByte("-._~+/", c) < 0 {
			return "has a character that a bearer token cannot have"
		}
	}
	if body == "" {
		return "is not a bearer token"
	}
	return ""
}

// maxKeyFile bounds the file of a key: nobody's key is longer, and a device or a log named by mistake may not end.
const maxKeyFile = 64 << 10

// apiKeyFromEnv returns the key and the variable that it came by.
func apiKeyFromEnv() (key, source string, err error) {
	key, file := os.Getenv(envAPIKey), os.Getenv(envAPIKeyFile)
	if file == "" {
		return key, envAPIKey, nil
	}
	if key != "" {
		return "", "", invalid(envAPIKeyFile, "is set, and "+envAPIKey+" as well")
	}
	text, err := readKeyFile(file)
	if err != nil {
		return "", "", err
	}
	key = strings.TrimSpace(string(text))
	if key == "" {
		return "", "", invalid(envAPIKeyFile, "names an empty file")
	}
	return key, envAPIKeyFile, nil
}

// readKeyFile returns the contents of the file. Its errors are without the path: somebody may have put the key
// itself there.
func readKeyFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err == nil {
		defer file.Close()
		text, readErr := io.ReadAll(io.LimitReader(file, maxKeyFile+1))
		if len(text) > maxKeyFile {
			return nil, invalid(envAPIKeyFile, "names a file of more than 64 KiB")
		}
		if err = readErr; err == nil {
			return text, nil
		}
	}
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	return nil, fmt.Errorf("%s: %w", envAPIKeyFile, err)
}
