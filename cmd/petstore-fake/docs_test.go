package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/loopback"
)

// block returns the first block of code in docs/petstore-fake.md that has a text.
func block(t *testing.T, text string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/petstore-fake.md")
	require.NoError(t, err)
	for _, found := range regexp.MustCompile("(?sm)^```[a-z]+\n(.*?)^```").FindAllStringSubmatch(string(page), -1) {
		if strings.Contains(found[1], text) {
			return found[1]
		}
	}
	require.FailNow(t, "no block of code has "+text)
	return ""
}

// shell runs commands as a user of the program types them, and returns what they print.
func shell(t *testing.T, env []string, commands string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no POSIX shell")
	}
	dir, program := t.TempDir(), command(t, nil).Path
	require.NoError(t, os.Symlink(program, filepath.Join(dir, "petstore-fake")))
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", commands)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), append(env, "PATH="+dir+":"+os.Getenv("PATH"))...)
	out, err := cmd.Output()
	require.NoError(t, err)
	return string(out)
}

// The block with the admin routes is run by TestDocumentation.
func TestPageOfTheDocuments(t *testing.T) {
	t.Parallel()
	t.Run("starts the program with flags that it has", func(t *testing.T) {
		t.Parallel()
		seed := writeFile(t, `[]`)
		for line := range strings.Lines(block(t, "petstore-fake -plan")) {
			line = strings.Replace(strings.Replace(line, "petstore-fake", "curl", 1), "pets.json", seed, 1)
			args := curlArguments(t, line)
			if args[0] == "" {
				args = nil
			}
			_, err := readSettings(args, noEnv)
			assert.NoError(t, err, line)
		}
	})
	t.Run("gives each variable a value that it takes", func(t *testing.T) {
		t.Parallel()
		page, err := os.ReadFile("../../docs/petstore-fake.md")
		require.NoError(t, err)
		found := regexp.MustCompile(`(PETSTORE_FAKE_[A-Z_]+)(?:=|: )([^,}\x60]+)`).FindAllStringSubmatch(string(page), -1)
		require.GreaterOrEqual(t, len(found), 3)
		for _, f := range found {
			_, err := readSettings(nil, envOf(map[string]string{f[1]: f[2]}))
			assert.NoError(t, err, f[0])
			assert.Contains(t, documentation, "-"+strings.ToLower(strings.TrimPrefix(f[1], "PETSTORE_FAKE_")))
		}
	})
	t.Run("finds a free port and waits until the program serves", func(t *testing.T) {
		t.Parallel()
		loopback.Need(t)
		if _, err := exec.LookPath("curl"); err != nil {
			t.Skip("there is no curl")
		}
		out := shell(t, nil, block(t, "mkfifo")+"trap 'kill $!' EXIT\nexport PETSTORE_FAKE_ADDR=127.0.0.1:$port\n"+
			block(t, "-healthcheck")+`curl -fsS -H 'Authorization: Bearer fake-api-key' "$base_url/pets"`)
		assert.Equal(t, "[]", strings.TrimSpace(out))
	})
}
