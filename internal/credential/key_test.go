package credential_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/credential"
)

func TestKey(t *testing.T) {
	key := credential.New("hush-hush")
	assert.Equal(t, "Bearer hush-hush", key.Header())
	assert.Equal(t, "hush-hush", key.Secret())
	assert.Empty(t, credential.Key{}.Secret())
	assert.Equal(t, "ecff2f26c37df864", *key.ID, "the same in each process of a fleet, which shares the budget of the key")
	assert.NotEqual(t, *key.ID, *credential.New("another").ID)
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		assert.NotContains(t, fmt.Sprintf(format+*key.ID, key), "hush", format)
	}
}

func TestFrom(t *testing.T) {
	ask := func(key string, err error) (credential.Key, error) {
		return credential.From(t.Context(), func(context.Context) (string, error) { return key, err })
	}
	key, err := ask("hush", nil)
	require.NoError(t, err)
	assert.Equal(t, "hush", key.Secret())
	_, err = ask("hush hush", nil)
	require.EqualError(t, err, "API key: has a character that a bearer token cannot have")
	cause := errors.New("no lease for hush")
	_, err = ask("hush", cause)
	require.ErrorIs(t, err, cause)
	assert.NotContains(t, fmt.Sprintf("%v %+[1]v %#[1]v", err), "hush")
	_, err = ask("", fmt.Errorf("%w: %w", cause, &credential.FileError{Err: fs.ErrNotExist}))
	require.ErrorIs(t, err, cause)
	require.EqualError(t, err, "API key file: file does not exist", "its text may be shown")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestKeyProblem(t *testing.T) {
	const other, scheme = "has a character that a bearer token cannot have", "starts with the scheme; pass the key alone"
	for key, want := range map[string]string{
		"": "is empty", "k": "", "abcXYZ019-._~+/": "", "c2VjcmV0==": "", strings.Repeat("x", 4096): "",
		"Bearer hush": scheme, "bearer hush": scheme, "bearer ": scheme,
		" ": other, "hush hush": other, "hush\n": other, "hush\r\nX-Evil: 1": other, "hush\x00": other, "Schlüssel": other,
		"hush\"": other, "hush,hush": other, "=": other, "==hush": other, "hush=hush": other, "\xff": other,
	} {
		assert.Equal(t, want, credential.KeyProblem(key), "%q", key)
	}
}

func TestValidHeader(t *testing.T) {
	for s, want := range map[string][2]bool{ // as a name, as a value
		"X-Team": {true, true}, "!#$%&'*+-.^_`|~": {true, true}, "": {false, true}, "a b": {false, true},
		"a:b": {false, true}, "é": {false, true}, "a\tb": {false, true}, "a\nb": {false, false},
		"a\x00": {false, false}, "a\x7f": {false, false},
	} {
		assert.Equal(t, want, [2]bool{credential.ValidToken(s), credential.ValidHeaderValue(s)}, "%q", s)
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hush")
	_, err := credential.ReadFile(path)
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.NotContains(t, err.Error(), "hush")
	for _, special := range []string{t.TempDir(), os.DevNull} {
		_, err = credential.ReadFile(special)
		require.EqualError(t, err, "API key file: is not a regular file")
	}
	link := path + "-link"
	require.NoError(t, os.Symlink(path, link))
	for text, want := range map[string][2]string{ // the key and the error; the file is read anew each time
		" old\n":                             {"old", "<nil>"},
		"new" + strings.Repeat("\n", 65_533): {"new", "<nil>"},
		"new" + strings.Repeat("\n", 65_534): {"", "API key file: has more than 64 KiB"},
		" \n":                                {"", "<nil>"},
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		key, err := credential.ReadFile(link)
		assert.Equal(t, want, [2]string{key, fmt.Sprint(err)})
	}
}
