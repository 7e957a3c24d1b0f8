package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

const theKey = "fake-api-key"

func TestKeys(t *testing.T) {
	i := newTestInstance(t, "-key", `key=first-key-0001,plan={"perMinute":1}`, "-key", "second-key", "-plan", "free")
	assert.Equal(t, []int{200, 429, 200, 401}, i.list("first-key-0001", "first-key-0001", "second-key", theKey), "plans of the flags")
	i.admin("GET keys", "", 200, `{"keys":[{"id":1,"key":"first-key-0001","usage":{"plan":{"perMinute":1,"perDay":0}`, `"perMinute":60`)

	i.admin("POST keys", "team-key-000001", 200, `"id":3,"key":"team-key-000001","usage":{"plan":{"perMinute":60,`)
	i.admin("POST keys", `[{"key":"other-key-0001","plan":"pro"},{"key":"fourth-key"}]`, 200, `"id":4`, `"perMinute":300`, `"id":5`)
	i.admin("PATCH keys/3", "ban=10m", 200, `"bannedUntil":"2`)
	i.admin("PATCH keys/3", `{"ban":"0s","plan":"pro"}`, 200, `"perMinute":300`)
	assert.Equal(t, []int{200}, i.list("team-key-000001"))
	i.admin("PATCH keys/3", "minute=60", 200, `"minute":60,"day":1`)
	i.admin("POST clock", "advance=1m", 200)
	i.admin("PATCH keys/3", "day=1000", 200, `"minute":0,"day":1000`)
	i.admin("PATCH keys/3", "revoked=true", 200, `"revoked":true`)
	i.admin("PATCH keys/3", "revoked=false", 400, "revoked can only be true")
	i.admin("POST keys", "key=team-key-000001", 200, `"id":5`)
	assert.Equal(t, []int{200}, i.list("team-key-000001"), "it is valid again")

	i.admin("PATCH keys/3", "minute=-1", 400, "at least 0")
	i.admin("PATCH keys/3", "ban=-1m", 400, "at least 0")
	i.admin("PATCH keys/3", "hour=1", 400, "hour: there is no such field")
	i.admin("PATCH keys/3", "plan=gold", 400, `plan: there is no plan \"gold\"`)
	i.admin("PATCH keys/9", "minute=1", 400, "no key")
}

func TestFaults(t *testing.T) {
	i := newTestInstance(t)
	i.admin("POST faults", "status = 503, times=2,operation = listPets ", 200, `"applied":0,"fault":{"operation":"listPets","times":2,"status":503},"id":1`)
	i.admin("POST faults", `[{"wire":"stall","apiKey":"some-other-key"},{"delay":"1m30s"}]`, 200, `"id":2`, `"delay":"1m30s"`, `"id":3`)
	assert.Equal(t, []int{503}, i.list(theKey))
	i.admin("DELETE faults/3", "", 204)
	i.admin("DELETE faults/3", "", 400, "there is no fault with this id")
	assert.Equal(t, []int{503}, i.list(theKey))
	i.admin("GET faults", "", 200, `"active":false,"applied":2,`, `"active":true,"applied":0,`, `"id":2}]}`)
	i.admin("DELETE faults", "", 204)
	i.admin("GET faults", "", 200, `{"faults":[]}`)
	for body, problem := range map[string]string{
		`{"statu":503}`:         `no field \"statu\"`,
		"status=none":           "status: it must be of the type integer",
		`[{},{"delay":"soon"}]`: `1.delay: time: invalid duration \"soon\"`,
		"wire=login":            `login`,
		`{"status"`:             "it is not JSON",
		"":                      "it must be of the type object",
		"null":                  "it must be of the type object",
	} {
		i.admin("POST faults", body+"  ", 400, problem)
	}
	assert.Equal(t, []int{200}, i.list(theKey))
}

func TestPets(t *testing.T) {
	i := newTestInstance(t, "-pets", writeFile(t, `[{"name":"Rex","categoryId":1}]`))
	i.admin("POST pets", "name=Mia,categoryId=9223372036854775807", 200, `"id":2`)
	i.admin("POST pets", `[{"name":"<img>","categoryId":0},{"name":"Coco","categoryId":2,"status":"sold"}]`, 200, `{"pets":[{"id":3,`, `{"id":4,`, `"status":"sold"}]}`)
	i.admin("POST pets", `[{"name":"a","categoryId":1},{"name":5}]`, 400, "1.name: it must be of the type string")
	i.admin("GET pets", "", 200, `"categoryId":9223372036854775807`, `"name":"\u003cimg\u003e"`, `"total":4}`)
	i.admin("POST reset", "", 204)
	i.admin("GET pets", "", 200, `{"pets":[{"id":1,"name":"Rex","categoryId":1}],"total":1}`)
}

