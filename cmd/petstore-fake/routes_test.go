package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/adminapi"
	"github.com/petstore/petstore-go/fake"
)

func TestJournalListsRequestAndResponse(t *testing.T) {
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
}

func TestJournalHasBinaryBodiesAsBase64(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	i.call("POST", "/v1/pets", "\xff\xfe")
	entry := list(t, i.object("GET", "/_fake/requests", ""), "requests")[0]
	assert.Equal(t, "//4=", entry["bodyBase64"])
	assert.Empty(t, entry["body"])
}

func TestJournalFilters(t *testing.T) {
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
		"?limit=2":                         {4, 5},
		"?limit=1&operation=listPets":      {3},
		"?status=0":                        {},
		"?operation=getPet&status=200":     {4},
		"?operation=createPet&status=400":  {},
		"?since=2147483647&operation=none": {},
	} {
		got := []int{}
		for _, r := range list(t, i.object("GET", "/_fake/requests"+query, ""), "requests") {
			got = append(got, int(r["seq"].(float64)))
		}
		assert.Equal(t, want, got, query)
	}
	assert.EqualValues(t, 5, i.object("GET", "/_fake/requests?limit=1", "")["total"])

	assert.Equal(t, 204, i.status("DELETE", "/_fake/requests", ""))
	assert.Empty(t, list(t, i.object("GET", "/_fake/requests", ""), "requests"))
	i.call("GET", "/v1/pets", "")
	requests := list(t, i.object("GET", "/_fake/requests", ""), "requests")
	require.Len(t, requests, 1)
	assert.EqualValues(t, 6, requests[0]["seq"])
}

func TestViolationsRoute(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	i.call("GET", "/v1/pets?page=2", "")
	violations := list(t, i.object("GET", "/_fake/violations", ""), "violations")
	require.Len(t, violations, 1)
	assert.Equal(t, fake.RuleUnknownParameter, violations[0]["rule"])
	assert.EqualValues(t, 1, violations[0]["seq"])
}

func TestClockAdvancesPastAWindow(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t, "-plan", "enterprise:1,0")
	assert.Equal(t, 200, i.status("GET", "/v1/pets", ""))
	assert.Equal(t, 429, i.status("GET", "/v1/pets", ""))
	before := i.object("GET", "/_fake/clock", "")
	after := i.object("POST", "/_fake/clock", `{"advance":"1m"}`)
	assert.Equal(t, "0s", before["advanced"])
	assert.Equal(t, "1m0s", after["advanced"])
	from, err := time.Parse(time.RFC3339, before["now"].(string))
	require.NoError(t, err)
	to, err := time.Parse(time.RFC3339, after["now"].(string))
	require.NoError(t, err)
	assert.GreaterOrEqual(t, to.Sub(from), time.Minute)
	assert.Equal(t, 200, i.status("GET", "/v1/pets", ""))
}

func TestClockStaysWithinItsRange(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	i.object("PUT", "/_fake/clock", `{"time":"2291-12-31T23:59:59Z"}`)
	assert.Equal(t, 400, i.status("POST", "/_fake/clock", `{"advance":"1s"}`))
	assert.Equal(t, 400, i.status("POST", "/_fake/clock", `{"advance":"876001h"}`))
	assert.Equal(t, 200, i.status("GET", "/v1/pets", ""))
}

func TestFaultsRoutes(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	one := i.object("POST", "/_fake/faults", `{"status":503,"times":2,"operation":"listPets"}`)
	assert.EqualValues(t, 1, one["id"])
	two := i.object("POST", "/_fake/faults", `{"wire":"stall","times":"forever","key":"some-other-key"}`)
	assert.Equal(t, "som…", two["key"])
	assert.Equal(t, 503, i.status("GET", "/v1/pets", ""))

	faults := list(t, i.object("GET", "/_fake/faults", ""), "faults")
	require.Len(t, faults, 2)
	assert.EqualValues(t, 1, faults[0]["fired"])
	assert.Equal(t, true, faults[0]["active"])
	assert.EqualValues(t, 503, faults[0]["status"])
	assert.EqualValues(t, 0, faults[1]["fired"])
	assert.Equal(t, "forever", faults[1]["times"])

	assert.Equal(t, 503, i.status("GET", "/v1/pets", ""))
	assert.Equal(t, false, list(t, i.object("GET", "/_fake/faults", ""), "faults")[0]["active"])
	assert.Equal(t, 204, i.status("DELETE", "/_fake/faults/2", ""))
	assert.Len(t, list(t, i.object("GET", "/_fake/faults", ""), "faults"), 1)
	i.object("POST", "/_fake/faults", `{"status":500}`)
	assert.Equal(t, 204, i.status("DELETE", "/_fake/faults", ""))
	assert.Empty(t, list(t, i.object("GET", "/_fake/faults", ""), "faults"))
	assert.Equal(t, 200, i.status("GET", "/v1/pets", ""))
}

func TestFaultsShowEveryField(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t, "-fault", `operation=createPet,key=fake-api-key,skip=1,times=3,chance=0.5,`+
		`delay=1s,after-commit,status=500,code=c,message=m,retry-after=7,header=X-A: b,header=Date,`+
		`body=text,wire=truncate`)
	assert.JSONEq(t, `{"faults":[{"id":1,"fired":0,"active":true,"operation":"createPet",
		"key":"fake-api-key","skip":1,"times":3,"chance":0.5,"delay":"1s","afterCommit":true,
		"status":500,"code":"c","message":"m","retryAfter":"7","header":{"X-A":["b"],"Date":[]},
		"body":"text","wire":"truncate"}]}`, i.call("GET", "/_fake/faults", "").Body.String())
}

