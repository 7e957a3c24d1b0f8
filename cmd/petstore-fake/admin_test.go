package main

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each script runs against a new instance that has this command line.
func TestAdminRoutes(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		script string
	}{
		"keys of the flag have their plans and come first": {
			[]string{"-key", "first-key-0001=enterprise:1,0", "-key", "second-key", "-plan", "free"}, `
			first-key-0001 GET /v1/pets => 200
			first-key-0001 GET /v1/pets => 429
			second-key GET /v1/pets => 200
			GET /v1/pets => 401
			GET /_fake/keys => 200 ^{"keys":\[{"id":1,"key":"fir… #1","plan":"enterprise:1,0".*"id":2,"key":"… #2","plan":"free"`,
		},
		"keys are added, banned, put on another plan and revoked": {nil, `
			team-key-000001 GET /v1/pets => 401
			POST /_fake/keys team-key-000001=enterprise:5,0 => 201 "id":2,"key":"tea… #2"
			team-key-000001 GET /v1/pets => 200
			GET /_fake/keys/2 => 200 "plan":"enterprise:5,0","revoked":false,"minute":{"used":1,"limit":5,"reset":.*"day":{"used":1,"limit":0,"reset":.*},"limited":0
			PUT /_fake/keys/2/ban 10m => 200 "bannedUntil":"\d+
			team-key-000001 GET /v1/pets => 429
			GET /_fake/keys/2 => 200 "limited":1
			PUT /_fake/keys/2/ban 0s => 200 Z"},"limited":1
			team-key-000001 GET /v1/pets => 200
			PUT /_fake/keys/2/plan Free => 200 "plan":"free"
			DELETE /_fake/keys/2 => 200 "revoked":true
			team-key-000001 GET /v1/pets => 401
			POST /_fake/keys team-key-000001=pro => 201 "revoked":false
			team-key-000001 GET /v1/pets => 200
			GET /_fake/keys => 200 "id":1,"key":"fake-api-key".*"id":2`,
		},
		"a key's usage is set": {[]string{"-plan", "free"}, `
			PUT /_fake/keys/1/usage minute=60 => 200 "minute":{"used":60,"limit":60,.*"day":{"used":0,
			GET /v1/pets => 429 60 requests per minute
			POST /_fake/clock 1m => 200
			PUT /_fake/keys/1/usage day=1000 => 200 "minute":{"used":0,.*"day":{"used":1000,"limit":1000
			GET /v1/pets => 429 1000 requests per day
			PUT /_fake/keys/1/usage minute=0,day=999 => 200
			GET /v1/pets => 200
			PUT /_fake/keys/1/usage minute=-1 => 400 minute=60,day=1000
			PUT /_fake/keys/1/usage hour=1 => 400 minute=60,day=1000
			PUT /_fake/keys/2/usage minute=1 => 404 no key`,
		},
		"faults are injected, listed, injected again and removed": {nil, `
			POST /_fake/faults status=503,times=2,operation=listPets => 201 ^{"faults":\[{"id":1,"fault":"status=503, operation=listPets, times=2","fired":0,"active":true}\]}
			POST /_fake/faults wire=stall,for=1h,key=some-other-key => 201 "fault":"wire=stall, key=#0, for=1h","fired":0,"active":true,"until":"2
			GET /v1/pets => 503
			GET /_fake/faults => 200 "id":1,.*"fired":1,"active":true.*"fired":0,
			GET /v1/pets => 503
			GET /_fake/faults => 200 "fired":2,"active":false
			DELETE /_fake/faults/2 => 204
			POST /_fake/faults/1 => 201 "id":3,"fault":"status=503, operation=listPets, times=2","fired":0
			GET /v1/pets => 503
			DELETE /_fake/faults => 204
			POST /_fake/faults/1 => 404 \\"1\\"
			GET /_fake/faults => 200 ^{"faults":\[\]}
			GET /v1/pets => 200`,
		},
		"faults name a key by its id": {nil, `
			POST /_fake/keys second-key-0001=free => 201
			POST /_fake/faults status=503,key=#2 => 201
			GET /v1/pets => 200
			second-key-0001 GET /v1/pets => 503
			POST /_fake/faults status=503,key=#0 => 404 no key with this id
			POST /_fake/faults status=503,key=#3 => 404 no key with this id
			POST /_fake/faults status=503,key=#second-key-0001 => 404 ^{"error":"key: there is no key with this id; GET /_fake/keys lists the ids"}
			POST /_fake/keys #1=free => 400 bearer token
			POST /_fake/faults?key=2 status=503 => 400 no parameter`,
		},
		"a request is sent again, and is no client's": {[]string{"-plan", "enterprise:1,0", "-strict"}, `
			GET /v1/pets?limit=3 => 200
			GET /v1/pets => 429
			POST /_fake/requests/2/repeat => 201 ^{"seq":3}
			GET /_fake/requests/3 => 200 "repeats":2,.*"seq":3,
			GET /_fake/violations => 200 ^{"violations":\[\]}
			POST /_fake/requests/9/repeat => 404 no request
			POST /_fake/faults wire=refuse,for=1h => 201
			POST /_fake/requests/1/repeat => 409 refused`,
		},
		"pets are added all or none, and escaped": {nil, `
			POST /_fake/pets {"name":"Rex","categoryId":9223372036854775807} => 201 "id":1
			GET /v1/pets => 200 9223372036854775807
			POST /_fake/pets [{"name":"<img onerror=alert(1)>","categoryId":1},{"name":"Coco","categoryId":2,"status":"sold"}] => 201 ^{"pets":\[{"id":2,.*{"id":3,.*"status":"sold"}\]}
			POST /_fake/pets [{"name":"a","categoryId":1},{"name":""}] => 400
			GET /_fake/pets => 200 ^{"pets":\[{"id":1,.*"name":"\\u003cimg onerror=alert\(1\)\\u003e",.*"Coco".*\],"total":3}`,
		},
		"the journal shows request and response": {[]string{"-addr", "127.0.0.1:9"}, `
			POST /v1/pets {"name":"Zoë Zoë","categoryId":1} => 201
			GET /v1/nothing => 404
			GET /_fake/requests/1 => 200 ^{"body":"{\\"name\\":\\"Zoë Zoë\\",\\"categoryId\\":1}","bodyEncoding":"","curl":"curl .*http://127.0.0.1:4010/v1
			GET /_fake/requests/1 => 200 "durationMs":\d[\d.e-]*,"fault":"","header":{"Authorization":\["Bearer \[redacted\]"\].*},"hint":"","key":"fake-api-key","keyId":1,"method":"POST"
			GET /_fake/requests/1 => 200 "operation":"createPet","path":"/v1/pets","repeats":0,"response":"{\\"id\\":1,.*}","responseEncoding":"","responseHeader":{.*"X-Ratelimit-Remaining":\["999"\].*},"seq":1,"status":201,"time":"2
			GET /_fake/requests => 200 (?s)^{"total":2,"requests":\[{.*"seq":1,.*"hint":".*section 4.*"seq":2,.*\]}
			GET /_fake/requests/3 => 404 no request
			GET /_fake/requests/0 => 404 no request
			GET /_fake/requests/x => 404 no request
			GET /_fake/ => 200 "baseUrl":"http://127.0.0.1:4010/v1
			GET /v1/pets?page=2 => 200
			GET /_fake/violations => 200 ^{"violations":\[{.*,"rule":"unknown-name","section":"4","seq":3}\]}`,
		},
		"the journal is filtered and cleared": {nil, `
			GET /v1/pets => 200
			GET /v1/pets => 200
			GET /v1/pets/1 => 404
			GET /_fake/requests?text=status:4xx&limit=1 => 200 "total":1,.*"seq":3,
			GET /_fake/requests?text=since:1 => 200 (?s)"total":2,.*"seq":2,.*"seq":3,
			GET /_fake/requests?text=before:3+operation:listPets&limit=1 => 200 "total":2,.*"seq":2,
			GET /_fake/requests?text=since:2147483647 => 200 ^{"total":0,"requests":\[\]}
			DELETE /_fake/requests => 204
			GET /_fake/requests => 200 ^{"total":0,"requests":\[\]}
			GET /v1/pets => 200
			GET /_fake/requests => 200 ^{"total":1,.*"seq":4,`,
		},
		"the clock starts at the time of the flag": {[]string{"-clock", "2030-12-04T23:59:00Z", "-variant", "removal=on"}, `
			POST /v1/pets {"name":"Rex","categoryId":1} => 201
			GET /v1/pets/1 => 200
			POST /_fake/clock 1m => 200 "now":"2030-12-05T00:0
			GET /v1/pets/1 => 404
			PUT /_fake/clock 2030-12-01T01:00:00+01:00 => 200 "now":"2030-12-01T00:0
			GET /v1/pets/1 => 200
			PUT /_fake/clock 2030-12-05T00:00 => 200 "now":"2030-12-05T00:0
			POST /_fake/clock -24h => 200 "now":"2030-12-04T00:0`,
		},
		"the clock moves past a window": {[]string{"-plan", "enterprise:1,0"}, `
			GET /v1/pets => 200
			GET /v1/pets => 429
			GET /_fake/clock => 200 ^{"now":"2\d\d\d-.*Z"}
			POST /_fake/clock 1m => 200
			GET /v1/pets => 200
			PUT /_fake/clock 2291-12-31T23:59:59Z => 200
			POST /_fake/clock 1s => 400 the clock cannot go there
			POST /_fake/clock 876001h => 400 the clock
			GET /v1/pets => 200`,
		},
		"the minute is as long as the flag says": {[]string{"-plan", "enterprise:1,0", "-minute", "2s"}, `
			GET /v1/pets => 200
			GET /v1/pets => 429
			GET /_fake/requests/2 => 200 "Retry-After":\["[12]"\]
			POST /_fake/clock 2s => 200
			GET /v1/pets => 200`,
		},
		"the same faults strike with the same seed": {[]string{"-fault", "status=503,chance=0.5,times=forever", "-random-seed", "7"}, `
			GET /v1/pets => 503
			GET /v1/pets => 200
			GET /v1/pets => 200
			GET /v1/pets => 200
			GET /v1/pets => 200
			GET /v1/pets => 503`,
		},
		"bans come after so many requests": {[]string{"-plan", "enterprise:1,0", "-ban", "2,10m"}, `
			GET /v1/pets => 200
			GET /v1/pets => 429
			GET /v1/pets => 429
			GET /v1/pets => 429 banned`,
		},
		"admin requests are neither counted nor faulted": {
			[]string{"-plan", "enterprise:1,1", "-fault", "status=503,times=forever", "-log", "text"}, `
			GET /_fake/keys => 200 "used":0
			GET /_fake/pets => 200
			GET /_fake/keys => 200 "used":0
			GET /_fake/requests => 200 "total":0
			GET /v1/pets => 503`,
		},
		"all other paths are the service's": {nil, `
			GET / => 404
			GET /_fakes => 404
			GET /v1/../_fake/reset => 404
			GET //v1/pets => 404
			GET /_fake/requests => 200 "total":4
			HEAD /_fake/ => 200
			GET /_fake => 307`,
		},
		"wrong requests are refused with the reason": {nil, `
			POST /_fake/pets {"name":"Rex","categoryId":1} => 201
			GET /_fake/nothing => 404 GET /_fake/ lists them
			GET /_fake/requests?limit=0 => 400 limit
			GET /_fake/requests?limit=1&limit=2 => 400 twice
			GET /_fake/requests?colour=red => 400 "colour\\"
			GET /_fake/requests?text=fault:perhaps+since:-1 => 400 fault is .*; since
			GET /_fake/requests?a=%zz => 400 query
			PUT /_fake/clock tomorrow => 400 2030-12-05T00:00:00Z
			POST /_fake/clock 2562047h => 400 the clock
			POST /_fake/clock 60 => 400 not a duration
			PUT /_fake/faults => 404 no admin route PUT /_fake/faults; GET /_fake/ lists them
			POST /_fake/faults wire=reset;status=1000 => 400 between 200 and 999
			GET /_fake/faults => 200 ^{"faults":\[\]}
			DELETE /_fake/faults/9 => 404 \\"9\\"
			POST /_fake/keys schlüssel => 400 bearer token
			GET /_fake/keys/2 => 404 no key
			GET /_fake/keys/0 => 404 no key
			PUT /_fake/keys/9/plan pro => 404 no key
			PUT /_fake/keys/1/plan no-such-plan => 400 plan
			PUT /_fake/keys/1/ban -1s => 400 at least 0
			POST /_fake/pets {"name":"Rex"} => 400 categoryId
			POST /_fake/pets {"name":"Rex","categoryId":1,"colour":"red"} => 400 colour
			POST /_fake/pets [{"name":"a","categoryId":1},{"name":"b"}] => 400 pet 2 of 2
			POST /_fake/pets => 400 not JSON`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := newTestInstance(t, c.args...)
			i.script(c.script)
			assert.LessOrEqual(t, strings.Count(i.stderr.String(), "\n"), 1)
		})
	}
}