func TestRequests(t *testing.T) {
	i := newTestInstance(t)
	i.call(theKey, "POST", "/v1/pets", `{"name":"Zoë Zoë","categoryId":1}`)
	i.call("", "GET", "/v1/nothing", "")
	i.admin("GET requests", "", 200, `"body":"{\"name\":\"Zoë Zoë\",\"categoryId\":1}"`, `"Authorization":["Bearer [redacted]"]`,
		`"key":"fake-api-key","keyId":1,"method":"POST","operation":"createPet"`, `"response":"{\"id\":1,`, `"X-Ratelimit-Remaining":["999"]`,
		`"seq":1,"status":201,"time":"2`, `"seq":2,"status":404`, `"total":2}`)
	i.admin("GET requests?limit=1", "", 200, `{"requests":[{"body":"","durationMs":`, `"hint":"`, `"seq":2`, `"total":2}`)
	i.admin("GET requests?text=status:4xx+-key:none", "", 200, `{"requests":[],"total":0}`)
	i.admin("GET requests?limit=0", "", 400, "limit")
	i.call(theKey, "GET", "/v1/pets/1", "")
	i.admin("GET violations", "", 200, `"rule":"deprecated-operation","section":"4.3","seq":3}]}`)
	i.admin("DELETE requests", "", 204)
	i.admin("GET requests", "", 200, `{"requests":[],"total":0}`)
	i.list(theKey)
	i.admin("GET requests", "", 200, `"seq":4`, `"total":1}`)
	i.admin("POST reset", "", 204)
	i.list(theKey)
	i.admin("GET requests", "", 200, `"seq":1`, `"total":1}`)
}

func TestClock(t *testing.T) {
	i := newTestInstance(t, "-clock", "2030-12-04T23:59:00Z")
	i.admin("POST clock", "advance=1m", 200, `"now":"2030-12-05T00:0`)
	i.admin("POST clock", `{"now":"2030-12-01T01:00:00+01:00"}`, 200, `"now":"2030-12-01T00:0`)
	i.admin("POST reset", "", 204)
	i.admin("GET clock", "", 200, `"now":"2030-12-04T23:59`)
	i.admin("POST clock", "now=tomorrow", 400, "now: ", "parsing")
	i.admin("GET clock", "", 200, `"now":"2030-12-04T23:59`)
}

// TestSettings checks settings whose effect is visible only in the responses of the service.
func TestSettings(t *testing.T) {
	i := newTestInstance(t, "-plan", `{"perMinute":1}`, "-minute", "2s", "-ban", "after=2,for=10m")
	assert.Equal(t, []int{200, 429}, i.list(theKey, theKey))
	i.admin("POST clock", "advance=2s", 200)
	assert.Equal(t, []int{200, 429, 429, 429}, i.list(theKey, theKey, theKey, theKey))
	i.admin("GET keys", "", 200, `"bannedUntil":"2`)
	i = newTestInstance(t, "-fault", "status=503,chance=0.5,times=-1", "-seed", "7")
	assert.Equal(t, []int{503, 200, 200, 200, 200, 503}, i.list(theKey, theKey, theKey, theKey, theKey, theKey))
}

func TestPaths(t *testing.T) {
	i := newTestInstance(t, "-fault", "status=503,times=-1")
	for path, status := range map[string]int{
		"/": 503, "/_fakes": 503, "/_fake/web/page.css": 200, "/v1/../_fake/reset": 503, "//v1/pets": 503, "/_fake/keys": 200, "/_fake/pets/": 404, "/_fake": 307,
	} {
		assert.Equal(t, status, i.call(theKey, "GET", path, "").Code, path)
	}
	i.admin("PUT faults", "", 404, "no admin route PUT /_fake/faults; GET /_fake/ lists them")
	i.admin("GET requests", "", 200, `"total":4}`)
	i.admin("GET keys", "", 200, `"minute":0`)
}

// While nothing changes, a poll of the page gets 204. After a request, a change of the fake or five
// seconds, which move the chart, the next poll gets the page's new parts.
func TestChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newTestInstance(t, "-fault", "delay=3s")
		for n, step := range []func(){
			func() { go i.list(theKey) },              // a request has arrived
			func() { time.Sleep(3 * time.Second) },    // it has its response
			func() { i.admin("POST reset", "", 204) }, // the fake has changed
			func() { time.Sleep(5 * time.Second) },    // the chart moves
		} {
			page := i.call("", "GET", "/_fake/page", "").Body.String()
			version := regexp.MustCompile(`data-version="([^"]+)"`).FindStringSubmatch(page)[1]
			i.admin("GET page?version="+version, "", 204)
			step()
			synctest.Wait()
			assert.Equal(t, 200, i.call("", "GET", "/_fake/page?version="+version, "").Code, n)
		}
	})
}

func TestFront(t *testing.T) {
	i := newTestInstance(t)
	r := request(t, http.MethodGet, "/_fake/", "")
	r.Header.Set("Accept", "Text/HTML; q=0.5, */*")
	h := i.send(r).Header()
	assert.Equal(t, []string{"text/html; charset=utf-8", "Accept"}, []string{h.Get("Content-Type"), h.Get("Vary")})
	r.Header.Set("Accept", "*/*")
	assert.Equal(t, "application/json", i.send(r).Header().Get("Content-Type"))
	i.admin("GET ", "", 200, `"method":"POST","path":"/_fake/pets"`, `"categoryId":"integer","name":"string","status":"string"`,
		`"path":"/_fake/faults"`, `"body":"string"`, `"for":"duration such as 1m30s"`, `"wire":["reset","close",`)
}