func TestFaultsAreBounded(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	i.object("POST", "/_fake/faults", `{"status":503}`)
	assert.Equal(t, 503, i.status("GET", "/v1/pets", ""))
	for range adminapi.MaxFaults {
		i.object("POST", "/_fake/faults", `{"status":503,"skip":1000000}`)
	}
	assert.Equal(t, 409, i.status("POST", "/_fake/faults", `{"status":503}`))
}

func TestKeysRoutes(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	const key = "team-key-000001"
	get := func() int { return i.callAs(key, "GET", "/v1/pets", "").Code }
	assert.Equal(t, 401, get())
	added := i.object("POST", "/_fake/keys", `{"key":"`+key+`","plan":"enterprise:5,0"}`)
	assert.EqualValues(t, 2, added["id"])
	assert.Equal(t, "tea…", added["key"])
	assert.Equal(t, 200, get())

	state := i.object("GET", "/_fake/keys/2", "")
	assert.Equal(t, "enterprise:5,0", state["plan"])
	minute := state["minute"].(map[string]any)
	assert.EqualValues(t, 1, minute["used"])
	assert.EqualValues(t, 5, minute["limit"])
	assert.EqualValues(t, 4, minute["remaining"])
	assert.Nil(t, state["day"].(map[string]any)["limit"], "no limit")
	assert.Nil(t, state["bannedUntil"])

	banned := i.object("PUT", "/_fake/keys/2/ban", `{"duration":"10m"}`)
	assert.NotNil(t, banned["bannedUntil"])
	assert.Equal(t, 429, get())
	assert.EqualValues(t, 1, i.object("GET", "/_fake/keys/2", "")["limited"])
	assert.Nil(t, i.object("DELETE", "/_fake/keys/2/ban", "")["bannedUntil"])
	assert.Equal(t, 200, get())

	assert.Equal(t, "free", i.object("PUT", "/_fake/keys/2/plan", `{"plan":"Free"}`)["plan"])
	assert.Equal(t, true, i.object("DELETE", "/_fake/keys/2", "")["revoked"])
	assert.Equal(t, 401, get())
	assert.Equal(t, false, i.object("POST", "/_fake/keys", `{"key":"`+key+`","plan":"pro"}`)["revoked"])
	assert.Equal(t, 200, get())
	keys := list(t, i.object("GET", "/_fake/keys", ""), "keys")
	require.Len(t, keys, 2)
	assert.Equal(t, fake.DefaultAPIKey, keys[0]["key"])
}

func TestAdminRoutesHideKeys(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t, "-key", "operator-secret", "-fault", "key=other-secret-key,status=500")
	i.object("POST", "/_fake/keys", `{"key":"short","plan":"pro"}`)
	i.callAs("operator-secret", "GET", "/v1/pets?key=operator-secret", "")
	for _, path := range []string{"/_fake/requests?key=operator-secret", "/_fake/keys/operator-secret"} {
		w := i.call("GET", path, "")
		assert.Contains(t, w.Body.String(), "GET /_fake/keys lists the ids", path)
		assert.NotContains(t, w.Body.String(), "operator-secret", path)
	}
	for _, r := range i.routes() {
		if r.Method == http.MethodGet {
			w := i.call("GET", strings.ReplaceAll(r.Path, "{id}", "1"), "")
			for _, key := range []string{"operator-secret", "other-secret-key", `"short"`} {
				assert.NotContains(t, w.Body.String(), key, r.Path)
			}
		}
	}
}

func TestKeyReplacesTheDefaultKey(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t, "-key", "operator-secret", "-plan", "free")
	assert.Equal(t, 401, i.status("GET", "/v1/pets", ""))
	assert.Equal(t, 200, i.callAs("operator-secret", "GET", "/v1/pets", "").Code)
	assert.Equal(t, 204, i.status("POST", "/_fake/reset", ""))
	assert.Equal(t, 401, i.status("GET", "/v1/pets", ""))
	keys := list(t, i.object("GET", "/_fake/keys", ""), "keys")
	require.Len(t, keys, 1)
	assert.Equal(t, "ope…", keys[0]["key"])
	assert.Equal(t, "free", keys[0]["plan"])
}

func TestPetsRoutes(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	i.object("POST", "/_fake/pets", `{"name":"Rex","categoryId":9223372036854775807}`)
	assert.Equal(t, `{"id":1,"name":"Rex","categoryId":9223372036854775807,"status":""}`+"\n",
		i.call("GET", "/_fake/pets/1", "").Body.String())
	i.object("POST", "/_fake/pets", `{"name":"Mimi","categoryId":1,"status":"sold"}`)
	i.object("POST", "/_fake/pets", `{"name":"Coco","categoryId":1,"status":"sold"}`)

	sold := i.object("GET", "/_fake/pets?status=sold&limit=1", "")
	assert.EqualValues(t, 2, sold["total"])
	require.Len(t, list(t, sold, "pets"), 1)
	assert.Equal(t, "Coco", list(t, i.object("GET", "/_fake/pets?after=2", ""), "pets")[0]["name"])

	assert.Equal(t, "pending", i.object("PUT", "/_fake/pets/1/status", `{"status":"pending"}`)["status"])
	assert.Empty(t, i.object("PUT", "/_fake/pets/1/status", `{"status":""}`)["status"])
	assert.Equal(t, 204, i.status("DELETE", "/_fake/pets/1", ""))
	assert.Equal(t, 404, i.status("GET", "/_fake/pets/1", ""))
	assert.Contains(t, i.call("GET", "/v1/pets", "").Body.String(), "Mimi")
}

func TestPetsEscapeNames(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	i.object("POST", "/_fake/pets", `{"name":"<img src=x onerror=alert(1)>","categoryId":1}`)
	assert.NotContains(t, i.call("GET", "/_fake/pets", "").Body.String(), "<img")
}