func TestAdminRoutes_large(t *testing.T) {
	i := newTestInstance(t)
	body := strings.Repeat(" ", 1<<20) + "1m"
	assert.Equal(t, http.StatusRequestEntityTooLarge, i.call("POST", "/_fake/clock", body).Code)
	i.call("POST", "/v1/pets", "\xff\xfe") // bytes that are not text
	assert.Contains(t, i.call("GET", "/_fake/requests/1", "").Body.String(), `"body":"//4=","bodyEncoding":"base64"`)
}

func TestAdminRoutes_hideKeys(t *testing.T) {
	i := newTestInstance(t, "-key", "operator-secret", "-fault", "key=other-secret-key,status=500")
	i.script(`
		POST /_fake/keys short=pro => 201
		operator-secret GET /v1/pets?key=operator-secret => 200
		GET /_fake/requests?text=key:operator-secret => 400 GET /_fake/keys lists the keys
		GET /_fake/keys/operator-secret => 404 GET /_fake/keys lists the ids`)
	paths := []string{"/_fake/requests?text=key:operator-secret", "/_fake/keys/operator-secret"}
	for _, r := range i.routes() {
		if r.Method == http.MethodGet {
			paths = append(paths, strings.ReplaceAll(r.Path, "{id}", "1"))
		}
	}
	for _, path := range paths {
		text := i.call("GET", path, "").Body.String()
		for _, key := range []string{"operator-secret", "other-secret-key", `"short"`} {
			assert.NotContains(t, text, key, path)
		}
	}
}