// guarded sends a request with a Host and with headers in the form Name:value. It returns the
// status of the response.
func (i testInstance) guarded(method, path, host string, headers ...string) int {
	r := request(i.t, method, path, "")
	r.Host = host
	for _, text := range headers {
		name, value, _ := strings.Cut(text, ":")
		r.Header.Add(name, value)
	}
	w := i.send(r)
	assert.Empty(i.t, w.Header().Values("Access-Control-Allow-Origin"))
	return w.Code
}

// The browser sends a request of another site's page with this site as Origin. If DNS rebinding has
// made the name of the site resolve to a loopback address, the name is also in the Host header.
func TestGuard_otherSites(t *testing.T) {
	i := newTestInstance(t)
	const own = "127.0.0.1:4010"
	for _, c := range []struct {
		status  int
		host    string
		headers []string
	}{
		{204, own, nil},
		{204, own, []string{"Origin:http://127.0.0.1:4010", "Sec-Fetch-Site:same-origin"}},
		{204, "[::1]:4010", []string{"Origin:http://[::1]:4010"}},
		{204, "[::ffff:127.0.0.1]", nil},
		{403, own, []string{"Sec-Fetch-Site:cross-site"}},
		{403, own, []string{"Origin:http://127.0.0.1:3000", "Sec-Fetch-Site:same-site"}},
		{403, "evil.test:4010", []string{"Origin:http://evil.test:4010", "Sec-Fetch-Site:same-origin"}},
		{403, "127.0.0.1.evil.test", nil},
		{403, "192.0.2.1:4010", nil},
	} {
		assert.Equal(t, c.status, i.guarded("POST", "/_fake/reset", c.host, c.headers...), "%s %s", c.host, c.headers)
	}
	assert.Equal(t, 403, i.guarded("GET", "/%5Ffake/requests", "evil.test"))
	assert.Equal(t, 404, i.guarded("OPTIONS", "/_fake/reset", own, "Access-Control-Request-Method:POST"))
	assert.Equal(t, 401, i.guarded("GET", "/v1/pets", "evil.test"), "the service, which misses a key")
	assert.Equal(t, 200, i.guarded("GET", "/_fake/health", "evil.test"), "orchestrators call it by any name")
	h := i.call("", http.MethodGet, "/_fake/requests", "").Header()
	assert.Equal(t, []string{"nosniff", "same-origin", "no-store"},
		[]string{h.Get("X-Content-Type-Options"), h.Get("Cross-Origin-Resource-Policy"), h.Get("Cache-Control")})
}

func TestGuard_public(t *testing.T) {
	named := newTestInstance(t, "-addr", "docker.test:4010", "-public=Fake.test,other")
	plain := newTestInstance(t, "-addr", ":4010", "-public")
	for host, want := range map[string][2]int{
		"127.0.0.1:4010": {200, 200}, "[2001:db8::1]:80": {200, 200}, "FAKE.test:4010": {200, 403},
		"docker.test": {200, 403}, "evil.test": {403, 403}, "": {403, 403},
		"LOCALHOST.:1": {200, 200}, "fake.localhost": {200, 200}, "localhost.test": {403, 403},
	} {
		got := [2]int{named.guarded("GET", "/_fake/", host), plain.guarded("GET", "/_fake/", host)}
		assert.Equal(t, want, got, host)
	}
}

// The log has a line for each request to the service, and none for a request to an admin route.
func TestLog(t *testing.T) {
	i := newTestInstance(t, "-log", "json")
	assert.Equal(t, 201, i.call(theKey, "POST", "/v1/pets?key=other-key", `{"name":"Rex","categoryId":1}`).Code)
	i.call("other-key", "GET", "/v1/pets/1", "")
	i.admin("GET keys", "", 200)
	line := `{"time":"2[^"]+","level":"INFO","msg":"request","method":"%s","path":"%s","status":%d,"duration_ms":[\d.e-]+}` + "\n"
	assert.Regexp(t, "^"+fmt.Sprintf(line+line, "POST", "/v1/pets", 201, "GET", "/v1/pets/1", 401)+"$", i.stderr.rest())
	for wire, status := range map[string]string{"reset": "0", "garbage": "0", "truncate": "200", "login-page": "200"} {
		r := start(t, "-log", "text", "-fault", "wire="+wire)
		_, err := call(t, r.host, "GET", "/v1/pets")
		assert.Equal(t, wire == "garbage", err != nil && strings.Contains(err.Error(), "malformed HTTP"), wire)
		assert.Contains(t, <-r.output, "level=INFO msg=request method=GET path=/v1/pets status="+status+" ", wire)
	}
}
