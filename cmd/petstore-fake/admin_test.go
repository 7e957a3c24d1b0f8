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
			[]string{"-key", `key=first-key-0001,plan={"perMinute":1}`, "-key", "second-key", "-plan", "free"}, `
			first-key-0001 GET /v1/pets => 200
			first-key-0001 GET /v1/pets => 429
			second-key GET /v1/pets => 200
			GET /v1/pets => 401
			GET /_fake/keys => 200 ^{"keys":\[{"id":1,"key":"first-key-0001","usage":{"plan":{"perMinute":1,"perDay":0},.*"id":2,"key":"second-key",.*"perMinute":60`,
		},
		"keys are added, banned, put on another plan, used up and revoked": {nil, `
			team-key-000001 GET /v1/pets => 401
			POST /_fake/keys {"key":"team-key-000001","plan":{"perMinute":5}} => 200 "id":2,"key":"team-key-000001"
			team-key-000001 GET /v1/pets => 200
			PATCH /_fake/keys/2 ban=10m => 200 "minute":1,.*"bannedUntil":"2
			team-key-000001 GET /v1/pets => 429
			PATCH /_fake/keys/2 ban=0s => 200 "limited":1}}
			team-key-000001 GET /v1/pets => 200
			PATCH /_fake/keys/2 {"plan":"free","minute":60} => 200 "perMinute":60.*"minute":60,"day":2
			team-key-000001 GET /v1/pets => 429 60 requests per minute
			POST /_fake/clock advance=1m => 200
			PATCH /_fake/keys/2 day=1000 => 200 "minute":0,"day":1000
			team-key-000001 GET /v1/pets => 429 1000 requests per day
			PATCH /_fake/keys/2 revoked=true => 200 "revoked":true
			team-key-000001 GET /v1/pets => 401
			POST /_fake/keys ["team-key-000001","third-key-0001"] => 200 "revoked":false.*"id":3
			team-key-000001 GET /v1/pets => 200
			PATCH /_fake/keys/2 minute=-1 => 400 at least 0
			PATCH /_fake/keys/2 hour=1 => 400 no field \\"hour\\"
			PATCH /_fake/keys/2 plan=gold => 400 plan: there is no plan \\"gold\\"
			PATCH /_fake/keys/9 minute=1 => 404 no key`,
		},
		"faults are injected, listed and removed": {nil, `
			POST /_fake/faults status=503,times=2,operation=listPets => 200 "fault":{"operation":"listPets","times":2,"status":503.*"fired":0,"id":1
			POST /_fake/faults [{"wire":"stall","apiKey":"some-other-key"},{"delay":"1m30s"}] => 200 "id":2.*"delay":"1m30s".*"id":3
			GET /v1/pets => 503
			DELETE /_fake/faults/3 => 204
			GET /v1/pets => 503
			GET /_fake/faults => 200 "active":false,.*"fired":2,"id":1.*"active":true,.*"fired":0,"id":2}\]}
			DELETE /_fake/faults => 204
			GET /_fake/faults => 200 ^{"faults":\[\]}
			POST /_fake/faults {"statu":503} => 400 there is no field \\"statu\\"
			POST /_fake/faults status=none => 400 status: \\"none\\" is not of the type int
			POST /_fake/faults wire=reset,status=1000 => 400 between 200 and 999
			POST /_fake/faults {"status" => 400 it is not JSON
			POST /_fake/faults => 400 not of the type
			GET /v1/pets => 200`,
		},
		"pets are added all or none, and escaped": {nil, `
			POST /_fake/pets name=Rex,categoryId=9223372036854775807 => 200 "id":1
			GET /v1/pets => 200 9223372036854775807
			POST /_fake/pets [{"name":"<img>","categoryId":1},{"name":"Coco","categoryId":2,"status":"sold"}] => 200 ^{"pets":\[{"id":2,.*{"id":3,.*"status":"sold"}\]}
			POST /_fake/pets [{"name":"a","categoryId":1},{"name":5}] => 400 1.name: 5 is not
			POST /_fake/pets {"name":"Rex","categoryId":1,"colour":"red"} => 400 colour
			GET /_fake/pets => 200 ^{"pets":\[{"id":1,.*"name":"\\u003cimg\\u003e",.*"Coco".*\],"total":3}`,
		},
		"the journal shows request and response": {nil, `
			POST /v1/pets {"name":"Zoë Zoë","categoryId":1} => 201
			GET /v1/nothing => 404
			GET /_fake/requests/1 => 200 ^{"body":"{\\"name\\":\\"Zoë Zoë\\",\\"categoryId\\":1}","curl":"curl .*http://127.0.0.1:4010/v1
			GET /_fake/requests/1 => 200 "Authorization":\["Bearer \[redacted\]"\].*"key":"fake-api-key","keyId":1,"method":"POST","operation":"createPet"
			GET /_fake/requests/1 => 200 "response":"{\\"id\\":1,.*}",.*"X-Ratelimit-Remaining":\["999"\].*},"seq":1,"status":201,"time":"2
			GET /_fake/requests/3 => 404 no request
			GET /_fake/requests => 200 ^{"total":2,.*"seq":1,.*"hint":".*section 4.*"seq":2,.*\]}
			GET /_fake/requests?text=status:4xx+-key:none&limit=1 => 200 ^{"total":1,.*"seq":2,
			GET /_fake/requests?text=status:4y => 400 status:4y must be
			GET /_fake/requests?limit=0 => 400 limit
			GET /_fake/requests?colour=red => 400 "?colour
			GET /v1/pets/1 => 200
			GET /_fake/violations => 200 ^{"violations":\[{.*,"rule":"deprecated-operation","section":"4.3","seq":3}\]}
			DELETE /_fake/requests => 204
			GET /_fake/requests => 200 ^{"total":0,"requests":\[\]}
			GET /v1/pets => 200
			GET /_fake/requests => 200 ^{"total":1,.*"seq":4,`,
		},
		"the clock starts at the time of the flag, also after a reset": {[]string{"-clock", "2030-12-04T23:59:00Z", "-variant", "removal=true"}, `
			POST /v1/pets {"name":"Rex","categoryId":1} => 201
			GET /v1/pets/1 => 200
			POST /_fake/clock advance=1m => 200 "now":"2030-12-05T00:0
			GET /v1/pets/1 => 404
			POST /_fake/clock {"now":"2030-12-01T01:00:00+01:00"} => 200 "now":"2030-12-01T00:0
			POST /_fake/reset => 204
			GET /_fake/clock => 200 "now":"2030-12-04T23:59
			POST /_fake/clock now=2292-01-01T00:00:00Z => 400 1970 to 2291
			POST /_fake/clock advance=-876001h => 400 1970 to 2291
			POST /_fake/clock now=tomorrow => 400 now: parsing`,
		},
		"the minute is as long as the flag says": {[]string{"-plan", `{"perMinute":1}`, "-minute", "2s"}, `
			GET /v1/pets => 200
			GET /v1/pets => 429
			POST /_fake/clock advance=2s => 200
			GET /v1/pets => 200`,
		},
		"the same faults strike with the same seed": {[]string{"-fault", "status=503,chance=0.5,times=-1", "-random-seed", "7"}, `
			GET /v1/pets => 503
			GET /v1/pets => 200
			GET /v1/pets => 200
			GET /v1/pets => 200
			GET /v1/pets => 200
			GET /v1/pets => 503`,
		},
		"bans come after so many requests": {[]string{"-plan", `{"perMinute":1}`, "-ban", "after=2,for=10m"}, `
			GET /v1/pets => 200
			GET /v1/pets => 429
			GET /v1/pets => 429
			GET /v1/pets => 429 banned`,
		},
		"admin requests are neither counted nor faulted, and other paths are the service's": {[]string{"-fault", "status=503,times=-1"}, `
			GET /_fake/keys => 200 "minute":0
			GET /_fake/requests => 200 "total":0
			GET / => 503
			GET /_fakes => 503
			GET /v1/../_fake/reset => 503
			GET //v1/pets => 503
			GET /_fake/requests => 200 "total":4
			PUT /_fake/faults => 404 no admin route PUT /_fake/faults; GET /_fake/ lists them
			GET /_fake => 307`,
		},
	} {
		t.Run(name, func(t *testing.T) { newTestInstance(t, c.args...).script(c.script) })
	}
}