func TestReset(t *testing.T) {
	seed := writeFile(t, `[{"name":"Rex","categoryId":1}]`)
	i := newTestInstance(t, "-seed", seed, "-plan", "free", "-clock", "2030-01-01T00:00:00Z", "-fault", "status=500,operation=createPet")
	state := func() (all string) {
		for _, path := range []string{"keys", "faults", "pets", "requests", "violations", "clock"} {
			all += i.call("GET", "/_fake/"+path, "").Body.String()
		}
		return regexp.MustCompile(`-\d\d-\d\dT\d\d:\d\d:[\d.]+Z`).ReplaceAllString(all, "") // the clock goes on
	}
	start := state()
	i.script(`
		POST /_fake/keys second-key=free => 201
		GET /v1/pets?page=2 => 200
		GET /_fake/violations => 200 unknown-name
		PUT /_fake/keys/1/plan enterprise:5,5 => 200
		PUT /_fake/keys/1/ban 1h => 200
		POST /_fake/faults status=503,times=forever => 201
		POST /_fake/clock 8760h => 200
		POST /_fake/pets {"name":"Mimi","categoryId":1} => 201
		POST /v1/pets {"name":"Rex","categoryId":1} => 500
		GET /v1/pets => 503`)
	require.NotEqual(t, start, state())
	i.script(`POST /_fake/reset => 204`)
	assert.Equal(t, start, state(), "everything is as it was at the start")
	i.script(`
		second-key GET /v1/pets => 401
		POST /v1/pets {"name":"Rex","categoryId":1} => 500`)
}

func TestFront(t *testing.T) {
	i := newTestInstance(t)
	for accept, html := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "text/*": false, "application/json, ,,;=": false,
		"text/html": true, "Text/HTML; q=0.5, */*": true,
	} {
		r := request(t, "GET", "/_fake/", "")
		r.Header.Set("Accept", accept)
		w := i.send(r)
		assert.Equal(t, http.StatusOK, w.Code, accept)
		assert.Equal(t, html, strings.HasPrefix(w.Header().Get("Content-Type"), "text/html"), accept)
		assert.Equal(t, !html, json.Valid(w.Body.Bytes()), accept)
		assert.Equal(t, "Accept", w.Header().Get("Vary"))
	}
}

// The page shows each change that an admin route makes.
func TestPage_changes(t *testing.T) {
	i := newTestInstance(t)
	version := regexp.MustCompile(`data-version="(\d+)"`).FindStringSubmatch(i.call("GET", "/_fake/page", "").Body.String())
	path := "/_fake/page?version=" + version[1]
	i.script(`
		GET /_fake/keys => 200
		GET ` + path + ` => 204
		POST /_fake/clock 1m => 200
		GET ` + path + ` => 200 id="list"`)
}
