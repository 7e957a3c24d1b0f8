package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheIndexAndTheDocumentationNameEveryRoute(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	index := i.object("GET", "/_fake/", "")
	assert.Equal(t, "http://"+testHost+"/v1", index["baseUrl"])
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	routes := list(t, index, "routes")
	for _, r := range routes {
		assert.Contains(t, string(text), fmt.Sprintf("%-6s %s ", r["method"], r["path"]))
	}
	assert.Equal(t, len(routes), strings.Count(string(text), " /_fake/")-strings.Count(string(text), "GET /_fake/ "))
	for _, o := range options() {
		assert.Contains(t, string(text), "-"+o.name)
	}
	for _, f := range spec.FaultFields {
		assert.Contains(t, string(text), f)
	}
	for _, c := range spec.Choices() {
		assert.Contains(t, string(text), c.Name)
	}
}

func TestAdminRoutesAnswerWrongRequestsWithTheReason(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	i.object("POST", "/_fake/pets", `{"name":"Rex","categoryId":1}`)
	for _, c := range []struct {
		method, path, body string
		status             int
		reason             string
	}{
		{"GET", "/_fake/nothing", "", 404, "GET /_fake/ lists them"},
		{"GET", "/_fake/requests?limit=0", "", 400, "limit"},
		{"GET", "/_fake/requests?limit=ten", "", 400, "limit"},
		{"GET", "/_fake/requests?limit=1&limit=2", "", 400, "twice"},
		{"GET", "/_fake/requests?colour=red", "", 400, `\"colour\"`},
		{"GET", "/_fake/requests?operation=deletePet", "", 400, "operation"},
		{"GET", "/_fake/requests?status=abc", "", 400, "status"},
		{"GET", "/_fake/requests?fault=perhaps", "", 400, "fault"},
		{"GET", "/_fake/requests?since=-1", "", 400, "since"},
		{"GET", "/_fake/requests?a=%zz", "", 400, "query"},
		{"POST", "/_fake/clock", `{"advance":"-1m"}`, 400, "advance"},
		{"POST", "/_fake/clock", `{"advance":60}`, 400, "advance must be of type string, not number"},
		{"POST", "/_fake/clock", `{"advance":"2562047h"}`, 400, "advance"},
		{"POST", "/_fake/clock", `{"forward":"1m"}`, 400, `unknown field \"forward\"`},
		{"POST", "/_fake/clock", `{}`, 400, "advance"},
		{"POST", "/_fake/clock", `[]`, 400, "must be a JSON object"},
		{"POST", "/_fake/clock", `null`, 400, "must be a JSON object"},
		{"POST", "/_fake/clock", `{"advance":"1m"} x`, 400, "behind"},
		{"POST", "/_fake/clock", `{"advance"`, 400, "ends too early"},
		{"POST", "/_fake/clock", ``, 400, "missing"},
		{"POST", "/_fake/clock", `{"advance":"` + strings.Repeat(" ", httpjson.MaxBody) + `1m"}`, 413, "larger"},
		{"POST", "/_fake/faults", `{"status":99}`, 400, "status"},
		{"POST", "/_fake/faults", `{"statsu":503}`, 400, `\"statsu\"`},
		{"POST", "/_fake/faults", ``, 400, "missing"},
		{"DELETE", "/_fake/faults/9", "", 404, `\"9\"`},
		{"DELETE", "/_fake/faults/x", "", 404, `\"x\"`},
		{"POST", "/_fake/keys", `{"key":"","plan":"pro"}`, 400, "key"},
		{"POST", "/_fake/keys", `{"key":"a b","plan":"pro"}`, 400, "key"},
		{"POST", "/_fake/keys", `{"key":"a-key","plan":"gold"}`, 400, "plan"},
		{"POST", "/_fake/keys", `{"key":"a-key","plan":"pro","owner":"me"}`, 400, `\"owner\"`},
		{"GET", "/_fake/keys/2", "", 404, "no key"},
		{"GET", "/_fake/keys/0", "", 404, "no key"},
		{"DELETE", "/_fake/keys/x", "", 404, "no key"},
		{"PUT", "/_fake/keys/9/plan", `{"plan":"pro"}`, 404, "no key"},
		{"PUT", "/_fake/keys/1/plan", `{"plan":"gold"}`, 400, "plan"},
		{"PUT", "/_fake/keys/1/plan", `{"plan":5}`, 400, "plan"},
		{"PUT", "/_fake/keys/1/ban", `{"duration":"0s"}`, 400, "duration"},
		{"PUT", "/_fake/keys/1/ban", `{"duration":"soon"}`, 400, "duration"},
		{"PUT", "/_fake/keys/1/ban", `{"until":"soon"}`, 400, `\"until\"`},
		{"PUT", "/_fake/keys/9/ban", `{"duration":"1m"}`, 404, "no key"},
		{"DELETE", "/_fake/keys/9/ban", "", 404, "no key"},
		{"GET", "/_fake/pets?status=gone", "", 400, "status"},
		{"GET", "/_fake/pets?limit=10001", "", 400, "limit"},
		{"GET", "/_fake/pets?after=x", "", 400, "after"},
		{"POST", "/_fake/pets", `{"name":"Rex"}`, 400, "categoryId"},
		{"POST", "/_fake/pets", `{"name":"Rex","categoryId":1,"colour":"red"}`, 400, "colour"},
		{"POST", "/_fake/pets", ``, 400, "missing"},
		{"GET", "/_fake/pets/2", "", 404, "no animal"},
		{"GET", "/_fake/pets/x", "", 404, "no animal"},
		{"PUT", "/_fake/pets/1/status", `{"status":"gone"}`, 400, "status"},
		{"PUT", "/_fake/pets/1/status", `{}`, 400, "status is missing"},
		{"PUT", "/_fake/pets/2/status", `{"status":"sold"}`, 404, "no animal"},
		{"DELETE", "/_fake/pets/2", "", 404, "no animal"},
	} {
		w := i.call(c.method, c.path, c.body)
		assert.Equal(t, c.status, w.Code, "%s %s %.80s: %s", c.method, c.path, c.body, w.Body)
		assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
		assert.Contains(t, w.Body.String(), `{"error":"`)
		assert.Contains(t, w.Body.String(), c.reason, "%s %s %.80s", c.method, c.path, c.body)
	}
}

