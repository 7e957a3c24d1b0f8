package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/testkit"
)

func envOf(variables map[string]string) func(string) string {
	return func(name string) string { return variables[name] }
}

// testInstance is a petstore-fake whose handler the tests call directly, without a port.
type testInstance struct {
	t *testing.T
	http.Handler
	stderr output
}

// newTestInstance returns a petstore-fake with the flags args.
func newTestInstance(t *testing.T, args ...string) testInstance {
	t.Helper()
	s, err := readSettings(args, envOf(nil))
	require.NoError(t, err)
	stderr := newOutput()
	srv, handler := newService(s, stderr)
	t.Cleanup(srv.Close)
	return testInstance{t, handler, stderr}
}

func request(t *testing.T, method, path, body string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, io.NopCloser(strings.NewReader(body)))
	r.Host = "127.0.0.1:4010"
	r.Header.Set("Content-Type", "application/json")
	return r
}

func (i testInstance) send(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	i.ServeHTTP(w, r)
	return w
}

// call sends a request with a key, unless the key is empty. Admin routes ignore the key.
func (i testInstance) call(key, method, path, body string) *httptest.ResponseRecorder {
	r := request(i.t, method, path, body)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return i.send(r)
}

// admin calls an admin route, such as "POST keys". It checks the status of the response, and that
// the body of the response contains the parts in this order.
func (i testInstance) admin(route, body string, status int, parts ...string) {
	method, path, _ := strings.Cut(route, " ")
	w := i.call("", method, "/_fake/"+path, body)
	assert.Equal(i.t, status, w.Code, "%s %.99s: %s", route, body, w.Body)
	rest := w.Body.String()
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		assert.True(i.t, found, "%s %.99s: no %s in %s", route, body, part, rest)
		rest = after
	}
}

// list calls listPets once with each of the keys, and returns the statuses of the responses.
func (i testInstance) list(keys ...string) (statuses []int) {
	for _, key := range keys {
		statuses = append(statuses, i.call(key, http.MethodGet, "/v1/pets", "").Code)
	}
	return statuses
}

// output is a writer for a program. The test receives each text that the program has written.
type output chan string

func newOutput() output { return make(output, 1000) }

func (o output) Write(p []byte) (int, error) {
	o <- string(p)
	return len(p), nil
}

// rest receives and returns all texts that the test has not received yet.
func (o output) rest() (all string) {
	for len(o) > 0 {
		all += <-o
	}
	return all
}

// asProgram is the environment variable that makes the test binary run as petstore-fake.
const asProgram = "TESTS_ARE_PETSTORE_FAKE=1"

// TestMain also checks that no test leaves a goroutine behind.
func TestMain(m *testing.M) {
	if slices.Contains(os.Environ(), asProgram) {
		main() // exits
	}
	goleak.VerifyTestMain(m)
}

// runOnce runs the program with args until it ends.
func runOnce(t *testing.T, args string) (status int, stdout, stderr string) {
	var out, errs strings.Builder
	status = run(t.Context(), strings.Fields(args), envOf(nil), &out, &errs)
	return status, out.String(), errs.String()
}

// running is a program that runs inside the test.
type running struct {
	host           string
	stdout, stderr string // what the program wrote at its start: the port to stdout, the banner to stderr
	output         output // what the program writes to stderr after the banner
	stop           func() int
}

// start starts the program on a free port, and waits until the program has written its banner.
func start(t *testing.T, args ...string) running {
	t.Helper()
	args = append(args, "-addr", testkit.Loopback(t)+":0")
	ctx, cancel := context.WithCancel(t.Context())
	stdout, stderr := newOutput(), newOutput()
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, args, envOf(nil), stdout, stderr) }()
	r := running{output: stderr, stop: sync.OnceValue(func() int {
		cancel()
		return <-ended
	})}
	t.Cleanup(func() { r.stop() })
	select {
	case r.stdout = <-stdout:
	case status := <-ended:
		ended <- status
		require.FailNow(t, "it has ended", "%d: %s", status, stderr.rest())
	}
	r.host, r.stderr = testkit.Loopback(t)+":"+strings.TrimSpace(r.stdout), <-stderr
	return r
}

// call sends a request with the default key over a connection of its own, and returns the body of
// the response.
func call(t *testing.T, host, method, path string) (text string, err error) {
	r := request(t, method, "http://"+host+path, "")
	r.RequestURI, r.Host = "", host // httptest makes requests for a server; a client must not set RequestURI
	r.Close = true
	r.Header.Set("Authorization", "Bearer "+fake.DefaultAPIKey)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return string(all), err
}

