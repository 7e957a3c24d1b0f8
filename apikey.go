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

// apiKey is the API key of an attempt. The key is in a closure, so that no dump can print it.
type apiKey struct {
	header func() []string // returns the value of the Authorization header
	id     *string         // Call.KeyID
}

// secret returns the key itself; empty if the attempt has none.
func (k apiKey) secret() string {
	if k.header == nil {
		return ""
	}
	return strings.TrimPrefix(k.header()[0], "Bearer ")
}

// keySource returns the key for an attempt.
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
		return nil, invalid("apiKey", "is set although WithAPIKeyFunc is used")
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

// keySalt is random, so that a KeyID cannot be compared with keys outside this process.
var keySalt = newSalt()

func newSalt() [sha256.BlockSize]byte {
	var salt [sha256.BlockSize]byte
	_, _ = rand.Read(salt[:]) // never fails
	return salt
}

// keyID returns a hash of key. 64 bits are enough to distinguish the keys of one process.
func keyID(key string) string {
	sum := sha256.Sum256(append(keySalt[:len(keySalt):len(keySalt)], key...))
	return hex.EncodeToString(sum[:8])
}

// keyError is the failure of the function of WithAPIKeyFunc. The function's error may contain a
// key, which cannot be redacted because it is not known here. Therefore the text does not repeat
// it, and a closure holds it: errors.Is finds it there, and a dump does not.
type keyError struct{ cause func() error }

func (e *keyError) Error() string {
	return "API key: the function of WithAPIKeyFunc failed; use errors.Is or errors.Unwrap for its error"
}
func (e *keyError) Unwrap() error { return e.cause() }

// keyFault returns why key cannot be a bearer token (RFC 6750, section 2.1); empty if it can. The
// text does not repeat the key.
func keyFault(key string) string {
	if key == "" {
		return "is empty"
	}
	if len(key) > 7 && strings.EqualFold(key[:7], "bearer ") {
		return "starts with the scheme; pass the key alone"
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

// maxKeyFile is the size of the longest key file in bytes. No key is that long; the limit is for a
// device or a log file named by mistake.
const maxKeyFile = 64 << 10

// apiKeyFromEnv returns the key and the name of the variable that it comes from.
func apiKeyFromEnv() (key, source string, err error) {
	key, file := os.Getenv(envAPIKey), os.Getenv(envAPIKeyFile)
	if file == "" {
		return key, envAPIKey, nil
	}
	if key != "" {
		return "", "", invalid(envAPIKeyFile, "is set although "+envAPIKey+" is set")
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

// readKeyFile returns the contents of the file. Its errors do not repeat the path: a user may have
// set the variable to the key itself.
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