func TestEveryAdminRouteRefusesOtherMethodsWithAllow(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	allowed := make(map[string]map[string]bool)
	for _, r := range i.routes() {
		path := strings.ReplaceAll(r.Path, "{id}", "1")
		if allowed[path] == nil {
			allowed[path] = make(map[string]bool)
		}
		allowed[path][r.Method] = true
	}
	for path, methods := range allowed {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			if methods[method] {
				continue
			}
			w := i.call(method, path, "")
			assert.Equal(t, http.StatusMethodNotAllowed, w.Code, "%s %s", method, path)
			for allow := range methods {
				assert.Contains(t, w.Header().Get("Allow"), allow)
			}
			assert.True(t, json.Valid(w.Body.Bytes()))
		}
	}
}

func TestAdminRequestsAreNeitherCountedNorFaultedNorInTheJournal(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t, "-plan", "enterprise:1,1", "-fault", "status=503,times=forever", "-log", "text")
	for range 3 {
		assert.Equal(t, 200, i.status("GET", "/_fake/keys", ""))
		r := request(t, "GET", "/_fake/pets", "")
		r.Header.Set("Authorization", "Bearer fake-api-key")
		assert.Equal(t, 200, i.send(r).Code)
	}
	assert.Empty(t, i.srv.Requests())
	assert.Zero(t, i.srv.Usage("fake-api-key").Minute)
	assert.Empty(t, i.stderr.String())
	assert.Equal(t, 503, i.status("GET", "/v1/pets", ""))
}

func TestPathsBesideTheAdminRoutesBelongToTheService(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	for _, path := range []string{"/", "/_fakes", "/v1/../_fake/reset", "//v1/pets", "/favicon.ico"} {
		assert.Equal(t, http.StatusNotFound, i.status("GET", path, ""), path)
	}
	assert.Len(t, i.srv.Requests(), 5)
	assert.Equal(t, http.StatusOK, i.status("HEAD", "/_fake/", ""))
	assert.Contains(t, []int{301, 307}, i.status("GET", "/_fake", ""))
}

func TestResetStartsAfreshAndKeepsKeysAndClock(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t, "-seed", writeFile(t, `[{"name":"Rex","categoryId":1}]`))
	i.object("POST", "/_fake/keys", `{"key":"second-key","plan":"free"}`)
	i.object("POST", "/_fake/faults", `{"status":503,"times":"forever"}`)
	i.object("POST", "/_fake/clock", `{"advance":"1h"}`)
	i.object("POST", "/_fake/pets", `{"name":"Mimi","categoryId":1}`)
	i.object("PUT", "/_fake/keys/2/ban", `{"duration":"1h"}`)
	assert.Equal(t, 503, i.status("GET", "/v1/pets", ""))
	assert.Equal(t, 204, i.status("DELETE", "/_fake/requests", ""))

	assert.Equal(t, 204, i.status("POST", "/_fake/reset", ""))
	assert.Equal(t, 200, i.callAs("second-key", "GET", "/v1/pets", "").Code)
	assert.Empty(t, list(t, i.object("GET", "/_fake/faults", ""), "faults"))
	assert.Len(t, list(t, i.object("GET", "/_fake/requests", ""), "requests"), 1)
	assert.Len(t, list(t, i.object("GET", "/_fake/pets", ""), "pets"), 1)
	assert.Equal(t, "1h0m0s", i.object("GET", "/_fake/clock", "")["advanced"])
}
