package page

import (
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/testkit"
)

// A shell gets the command of a request, and sends the same request again.
func TestCurl(t *testing.T) {
	testkit.Loopback(t)
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	const nasty = "it's $HOME \\ \"x\" `id` $(touch pwned); & | < > * ~ # ! %s %d \\n"
	p := newTestPage(t)
	p.srv.AddKey("team-key-000001", fake.Plan{})
	for n, c := range []struct {
		method, path, key, body string
		header                  http.Header
	}{
		{"GET", "/v1/pets?limit=5&status=sold", "team-key-000001", "", nil},
		{"GET", "/v1/../[a-z]{1,2}'", theKey, "", nil},
		{"HEAD", "/v1/pets", "of-another-service", "", nil},
		{"POST", "/v1/pets", theKey, nasty + "\n", http.Header{
			"Content-Type": {"application/json"}, "X-Nasty": {nasty}, "X-Empty": {""}, "X-Tab": {"a\tb"}, "X-Two": {"1", "2"},
		}},
		{"PATCH", "/v1/pets/1", theKey, "@/etc/passwd", nil},
		{"PUT", "/", theKey, "-\t" + nasty + "\r\n\x1b[201~;\xff", nil},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, p.srv.URL()+"/", strings.NewReader(c.body))
		require.NoError(t, err)
		r.URL.Opaque, r.Header = c.path, http.Header{"User-Agent": {"x"}, "Accept": {"*/*"}, "Authorization": {"Bearer " + c.key}}
		for name, values := range c.header {
			r.Header[name] = values
		}
		resp, err := http.DefaultTransport.RoundTrip(r)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, resp.Body)
		require.NoError(t, resp.Body.Close())
		sent := p.Journal()[2*n]
		command, _ := Curl(strings.TrimSuffix(p.srv.URL(), "/v1"), sent)
		assert.True(t, isPlain(command), "nothing in it ends a paste")
		shell := exec.CommandContext(t.Context(), "sh", "-c", command)
		shell.Env = []string{"PETSTORE_API_KEY=of-another-service", "no_proxy=*", "PATH=/usr/bin:/bin"}
		out, err := shell.CombinedOutput()
		require.NoError(t, err, "%s", out)
		again := p.Journal()[2*n+1]
		sent.Header.Del("Accept-Encoding")
		assert.Equal(t, []any{sent.Method, sent.Path, sent.Sender, string(sent.Body), sent.Header},
			[]any{again.Method, again.Path, again.Sender, string(again.Body), again.Header}, command)
	}
	command, why := Curl("http://h", &Request{Request: fake.Request{Method: "POST", Path: "/", Body: make([]byte, maxCurl+1)}})
	assert.Empty(t, command)
	assert.Contains(t, why, "4096 bytes")
}
