package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/loopback"
)

func TestJournal(t *testing.T) {
	t.Parallel()
	t.Run("lists request and response", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t)
		i.call("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`)
		i.call("GET", "/v1/nothing", "")
		requests := list(t, i.object("GET", "/_fake/requests", ""), "requests")
		require.Len(t, requests, 2)
		first := requests[0]
		assert.EqualValues(t, 1, first["seq"])
		assert.Equal(t, "createPet", first["operation"])
		assert.Equal(t, "POST", first["method"])
		assert.Equal(t, "/v1/pets", first["path"])
		assert.Equal(t, []any{"Bearer [redacted]"}, first["header"].(map[string]any)["Authorization"])
		assert.JSONEq(t, `{"name":"Rex","categoryId":1}`, first["body"].(string))
		assert.EqualValues(t, 201, first["status"])
		assert.JSONEq(t, `{"id":1,"name":"Rex","categoryId":1}`, first["answer"].(string))
		assert.Equal(t, false, first["fault"])
		assert.NotEmpty(t, first["time"])
		assert.Contains(t, requests[1]["hint"], "section 4")
	})
	t.Run("has binary bodies as Base64", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t)
		i.call("POST", "/v1/pets", "\xff\xfe")
		entry := list(t, i.object("GET", "/_fake/requests", ""), "requests")[0]
		assert.Equal(t, "//4=", entry["bodyBase64"])
		assert.Empty(t, entry["body"])
	})
	t.Run("filters", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t, "-fault", "status=503,skip=2")
		i.call("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`) // 1
		i.call("GET", "/v1/pets", "")                               // 2
		i.call("GET", "/v1/pets", "")                               // 3, the fault
		i.call("GET", "/v1/pets/1", "")                             // 4
		i.call("GET", "/nothing", "")                               // 5
		for query, want := range map[string][]int{
			"":                                 {1, 2, 3, 4, 5},
			"?operation=listPets":              {2, 3},
			"?operation=none":                  {5},
			"?method=POST":                     {1},
			"?status=200":                      {2, 4},
			"?fault=true":                      {3},
			"?fault=false&operation=listPets":  {2},
			"?since=3":                         {4, 5},
			"?before=3&operation=listPets":     {2},
			"?limit=2":                         {4, 5},
			"?limit=1&operation=listPets":      {3},
			"?status=0":                        {},
			"?operation=getPet&status=200":     {4},
			"?operation=createPet&status=400":  {},
			"?since=2147483647&operation=none": {},
		} {
			t.Run(query, func(t *testing.T) {
				got := []int{}
				for _, r := range list(t, i.object("GET", "/_fake/requests"+query, ""), "requests") {
					got = append(got, int(r["seq"].(float64)))
				}
				assert.Equal(t, want, got, query)
			})
		}
		assert.EqualValues(t, 5, i.object("GET", "/_fake/requests?limit=1", "")["total"])

		assert.Equal(t, 204, i.status("DELETE", "/_fake/requests", ""))
		assert.Empty(t, list(t, i.object("GET", "/_fake/requests", ""), "requests"))
		i.call("GET", "/v1/pets", "")
		requests := list(t, i.object("GET", "/_fake/requests", ""), "requests")
		require.Len(t, requests, 1)
		assert.EqualValues(t, 6, requests[0]["seq"])
	})
	t.Run("filters by class of status and by key", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t)
		i.object("POST", "/_fake/keys", `{"key":"second-key-0001","plan":"enterprise:1,0"}`)
		i.call("GET", "/v1/pets", "")
		for range 2 {
			i.callAs("second-key-0001", "GET", "/v1/pets", "")
		}
		i.callAs("unknown-key", "GET", "/v1/pets", "")
		i.send(request(t, "GET", "/v1/pets", ""))
		i.object("POST", "/_fake/faults", `{"status":503}`)
		i.call("GET", "/v1/pets", "")
		for query, want := range map[string]int{
			"": 6, "status=": 6, "status=2xx": 2, "status=4xx": 3, "status=429": 1, "status=5xx": 1, "status=0": 0,
			"key=1": 2, "key=2": 2, "key=none": 1, "key=unknown": 1, "key=3": 0, "key=": 6, "key=2&status=4xx": 1,
		} {
			assert.EqualValues(t, want, i.object("GET", "/_fake/requests?"+query, "")["total"], query)
		}
		for _, query := range []string{"status=axx", "status=0xx", "status=1000", "status=-1", "key=0", "key=-1", "key=x"} {
			assert.Equal(t, 400, i.status("GET", "/_fake/requests?"+query, ""), query)
		}
		second := list(t, i.object("GET", "/_fake/requests?key=2", ""), "requests")[0]
		assert.Equal(t, "sec…", second["key"])
		assert.EqualValues(t, 2, second["keyId"])
	})
	t.Run("shows one request with its bodies", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t)
		i.call("POST", "/v1/pets", `{"name":"Zoë Zoë","categoryId":1}`)
		whole := i.object("GET", "/_fake/requests/1", "")
		assert.Equal(t, `{"name":"Zoë Zoë","categoryId":1}`, whole["body"])
		assert.Equal(t, `{"id":1,"name":"Zoë Zoë","categoryId":1}`, whole["answer"])
		assert.EqualValues(t, 1, whole["keyId"])
		header, err := json.Marshal(whole["answerHeader"])
		require.NoError(t, err)
		assert.Contains(t, string(header), `"X-Ratelimit-Remaining":["999"]`)

		for _, path := range []string{"/_fake/requests/2", "/_fake/requests/0", "/_fake/requests/x", "/_fake/requests/99999999999"} {
			w := i.call("GET", path, "")
			assert.Equal(t, 404, w.Code, path)
			assert.Contains(t, w.Body.String(), "no request")
		}
	})
	t.Run("names the host that was called", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t)
		i.call("GET", "/v1/pets", "")
		for _, path := range []string{"/_fake/", "/_fake/requests/1", "/_fake/har"} {
			r := request(t, "GET", path, "")
			r.Host = "localhost:8080"
			assert.Contains(t, i.send(r).Body.String(), "http://localhost:8080/v1", path)
		}
	})
	// With the real curl, where there is one, against the program.
	t.Run("has a curl command that sends the request again", func(t *testing.T) {
		t.Parallel()
		path, err := exec.LookPath("curl")
		if err != nil {
			t.Skip("there is no curl")
		}
		i := newTestInstance(t)
		l := loopback.Listen(t)
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
			cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "sh", "-c", command)
			cmd.Env = []string{"PATH=" + // the key is the default one, which anybody may see
				strings.TrimSuffix(path, "/curl")}
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s\n%s", command, out)

			again, _ := i.srv.LastRequest()
			assert.Equal(t, first.Seq+1, again.Seq, command)
			assert.Equal(t, []any{first.Method, first.Path, first.StatusCode}, []any{again.Method, again.Path, again.StatusCode})
			assert.Equal(t, string(first.Body), string(again.Body))
			assert.Equal(t, []string{"$HOME"}, again.Header["X-Trace"])
			assert.Equal(t, first.Header["Content-Type"], again.Header["Content-Type"])
		}
	})
}

func TestViolations(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	i.call("GET", "/v1/pets?page=2", "")
	violations := list(t, i.object("GET", "/_fake/violations", ""), "violations")
	require.Len(t, violations, 1)
	assert.Equal(t, fake.RuleUnknownParameter, violations[0]["rule"])
	assert.EqualValues(t, 1, violations[0]["seq"])
}
