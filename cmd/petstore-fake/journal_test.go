package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// With the real curl, where there is one, against the program.
func TestCurlCommandSendsTheRequestAgain(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("there is no curl")
	}
	i := newTestInstance(t)
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	hs := newServer(i, newOutput())
	go func() { _ = hs.Serve(l) }()
	t.Cleanup(func() { assert.NoError(t, hs.Close()) })

	for _, c := range []struct{ method, path, body string }{
		{"POST", "/v1/pets?a=[1]", "{\"name\":\"it's Rex\\u001b\",\n\"categoryId\":1}"},
		{"POST", "/v1/pets", "@/etc/passwd"},
		{"POST", "/v1/pets", "-x\xff"},
		{"HEAD", "/v1/pets", ""},
		{"HEAD", "/v1/pets", "a body"},
		{"GET", "/v1/pets?a=b#c", ""},
		{"GET", "/v1/../pets/{1,2}", ""},
	} {
		i.srv.ClearRequests()
		r := request(t, c.method, strings.ReplaceAll(c.path, "#", "%23"), c.body)
		r.URL.RawQuery = strings.ReplaceAll(r.URL.RawQuery, "%23", "#") // as it comes over a connection
		r.Header.Set("Authorization", "Bearer fake-api-key")
		r.Header.Set("X-Trace", "$HOME")
		i.send(r)
		first, ok := i.srv.LastRequest()
		require.True(t, ok)
		ask := request(t, "GET", fmt.Sprintf("/_fake/requests/%d", first.Seq), "")
		ask.Host = l.Addr().String()
		var shown struct{ Curl string }
		require.NoError(t, json.Unmarshal(i.send(ask).Body.Bytes(), &shown))
		command := shown.Curl
		assert.NotContains(t, command, "fake-api-key")
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "sh", "-c", command)
		cmd.Env = []string{"PETSTORE_API_KEY=fake-api-key", "PATH=" + strings.TrimSuffix(path, "/curl")}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", command, out)

		again, _ := i.srv.LastRequest()
		assert.Equal(t, first.Seq+1, again.Seq, command)
		assert.Equal(t, []any{first.Method, first.Path, first.StatusCode}, []any{again.Method, again.Path, again.StatusCode})
		assert.Equal(t, string(first.Body), string(again.Body))
		assert.Equal(t, []string{"$HOME"}, again.Header["X-Trace"])
		assert.Equal(t, first.Header["Content-Type"], again.Header["Content-Type"])
	}
}

func TestOriginIsTheOneThatWasCalled(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	i.call("GET", "/v1/pets", "")
	for _, path := range []string{"/_fake/", "/_fake/requests/1", "/_fake/har"} {
		r := request(t, "GET", path, "")
		r.Host = "localhost:8080"
		assert.Contains(t, i.send(r).Body.String(), "http://localhost:8080/v1", path)
	}
}

func TestJournalShowsOneRequestWithBoundedBodies(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	i.call("POST", "/v1/pets", `{"name":"Zoë Zoë","categoryId":1}`)
	whole := i.object("GET", "/_fake/requests/1", "")
	assert.Equal(t, `{"name":"Zoë Zoë","categoryId":1}`, whole["body"])
	assert.Equal(t, `{"id":1,"name":"Zoë Zoë","categoryId":1}`, whole["answer"])
	assert.EqualValues(t, len(`{"name":"Zoë Zoë","categoryId":1}`), whole["bodySize"])
	assert.EqualValues(t, 1, whole["keyId"])
	header, err := json.Marshal(whole["answerHeader"])
	require.NoError(t, err)
	assert.Contains(t, string(header), `"X-Ratelimit-Remaining":["999"]`)

	part := i.object("GET", "/_fake/requests/1?bytes=12", "")
	assert.Equal(t, `{"name":"Zo`, part["body"], "no character is cut in two")
	assert.EqualValues(t, len(`{"name":"Zoë Zoë","categoryId":1}`), part["bodySize"])
	for _, path := range []string{"/_fake/requests/2", "/_fake/requests/0", "/_fake/requests/x", "/_fake/requests/99999999999"} {
		w := i.call("GET", path, "")
		assert.Equal(t, 404, w.Code, path)
		assert.Contains(t, w.Body.String(), "no request")
	}
	assert.Equal(t, 400, i.status("GET", "/_fake/requests/1?bytes=-1", ""))
}