func TestAdminRoutes_large(t *testing.T) {
	i := newTestInstance(t)
	assert.Equal(t, http.StatusRequestEntityTooLarge, i.call("", "POST", "/_fake/clock", strings.Repeat(" ", 1<<20)+"advance=1m").Code)
}

func TestReset(t *testing.T) {
	i := newTestInstance(t, "-seed", writeFile(t, `[{"name":"Rex","categoryId":1}]`), "-fault", "status=500,operation=createPet", "-log", "text")
	state := func() (all string) {
		for _, path := range []string{"keys", "faults", "pets", "requests", "violations", "clock"} {
			all += i.call("", "GET", "/_fake/"+path, "").Body.String()
		}
		return regexp.MustCompile(`-\d\d-\d\dT\d\d:\d\d:[\d.]+Z`).ReplaceAllString(all, "") // the clock goes on
	}
	start := state()
	i.script(`
		POST /_fake/keys second-key => 200
		GET /v1/pets/1 => 200
		PATCH /_fake/keys/1 plan=free,ban=1h => 200
		POST /_fake/faults status=503,times=-1 => 200
		POST /_fake/clock advance=8760h => 200
		POST /_fake/pets {"name":"Mimi","categoryId":1} => 200
		POST /v1/pets {"name":"Rex","categoryId":1} => 500
		GET /v1/pets => 503`)
	require.NotEqual(t, start, state())
	i.script(`POST /_fake/reset => 204`)
	assert.Equal(t, start, state(), "everything is as it was at the start")
	i.script(`second-key GET /v1/pets => 401`)
	assert.Equal(t, 2, strings.Count(i.stderr.String(), " seq=1 "), "the log goes on with the first request")
}

func TestFront(t *testing.T) {
	i := newTestInstance(t)
	for accept, html := range map[string]bool{"": false, "*/*": false, "application/json": false, "Text/HTML; q=0.5, */*": true} {
		r := request(t, "GET", "/_fake/", "")
		r.Header.Set("Accept", accept)
		w := i.send(r)
		assert.Equal(t, html, strings.HasPrefix(w.Header().Get("Content-Type"), "text/html"), accept)
		assert.Equal(t, "Accept", w.Header().Get("Vary"))
		if html {
			continue
		}
		var index struct {
			Routes []struct {
				Method, Path string
				Send         map[string]any
			}
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &index))
		for _, r := range index.Routes {
			if r.Method+r.Path == "POST/_fake/faults" {
				assert.Equal(t, "duration such as 1m30s", r.Send["for"])
				assert.Contains(t, r.Send["wire"], "login-page")
			}
		}
	}
}
