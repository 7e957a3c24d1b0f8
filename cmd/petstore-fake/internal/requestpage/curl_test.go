package requestpage

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

const testKey = `$(touch pwned) "quoted" 'key'`

// curlStub is a shell's curl that writes the number of its arguments and these, each with a NUL
// behind it, and then its input.
const curlStub = `curl() { printf '%s\0' "$#" "$@"; case " $* " in *" @- "*) cat;; esac; }
`

// runCurl gives a command to a shell and returns what curl would get.
func runCurl(t *testing.T, command string) (args []string, input string) {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no POSIX shell")
	}
	cmd := exec.CommandContext(t.Context(), shell)
	cmd.Stdin = strings.NewReader(curlStub + command)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PETSTORE_API_KEY="+testKey)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	left, err := os.ReadDir(cmd.Dir)
	require.NoError(t, err)
	require.Empty(t, left, "the command did something else")
	count, rest, _ := strings.Cut(string(out), "\x00")
	n, err := strconv.Atoi(count)
	require.NoError(t, err)
	parts := strings.SplitN(rest, "\x00", n+1)
	return parts[:n], parts[n]
}

func TestCurl_throughAShell(t *testing.T) {
	bearer := http.Header{"Authorization": {"Bearer [redacted]"}}
	nasty := `it's $HOME \ "x" ` + "`id`" + ` $(touch pwned); & | < > * ~ # ! %s %d \n`
	for _, c := range []struct {
		request fake.Request
		want    []string
	}{
		{
			fake.Request{Method: "GET", Path: "/v1/pets?limit=5&status=sold", Header: bearer},
			[]string{"http://h/v1/pets?limit=5&status=sold", "--header", "Authorization: Bearer " + testKey},
		},
		{
			fake.Request{Method: "POST", Path: "/v1/pets", Body: []byte(nasty), Header: http.Header{
				"Authorization": {"bearer [redacted]"}, "Content-Type": {"application/json"}, "X-Nasty": {nasty, ""},
				"Content-Length": {"9"}, "Accept-Encoding": {"gzip"}, "Connection": {"close"},
			}},
			[]string{
				"--request", "POST", "http://h/v1/pets", "--header", "Authorization: bearer " + testKey,
				"--header", "Content-Type: application/json", "--header", "X-Nasty: " + nasty, "--header", "X-Nasty;",
				"--data-raw", nasty,
			},
		},
		{
			fake.Request{Method: "DELETE", Path: "/v1/../[a-z]{1,2}'", Header: http.Header{"Authorization": {"[redacted]"}}},
			[]string{
				"--request", "DELETE", "--request-target", "/v1/../[a-z]{1,2}'", "http://h", "--header", "Authorization: " + testKey,
			},
		},
		{
			fake.Request{Method: "HEAD", Path: "/v1/pets", Header: http.Header{"Authorization": {`Bea"rer [redacted]`}}},
			[]string{"--head", "http://h/v1/pets", "--header", `Authorization: Bea"rer [redacted]`},
		},
		{
			fake.Request{Method: "OPTIONS", Path: "*"},
			[]string{"--request", "OPTIONS", "--request-target", "*", "http://h"},
		},
		{
			fake.Request{Method: "$x'&", Path: "/", Body: []byte("@/etc/passwd")},
			[]string{"--request", "$x'&", "http://h/", "--header", "Content-Type:", "--data-raw", "@/etc/passwd"},
		},
		{
			fake.Request{Method: "GET", Path: "/", Header: http.Header{"X-Escape": {"a\tb \x1b[201~ \u202e% \xff"}}},
			[]string{"http://h/", "--header", "X-Escape: a\tb \x1b[201~ \u202e% \xff"},
		},
	} {
		args, _ := runCurl(t, command("http://h", c.request, "$PETSTORE_API_KEY"))
		assert.Equal(t, c.want, args)
	}
}

func TestCurl_bodyOfAnyBytes(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for name, body := range map[string][]byte{
		"every byte": every,
		"large":      bytes.Repeat([]byte("long % \\ ' "), 20_000),
		"a terminal's escape, which ends a paste": []byte("{\"a\":\"\x1b[201~;touch pwned\n\"}"),
		"a new line at the end":                   []byte("{}\n"),
	} {
		command := command("http://h", fake.Request{Method: "POST", Path: "/v1/pets", Body: body}, "")
		args, input := runCurl(t, command)
		if args[len(args)-2] == "--data-raw" {
			input = args[len(args)-1]
		}
		assert.Equal(t, string(body), input, name)
		assert.NotContains(t, command, "\x1b")
	}
}
