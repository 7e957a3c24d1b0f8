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

	"github.com/petstore/petstore-go/internal/testkit"
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
func shell(t *testing.T, commands string) string {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no POSIX shell or no curl")
	}
	dir := t.TempDir()
	require.NoError(t, os.Symlink(command(t, nil).Path, filepath.Join(dir, "petstore-fake")))
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", commands)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), asProgram, "no_proxy=*", "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := cmd.Output()
	require.NoError(t, err, commands)
	return string(out)
}

// The commands of docs/petstore-fake.md work.
func TestDocuments(t *testing.T) {
	t.Run("starts", func(t *testing.T) {
		shell(t, "echo '[]' >pets.json\n"+strings.ReplaceAll(block(t, "petstore-fake -plan"), "petstore-fake ", "petstore-fake -version "))
	})
	t.Run("free port and health check", func(t *testing.T) {
		testkit.Loopback(t)
		out := shell(t, block(t, "mkfifo")+`trap 'kill $!' EXIT
			PETSTORE_FAKE_ADDR=127.0.0.1:$port petstore-fake -healthcheck
			curl -fsS -H 'Authorization: Bearer fake-api-key' "$base_url/pets"`)
		assert.Equal(t, "[]", strings.TrimSpace(out))
	})
	t.Run("admin routes", func(t *testing.T) {
		shell(t, strings.ReplaceAll("curl() { command curl -fsS \"$@\"; }\n"+block(t, "fake/requests"), "127.0.0.1:4010", start(t).host))
	})
	t.Run("a day of incidents", func(t *testing.T) {
		host := start(t, "-plan", "free").host
		shell(t, "sleep() { :; }\n"+strings.ReplaceAll(block(t, "on() {"), "127.0.0.1:4010", host))
		faults, err := call(t, host, "GET", "/_fake/faults")
		require.NoError(t, err)
		assert.Equal(t, 8, strings.Count(faults, `"fired":`))
		keys, err := call(t, host, "GET", "/_fake/keys")
		require.NoError(t, err)
		assert.Contains(t, keys, `"perMinute":60,"perDay":1000},"revoked":false,"minute":0`)
	})
}
