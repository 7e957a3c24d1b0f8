package requestpage

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

// runCurl gives a command to a shell and returns what curl would get.
func runCurl(t *testing.T, command string) []string {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no POSIX shell")
	}
	cmd := exec.CommandContext(t.Context(), shell)
	cmd.Stdin = strings.NewReader(`curl() { printf '%s\0' "$@"; }` + "\n" + command)
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
	const key = `Authorization: Bearer $(touch pwned) "quoted" 'key'`
	bearer := []string{"Bearer [redacted]"}
	nasty := `it's $HOME \ "x" ` + "`id`" + ` $(touch pwned); & | < > * ~ # ! %s %d \n` + "\n"
	srv := fake.NewTestServer(t)
	for _, c := range []struct {
		request fake.Request
		want    []string
	}{
		{
			fake.Request{Method: "GET", Path: "/v1/pets?limit=5&status=sold", Header: http.Header{"Authorization": bearer}},
			[]string{"--request", "GET", "http://h/v1/pets?limit=5&status=sold", "--header", key},
		},
		{
			fake.Request{Method: "GET", Path: "/", Key: 1, Header: http.Header{"Authorization": bearer}},
			[]string{"--request", "GET", "http://h/", "--header", "Authorization: Bearer fake-api-key"},
		},
		{
			fake.Request{Method: "POST", Path: "/v1/pets", Body: []byte(nasty), Header: http.Header{
				"Authorization": {"Basic [redacted]"}, "Content-Type": {"application/json"}, "X-Nasty": {strings.TrimSpace(nasty)},
				"Content-Length": {"9"}, "Accept-Encoding": {"gzip"}, "Connection": {"close"},
			}},
			[]string{
				"--request", "POST", "http://h/v1/pets", "--header", "Authorization: Basic [redacted]", "--header", "Content-Type: application/json",
				"--header", "X-Nasty: " + strings.TrimSpace(nasty), "--data-raw", nasty,
			},
		},
		{fake.Request{Method: "DELETE", Path: "/v1/../[a-z]{1,2}'"}, []string{"--request", "DELETE", "--request-target", "/v1/../[a-z]{1,2}'", "http://h"}},
		{fake.Request{Method: "HEAD", Path: "/v1/pets"}, []string{"--head", "http://h/v1/pets"}},
		{fake.Request{Method: "OPTIONS", Path: "*"}, []string{"--request", "OPTIONS", "--request-target", "*", "http://h"}},
		{
			fake.Request{Method: "$x'&", Path: "/", Body: []byte("@/etc/passwd")},
			[]string{"--request", "$x'&", "http://h/", "--header", "Content-Type:", "--data-raw", "@/etc/passwd"},
		},
	} {
		assert.Equal(t, c.want, runCurl(t, Curl(srv, "http://h", c.request)))
	}
	for _, body := range []string{"{\"a\":\"\x1b[201~;touch pwned\n\"}", "\xff\xfe", "\u202e", strings.Repeat("x", maxCurl)} {
		assert.Empty(t, Curl(srv, "http://h", fake.Request{Method: "POST", Path: "/", Body: []byte(body)}), "what ends a paste, or is no text")
	}
}
