package page

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

// runCurl gives a command to a shell and returns the words that curl would get, and its input.
func runCurl(t *testing.T, command string) []string {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no POSIX shell")
	}
	cmd := exec.CommandContext(t.Context(), shell, "-c", `curl() { printf '%s\0' "$@"; case "$*" in *@-) cat ;; esac; }`+"\n"+command)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), `PETSTORE_API_KEY=$(touch pwned) "quoted" 'key'`)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	left, err := os.ReadDir(cmd.Dir)
	require.NoError(t, err)
	require.Empty(t, left, "the command did something else")
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

func TestCurl(t *testing.T) {
	const nasty = "it's $HOME \\ \"x\" `id` $(touch pwned); & | < > * ~ # ! %s %d \\n"
	bearer := http.Header{"Authorization": {"Bearer [redacted]"}}
	for _, c := range []struct {
		request fake.Request
		want    []string
	}{
		{fake.Request{Method: "GET", Path: "/v1/pets?limit=5&status=sold", Header: bearer},
			[]string{"--request", "GET", "http://h/v1/pets?limit=5&status=sold", "--header", `Authorization: Bearer $(touch pwned) "quoted" 'key'`}},
		{fake.Request{Method: "GET", Path: "/", Key: 1, Header: bearer}, []string{"--request", "GET", "http://h/", "--header", "Authorization: Bearer a-key'"}},
		{fake.Request{Method: "POST", Path: "/v1/pets", Body: []byte(nasty + "\n"), Header: http.Header{
			"Content-Type": {"application/json"}, "X-Nasty": {nasty}, "X-Empty": {""}, "X-Tab": {"a\tb"}, "Content-Length": {"9"}, "Connection": {"close"},
		}}, []string{"--request", "POST", "http://h/v1/pets", "--header", "Content-Type: application/json",
			"--header", "X-Empty;", "--header", "X-Nasty: " + nasty, "--header", "X-Tab: a\tb", "--data-raw", nasty + "\n"}},
		{fake.Request{Method: "DELETE", Path: "/v1/../[a-z]{1,2}'"}, []string{"--request", "DELETE", "--request-target", "/v1/../[a-z]{1,2}'", "http://h"}},
		{fake.Request{Method: "HEAD", Path: "/v1/pets"}, []string{"--head", "http://h/v1/pets"}},
		{fake.Request{Method: "$x'&", Path: "*", Body: []byte("@/etc/passwd")},
			[]string{"--request", "$x'&", "--request-target", "*", "http://h", "--header", "Content-Type:", "--data-raw", "@/etc/passwd"}},
		{fake.Request{Method: "PUT", Path: "/", Body: []byte("-\t" + nasty + "\r\n\x1b[201~;\xff")},
			[]string{"--request", "PUT", "http://h/", "--header", "Content-Type:", "--data-binary", "@-", "-\t" + nasty + "\r\n\x1b[201~;\xff"}},
	} {
		command, _ := Curl("http://h", &Request{Request: c.request, Sender: "a-key'"})
		assert.Equal(t, c.want, runCurl(t, command))
		assert.True(t, isPlain(command), "nothing in it ends a paste")
	}
	command, why := Curl("http://h", &Request{Request: fake.Request{Method: "POST", Path: "/", Body: make([]byte, maxCurl+1)}})
	assert.Empty(t, command)
	assert.Contains(t, why, "4096 bytes")
}
