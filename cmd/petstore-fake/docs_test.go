package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// block returns the first block of code in docs/petstore-fake.md that has a text, for a host.
func block(t *testing.T, text, host string) string {
	page, err := os.ReadFile("../../docs/petstore-fake.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?sm)^```[a-z]+\n(.*?)^```").FindAllString(string(page), -1)
	at := slices.IndexFunc(blocks, func(block string) bool { return strings.Contains(block, text) })
	require.GreaterOrEqual(t, at, 0, text)
	_, commands, _ := strings.Cut(strings.TrimSuffix(blocks[at], "```"), "\n")
	return strings.ReplaceAll(commands, "127.0.0.1:4010", host)
}

// shell runs commands as a user of the program types them, and returns what they print.
func shell(t *testing.T, commands string) string {
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
	host := start(t, "-plan", "free").host
	starts := strings.ReplaceAll(block(t, "petstore-fake -plan", host), "petstore-fake ", "petstore-fake -version ")
	shell(t, "echo '[]' >pets.json\n"+starts)
	shell(t, "curl() { command curl -fsS \"$@\"; }\n"+block(t, "fake/requests", host))
	shell(t, "sleep() { :; }; curl -X DELETE http://"+host+"/_fake/faults\n"+block(t, "on() {", host))
	faults, err := call(t, host, "GET", "/_fake/faults")
	require.NoError(t, err)
	assert.Equal(t, 8, strings.Count(faults, `"fired":`))
	out := shell(t, block(t, "mkfifo", host)+`trap 'kill $!' EXIT
		PETSTORE_FAKE_ADDR=127.0.0.1:$port petstore-fake -healthcheck
		curl -fsS -H 'Authorization: Bearer fake-api-key' "$base_url/pets"`)
	assert.Equal(t, "[]", strings.TrimSpace(out), "a free port, and a health check")
}
