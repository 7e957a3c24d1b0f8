package main

import (
	"cmp"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/requestpage"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/loopback"
)

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/petstore-fake.md")
	require.NoError(t, err)
	return string(text)
}

// block returns the first block of code in docs/petstore-fake.md that has a text.
func block(t *testing.T, text string) string {
	t.Helper()
	for _, found := range regexp.MustCompile("(?sm)^```[a-z]+\n(.*?)^```").FindAllStringSubmatch(page(t), -1) {
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
	require.NoError(t, err)
	return string(out)
}

// The block with the admin routes is run by TestDocumentation.
func TestPageOfTheDocuments(t *testing.T) {
	t.Run("starts the program with flags that it has", func(t *testing.T) {
		seed := writeFile(t, `[]`)
		for line := range strings.Lines(block(t, "petstore-fake -plan")) {
			line = strings.Replace(strings.Replace(line, "petstore-fake", "curl", 1), "pets.json", requestpage.ShellQuote(seed), 1)
			args := curlArguments(t, line)
			if args[0] == "" {
				args = nil
			}
			_, err := readSettings(args, noEnv)
			assert.NoError(t, err, line)
		}
	})
	t.Run("gives each variable a value that it takes", func(t *testing.T) {
		found := regexp.MustCompile(`(PETSTORE_FAKE_[A-Z_]+)(?:=|: )([^,}\x60]+)`).FindAllStringSubmatch(page(t), -1)
		require.GreaterOrEqual(t, len(found), 3)
		for _, f := range found {
			_, err := readSettings(nil, envOf(map[string]string{f[1]: f[2]}))
			assert.NoError(t, err, f[0])
			assert.Contains(t, documentation, "-"+strings.ToLower(strings.TrimPrefix(f[1], "PETSTORE_FAKE_")))
		}
	})
	t.Run("finds a free port and waits until the program serves", func(t *testing.T) {
		loopback.Host(t)
		out := shell(t, block(t, "mkfifo")+"trap 'kill $!' EXIT\nexport PETSTORE_FAKE_ADDR=127.0.0.1:$port\n"+
			block(t, "-healthcheck")+`curl -fsS -H 'Authorization: Bearer fake-api-key' "$base_url/pets"`)
		assert.Equal(t, "[]", strings.TrimSpace(out))
	})
}

// curlRequest returns the request that a command for curl sends.
func curlRequest(t *testing.T, line string) (method, target, body string) {
	t.Helper()
	var c flag.FlagSet // those of curl
	c.StringVar(&method, "X", "", "")
	c.StringVar(&body, "json", "", "")
	c.StringVar(&body, "d", "", "")
	c.String("o", "", "")
	c.Bool("N", false, "")
	require.NoError(t, c.Parse(curlArguments(t, "fake=/_fake; "+line)))
	require.Equal(t, 1, c.NArg(), line)
	if method == "" && body != "" {
		method = http.MethodPost
	}
	return cmp.Or(method, http.MethodGet), c.Arg(0), body
}

func TestDocumentation(t *testing.T) {
	var flags, wires []string
	for _, o := range new(settings).options() {
		flags = append(flags, "-"+o.name)
	}
	for _, wire := range fake.Wire("").Values() {
		wires = append(wires, string(wire))
	}
	plans, _, _ := strings.Cut(spec.PlanNames, " or ")
	for _, c := range []struct {
		after, until string
		words        []string
	}{
		{"# Flags", "# Faults", flags},
		{"The fields are those of fake.Fault: ", "package main", spec.FaultFields()},
		{"of the keys without one: ", "enterprise:M,D", strings.Split(plans, ", ")},
		{"and wire (", ")", wires},
	} {
		_, text, _ := strings.Cut(documentation, c.after)
		text, _, _ = strings.Cut(text, c.until)
		for _, word := range c.words {
			assert.Regexp(t, `(^|[\s(])`+word+`\b`, text, "doc.go lacks a word behind %s", c.after)
		}
	}
	t.Run("names every behaviour with its choices", func(t *testing.T) {
		_, err := spec.ParseText[fake.Behavior]("=")
		require.Error(t, err)
		_, names, _ := strings.Cut(err.Error(), "the behaviours are ")
		for name := range strings.SplitSeq(names, ", ") {
			found := regexp.MustCompile(`(?m)^//\t` + name + ` +(.*)$`).FindStringSubmatch(documentation)
			require.NotNil(t, found, name)
			for choice := range strings.SplitSeq(found[1], ", ") {
				_, err := spec.ParseText[fake.Behavior](name + "=" + choice)
				assert.NoError(t, err)
			}
		}
	})
	// Every command for curl in the documentation works, and there is one for each admin route.
	t.Run("has a command for curl for every route", func(t *testing.T) {
		i := newTestInstance(t)
		untested := make(map[string]bool)
		mux := http.NewServeMux()
		for _, r := range i.routes() {
			untested[r.Method+" "+r.Path] = true
			mux.HandleFunc(r.Method+" "+strings.TrimSuffix(r.Path, "/"), func(http.ResponseWriter, *http.Request) {
				delete(untested, r.Method+" "+r.Path)
			})
		}
		for line := range strings.Lines(block(t, "fake/health")) {
			if !strings.HasPrefix(line, "curl ") {
				continue
			}
			i.call("GET", "/v1/pets", "") // so that there is a request 1 in the journal
			method, target, body := curlRequest(t, line)
			r := request(t, method, target, body)
			w := i.send(r)
			assert.Less(t, w.Code, 300, "%s: %s", line, w.Body)
			r.URL.Path = strings.TrimSuffix(r.URL.Path, "/")
			mux.ServeHTTP(httptest.NewRecorder(), r)
		}
		assert.Empty(t, untested)
	})
}

// TestGameDay runs the script of the documents without its pauses.
func TestGameDay(t *testing.T) {
	host := start(t, "-plan", "free").host
	script := strings.ReplaceAll(block(t, "on() {"), "127.0.0.1:4010", host)
	assert.LessOrEqual(t, strings.Count(script, "\n"), 15)
	shell(t, "sleep() { :; }\n"+script)
	_, faults, err := call(t, host, "GET", "/_fake/faults", "")
	require.NoError(t, err)
	for _, fault := range []string{"status=503", "delay=5s", "wire=refuse", "after-commit", "wire=truncate", "drip=40s", "wire=stall", "wire=login-page"} {
		assert.Contains(t, faults, fault)
	}
	_, keys, err := call(t, host, "GET", "/_fake/keys/1", "")
	require.NoError(t, err)
	assert.Contains(t, keys, `"plan":"free","revoked":false,"minute":{"used":0`)
}
