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

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
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

func TestHelp_namesAll(t *testing.T) {
	var flags, choices []string
	for _, o := range new(settings).options() {
		flags = append(flags, "-"+o.name)
	}
	for _, wire := range fake.Wire("").Values() {
		choices = append(choices, string(wire))
	}
	_, err := spec.ParseText[fake.Behavior]("=")
	_, behaviours, _ := strings.Cut(err.Error(), "the behaviours are ")
	_, faults, _ := strings.Cut(help, "FAULTS")
	for _, word := range append(append(spec.FaultFields(), choices...), strings.Split(behaviours, ", ")...) {
		assert.Regexp(t, `[\s(]`+word+`\b`, faults)
	}
	for _, word := range flags {
		assert.Contains(t, help, "  "+word)
	}
	for _, found := range regexp.MustCompile(`(?m)^  ([a-z-]+) +(\w+(?:, [\w-]+)+)$`).FindAllStringSubmatch(faults, -1) {
		for choice := range strings.SplitSeq(found[2], ", ") {
			_, err := spec.ParseText[fake.Behavior](found[1] + "=" + choice)
			assert.NoError(t, err)
		}
	}
	for line := range strings.Lines(help) {
		assert.LessOrEqual(t, len(line), 101, line)
	}
}

// The commands of docs/petstore-fake.md work.
func TestDocuments(t *testing.T) {
	t.Run("starts", func(t *testing.T) {
		shell(t, "echo '[]' >pets.json\n"+strings.ReplaceAll(block(t, "petstore-fake -plan"), "petstore-fake ", "petstore-fake -version "))
	})
	t.Run("free port and health check", func(t *testing.T) {
		testkit.Loopback(t)
		out := shell(t, block(t, "mkfifo")+"trap 'kill $!' EXIT\nexport PETSTORE_FAKE_ADDR=127.0.0.1:$port\n"+
			block(t, "-healthcheck")+`curl -fsS -H 'Authorization: Bearer fake-api-key' "$base_url/pets"`)
		assert.Equal(t, "[]", strings.TrimSpace(out))
	})
	t.Run("admin routes, each of them", func(t *testing.T) {
		i, host := newTestInstance(t), start(t).host
		commands := block(t, "fake/health")
		shell(t, `curl() { command curl -sS -H 'Authorization: Bearer fake-api-key' http://`+host+`/v1/pets; command curl -fsS "$@"; }
			`+strings.ReplaceAll(commands, "127.0.0.1:4010", host))
		for _, r := range i.routes() {
			how := map[string]string{"GET": "curl ", "POST": "curl (-X POST|-d '?[^ ].*) "}[r.Method]
			if how == "" {
				how = "curl -X " + r.Method + " .*"
			}
			path := strings.ReplaceAll(strings.TrimPrefix(r.Path, "/_fake"), "{id}", `\d`)
			assert.Regexp(t, `(?m)^`+how+`"?\$fake`+path+`([? ]|$)`, commands)
		}
	})
	t.Run("game day", func(t *testing.T) {
		host := start(t, "-plan", "free").host
		script := strings.ReplaceAll(block(t, "on() {"), "127.0.0.1:4010", host)
		shell(t, "sleep() { :; }\n"+script)
		_, faults, err := call(t, host, "GET", "/_fake/faults", "")
		require.NoError(t, err)
		for _, fault := range []string{"status=503", "delay=5s", "wire=refuse", "after-commit", "wire=truncate", "drip=40s", "wire=stall", "wire=login-page"} {
			assert.Contains(t, faults, fault)
		}
		_, keys, err := call(t, host, "GET", "/_fake/keys/1", "")
		require.NoError(t, err)
		assert.Contains(t, keys, `"plan":"free","revoked":false,"minute":{"used":0`)
	})
}
