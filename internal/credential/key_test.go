package credential_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/internal/credential"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestKey(t *testing.T) {
	key := credential.New("hush-hush")
	assert.Equal(t, []string{"Bearer hush-hush"}, key.Header())
	assert.Equal(t, "hush-hush", key.Secret())
	assert.Empty(t, credential.Key{}.Secret())
	assert.Equal(t, *key.ID, *credential.New("hush-hush").ID)
	assert.NotEqual(t, *key.ID, *credential.New("another").ID)
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		assert.NotContains(t, fmt.Sprintf(format+*key.ID, key), "hush", format)
	}
}

func TestSource(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	ask := func(ctx context.Context, key string, err error) (credential.Key, error) {
		return credential.From(func(context.Context) (string, error) { return key, err })(ctx)
	}
	key, err := credential.Always("hush")(ended)
	require.NoError(t, err)
	assert.Equal(t, "hush", key.Secret())
	key, err = ask(t.Context(), "hush", nil)
	require.NoError(t, err)
	assert.Equal(t, "hush", key.Secret())
	_, err = ask(ended, "hush", nil)
	require.ErrorIs(t, err, context.Canceled)

	_, err = ask(t.Context(), "hush hush", nil)
	require.EqualError(t, err, "API key: has a character that a bearer token cannot have")
	cause := errors.New("no lease for hush")
	_, err = ask(t.Context(), "hush", cause)
	require.ErrorIs(t, err, cause)
	assert.NotContains(t, fmt.Sprintf("%v %+[1]v %#[1]v", err), "hush")
	_, err = ask(t.Context(), "", fmt.Errorf("at start: %w", &credential.FileError{Err: fs.ErrNotExist}))
	require.EqualError(t, err, "API key file: file does not exist", "its text may be shown")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// bearerToken is the b64token of RFC 6750, section 2.1.
var bearerToken = regexp.MustCompile(`^[A-Za-z0-9\-._~+/]+=*$`)

// FuzzKeyProblem compares with RFC 6750. The text is one of four, so that it cannot repeat the key.
func FuzzKeyProblem(f *testing.F) {
	for _, key := range []string{
		"", " ", "k", "abcXYZ019-._~+/", "c2VjcmV0==", "hush hush", "hush\n", "hush\r\nX-Evil: 1", "hush\x00",
		"Schlüssel", "Bearer hush", "bearer hush", "bearer ", "hush\"", "hush,hush", "=", "==hush", "hush=hush",
		strings.Repeat("x", 4096),
	} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		problem := credential.KeyProblem(key)
		assert.Equal(t, bearerToken.MatchString(key), problem == "", "%q: %s", key, problem)
		assert.Contains(t, []string{
			"", "is empty", "starts with the scheme; pass the key alone", "is not a bearer token",
			"has a character that a bearer token cannot have",
		}, problem)
	})
}

func TestValidHeader(t *testing.T) {
	for s, want := range map[string][2]bool{ // as a name, as a value
		"X-Team": {true, true}, "!#$%&'*+-.^_`|~": {true, true}, "": {false, true}, "a b": {false, true}, "a:b": {false, true},
		"é": {false, true}, "a\tb": {false, true}, "a\nb": {false, false}, "a\x00": {false, false}, "a\x7f": {false, false},
	} {
		assert.Equal(t, want, [2]bool{credential.ValidToken(s), credential.ValidHeaderValue(s)}, "%q", s)
	}
}