func TestRun(t *testing.T) {
	other, unused := httptest.NewServer(http.NotFoundHandler()), testkit.Listen(t)
	defer other.Close()
	require.NoError(t, unused.Close())
	taken, free := other.Listener.Addr().String(), unused.Addr().String()
	lines := map[int]string{ // by exit status, the pattern of all lines on stderr
		exitOK: `^$`, exitFailed: `^petstore-fake: .*\n$`,
		exitUsage: `^petstore-fake: .*\npetstore-fake -help lists the flags.\n$`,
	}
	for _, c := range []struct {
		args           string
		status         int
		stdout, reason string
	}{
		{"-version", exitOK, "petstore-fake " + petstore.Version + "\n", ""},
		{"--help", exitOK, help, ""},
		{"-nope", exitUsage, "", "flag provided but not defined: -nope"},
		{"-log text json", exitUsage, "", `unexpected argument "json"`},
		{"-addr " + taken, exitFailed, "", taken},
		{"-healthcheck -addr " + free, exitFailed, "", "no response from " + free},
		{"-healthcheck -addr " + taken, exitFailed, "", "responds with status 404"},
	} {
		status, stdout, stderr := runOnce(t, c.args)
		assert.Equal(t, []any{c.status, c.stdout}, []any{status, stdout}, c.args)
		assert.Regexp(t, lines[c.status], stderr, c.args)
		assert.Contains(t, stderr, c.reason, c.args)
	}
	t.Run("prints only the port if it is 0, and is healthy whatever the service does", func(t *testing.T) {
		r := start(t, "-fault", "status=500,times=-1", "-key", "key=a-key==", "-plan", "perMinute=5,perDay=100")
		assert.Regexp(t, `^\d+\n$`, r.stdout)
		for _, part := range []string{
			"http://" + r.host + "/v1\n", "a-key== (plan enterprise:5,100)\n", "http://" + r.host + "/_fake/ in a browser",
			"\n  curl -H 'Authorization: Bearer a-key==' http://" + r.host + "/v1/pets\n",
		} {
			assert.Contains(t, r.stderr, part)
		}
		assert.Equal(t, "[::1]:99", localHost("::1", "99"))
		assert.Equal(t, "127.0.0.1:99", localHost("0.0.0.0", "99"))
		status, stdout, stderr := runOnce(t, "-healthcheck -addr "+r.host)
		assert.Equal(t, []any{exitOK, "", ""}, []any{status, stdout, stderr})
		assert.Equal(t, exitOK, r.stop())
	})
}

// stalled is a script that starts the program, and sends a request that gets no response. It writes
// the process ID of the program to the file pid, and prints the exit status unless it is 0.
const stalled = `mkfifo out
	(sh -c 'echo $$ >pid; exec petstore-fake -addr 127.0.0.1:0 -strict -fault wire=stall' >out || echo $?) &
	read -r port <out
	curl -s http://127.0.0.1:$port/v1/pets &
	until curl -s http://127.0.0.1:$port/_fake/requests | grep -q '"seq":1'; do :; done
	`

func TestServe_end(t *testing.T) {
	t.Run("with open requests, and with -strict without violations", func(t *testing.T) {
		if testing.Short() {
			t.Skip("it takes the five seconds of the grace period")
		}
		took := shell(t, stalled+`began=$(date +%s); kill $(cat pid); wait; echo $(($(date +%s) - began))`)
		assert.Regexp(t, "^[5-9]\n$", took, "requests may end by themselves, but docker stop kills after 10 s")
	})
	t.Run("at once after a second signal", func(t *testing.T) {
		status := shell(t, stalled+`while kill $(cat pid); do :; done; wait`) // sends signals until the program ends
		assert.Equal(t, "143\n", status, "ended by the signal, 15")
	})
	t.Run("with violations, which only -strict lists", func(t *testing.T) {
		const listed = `^violation: deprecated-operation \(section 4.3\): .*, request #1\n` +
			`.*-strict: violations by the clients: 1\n$`
		for strict, stderr := range map[string]string{"-strict": listed, "-strict=false": `^$`} {
			r := start(t, strict)
			_, err := call(t, r.host, "GET", "/v1/pets/1")
			require.NoError(t, err)
			assert.Equal(t, strict == "-strict", r.stop() == exitFailed, "with the flag %q", strict)
			assert.Regexp(t, stderr, r.output.rest())
		}
	})
}

// block returns the commands of the first code block of docs/petstore-fake.md that contains a text.
// In the commands, the given host replaces 127.0.0.1:4010.
func block(t *testing.T, text, host string) string {
	page, err := os.ReadFile("../../docs/petstore-fake.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?sm)^```[a-z]+\n(.*?)^```").FindAllStringSubmatch(string(page), -1)
	at := slices.IndexFunc(blocks, func(block []string) bool { return strings.Contains(block[1], text) })
	require.GreaterOrEqual(t, at, 0, text)
	return strings.ReplaceAll(blocks[at][1], "127.0.0.1:4010", host)
}

// shell runs commands in a POSIX shell that finds the program as petstore-fake, and returns what
// the commands print.
func shell(t *testing.T, commands string) string {
	if _, err := exec.LookPath("curl"); err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no POSIX shell or no curl")
	}
	dir := t.TempDir()
	path, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(path, filepath.Join(dir, "petstore-fake")))
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", commands)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), asProgram, "no_proxy=*", "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := cmd.Output()
	require.NoError(t, err, commands)
	return string(out)
}

// The commands of docs/petstore-fake.md and incidents.sh work.
func TestDocuments(t *testing.T) {
	host := start(t, "-plan", "free").host
	starts := strings.ReplaceAll(block(t, "petstore-fake -plan", host), "petstore-fake ", "petstore-fake -version ")
	shell(t, "echo '[]' >pets.json\n"+starts)
	shell(t, "curl() { command curl -fsS \"$@\"; }\n"+block(t, "fake/requests", host))
	incidents, err := os.ReadFile("incidents.sh")
	require.NoError(t, err)
	shell(t, "sleep() { :; }; curl -X DELETE http://"+host+"/_fake/faults\n"+
		strings.ReplaceAll(string(incidents), "127.0.0.1:4010", host))
	faults, err := call(t, host, "GET", "/_fake/faults")
	require.NoError(t, err)
	assert.Equal(t, 8, strings.Count(faults, `"applied":`))
	out := shell(t, block(t, "mkfifo", host)+`trap 'kill $!' EXIT
		PETSTORE_FAKE_ADDR=127.0.0.1:$port petstore-fake -healthcheck
		curl -fsS -H 'Authorization: Bearer fake-api-key' "$base_url/pets"`)
	assert.Equal(t, "[]", strings.TrimSpace(out), "a free port, and a health check")
}
