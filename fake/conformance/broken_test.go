package conformance

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/fake"
)

// breakage is a way to break one rule of a service that keeps to all: it changes a request before
// the service sees it, or the response.
type breakage struct {
	request  func(*http.Request, *[]byte)
	response func(*http.Request, *response)
}

// response is a response before it is sent.
type response struct {
	status int
	header http.Header
	body   string
}

// breaker is the broken service, as the transport of a client.
type breaker struct {
	service http.RoundTripper
	breakage
}

func (b breaker) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	if b.request != nil {
		b.request(r, &sent)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(sent)), int64(len(sent))
	resp, err := b.service.RoundTrip(r)
	if err != nil || b.breakage.response == nil {
		return resp, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	a := response{resp.StatusCode, resp.Header, string(body)}
	b.breakage.response(r, &a)
	return &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(strings.NewReader(a.body))}, err
}

// Which responses a breakage changes.

func onAll(change func(*response)) breakage {
	return breakage{response: func(_ *http.Request, a *response) { change(a) }}
}

func onStatus(status int, change func(*response)) breakage {
	return onAll(func(a *response) {
		if a.status == status {
			change(a)
		}
	})
}

// onSuccess changes the successes of a method and a path, such as those of "GET /v1/pets".
func onSuccess(pattern string, change func(*response)) breakage {
	re := regexp.MustCompile("^" + pattern + "$")
	return breakage{response: func(r *http.Request, a *response) {
		if re.MatchString(r.Method+" "+r.URL.RequestURI()) && a.status < 300 {
			change(a)
		}
	}}
}

const (
	aList   = `GET /v1/pets(\?.*)?`
	aGet    = `GET /v1/pets/\d+`
	aCreate = `POST /v1/pets`
)

// How it changes them.

func status(to int) func(*response) { return func(a *response) { a.status = to } }

func body(to string) func(*response) { return func(a *response) { a.body = to } }

func replace(pattern, with string) func(*response) {
	re := regexp.MustCompile(pattern)
	return func(a *response) { a.body = re.ReplaceAllString(a.body, with) }
}

func drop(header string) func(*response) { return func(a *response) { a.header.Del(header) } }

func set(header, value string) func(*response) {
	return func(a *response) { a.header.Set(header, value) }
}

func compute(header string, value func(old int64) int64) func(*response) {
	return func(a *response) {
		old, _ := strconv.ParseInt(a.header.Get(header), 10, 64)
		a.header.Set(header, strconv.FormatInt(value(old), 10))
	}
}

// Which requests a breakage changes.

// swallow makes createPet take a body that it must refuse, by making it acceptable.
func swallow(pattern, with string) breakage {
	re := regexp.MustCompile(pattern)
	return breakage{request: func(r *http.Request, body *[]byte) {
		if r.Method == http.MethodPost && r.Header.Get("Authorization") != "" {
			*body = re.ReplaceAll(*body, []byte(with))
		}
	}}
}

// refuse makes createPet send a 400 for bodies that it should take.
func refuse(pattern string) breakage {
	re := regexp.MustCompile(pattern)
	return breakage{request: func(r *http.Request, body *[]byte) {
		if r.Method == http.MethodPost && re.Match(*body) {
			*body = []byte("{}")
		}
	}}
}

// query changes the query that listPets sees, by pairs of a pattern and its replacement.
func query(pairs ...string) breakage {
	return breakage{request: func(r *http.Request, _ *[]byte) {
		if r.Method != http.MethodGet || r.URL.Path != "/v1/pets" {
			return
		}
		for i := 0; i < len(pairs); i += 2 {
			re := regexp.MustCompile(pairs[i])
			r.URL.RawQuery = re.ReplaceAllString(r.URL.RawQuery, pairs[i+1])
		}
	}}
}

// forgive admits requests of one operation that have a certain Authorization header.
func forgive(method, path, auth string) breakage {
	return breakage{request: func(r *http.Request, _ *[]byte) {
		if r.Method == method && strings.HasSuffix(r.URL.Path, path) && r.Header.Get("Authorization") == auth {
			r.Header.Set("Authorization", "Bearer "+fake.DefaultAPIKey)
		}
	}}
}

// testService is a service with the clauses that must fail.
type testService struct {
	name   string
	breaks breakage
	fails  fails
}

type fails = []string

// brokenServices are services that break one rule each.
var brokenServices = []testService{
	{"success without a media type", onSuccess(aList, drop("Content-Type")), fails{"1 bodies of successes are application/json"}},
	{"success as text", onSuccess(aCreate, set("Content-Type", "text/json")), fails{"1 bodies of successes are application/json"}},
	{"error as text", onStatus(401, set("Content-Type", "text/plain")), fails{"7 errors are application/json"}},

	{"null for an empty list", onSuccess(aList, replace(`^\[\]$`, "null")), fails{"4.1 an empty list is an array"}},
	{"no body for an empty list", onSuccess(aList, replace(`^\[\]$`, "")), fails{"4.1 an empty list is an array"}},
	{"206 for a list", onSuccess(aList, status(206)), fails{"4.1 success is 200"}},
	{"a list in an envelope", onSuccess(aList, replace(`(?s)^.*$`, `{"pets":$0}`)), fails{"4.1 the body is an array of Pet objects"}},
	{"a list of ids", onSuccess(aList, body(`[1,2]`)), fails{"4.1 the body is an array of Pet objects"}},
	{"default limit of 10", query(`^$`, `limit=10`), fails{"4.1 limit defaults to 20"}},
	{"no default limit", query(`^$`, `limit=100`), fails{"4.1 limit defaults to 20"}},
	{"limit ignored", query(`limit=\d+`, ``), fails{"4.1 limit is the most that is returned", "4.1 limit and status go together"}},
	{"limit off by one", query(`limit=1\b`, `limit=2`, `limit=20`, `limit=21`), fails{
		"4.1 limit defaults to 20", "4.1 limit is the most that is returned", "4.1 limit and status go together",
	}},
	{"limit 1 refused", query(`^limit=1$`, `limit=0`), fails{"4.1 limit may be 1"}},
	{"limit 100 refused", query(`^limit=100$`, `limit=101`), fails{"4.1 limit may be 100"}},
	{"filter ignored with a limit of 1", query(`^limit=1&.*`, `limit=1`), fails{"4.1 limit and status go together"}},
	{"filter for available ignored", ignoreFilter("available"), fails{"4.1 status=available returns available pets only"}},
	{"filter for pending ignored", ignoreFilter("pending"), fails{"4.1 status=pending returns pending pets only"}},
	{"filter for sold ignored", ignoreFilter("sold"), fails{"4.1 status=sold returns sold pets only"}},
	{"filter for available finds nothing", findNothing("available"), fails{"4.1 status=available returns the one that was added"}},
	{"filter for pending finds nothing", findNothing("pending"), fails{"4.1 status=pending returns the one that was added"}},
	{"filter for sold finds nothing", findNothing("sold"), fails{"4.1 status=sold returns the one that was added"}},
	{"pets without a status are left out", onSuccess(aList, replace(`,?\{[^{}]*conformance[^{}]*"categoryId":1\}`, "")), fails{
		"4.1 a pet that was added is listed",
	}},

	{"name optional", swallow(`^\{"categoryId":1\}$`, `{"name":"x","categoryId":1}`), fails{"2 NewPet/name is required"}},
	{"name may be a number", swallow(`"name":7`, `"name":"7"`), fails{"2 NewPet/name is a string"}},
	{"categoryId optional", swallow(`^(\{"name":"[^"]*")\}$`, `$1,"categoryId":1}`), fails{"2 NewPet/categoryId is required"}},
	{"categoryId may be a string", swallow(`"categoryId":"1"`, `"categoryId":1`), fails{"2 NewPet/categoryId is an integer"}},
	{"categoryId may be a fraction", swallow(`"categoryId":1\.5`, `"categoryId":1`), fails{"2 NewPet/categoryId is an integer"}},
	{"categoryId may be any number", swallow(`9223372036854775808`, `9223372036854775807`), fails{"2 NewPet/categoryId is an int64"}},
	{"categoryId as a float64", onAll(replace(`9223372036854775807`, `9223372036854775808`)), fails{
		"2 NewPet/categoryId keeps all 64 bits", "2 Pet/categoryId is an int64",
	}},
	{"status required", refuse(`^\{"name":"[^"]*","categoryId":1\}$`), fails{"2 NewPet/status is optional"}},
	{"available refused", refuse(`"status":"available"`), fails{"2 NewPet/status may be available", "4.2 success is 201"}},
	{"pending refused", refuse(`"status":"pending"`), fails{"2 NewPet/status may be pending"}},
	{"sold refused", refuse(`"status":"sold"`), fails{"2 NewPet/status may be sold"}},
	{"any status accepted", swallow(`"status":"lost"`, `"status":"sold"`), fails{"2 NewPet/status is a PetStatus"}},
	{"status may be a number", swallow(`"status":7`, `"status":"sold"`), fails{"2 NewPet/status is a PetStatus"}},

	{"ids as floats", onAll(replace(`"id":(\d+)`, `"id":$1.0`)), fails{"2 Pet/id is an int64"}},
	{"ids as strings", onAll(replace(`"id":(\d+)`, `"id":"$1"`)), fails{"2 Pet/id is an int64"}},
	{"ids beyond int64", onAll(replace(`"id":(\d+)`, `"id":1000000000000000000$1`)), fails{"2 Pet/id is an int64"}},
	{"one id in a list", onSuccess(aList, replace(`"id":\d+`, `"id":0`)), fails{
		"2 Pet/id is unique", "4.1 a pet that was added is listed",
		"4.1 status=available returns the one that was added", "4.1 status=pending returns the one that was added",
		"4.1 status=sold returns the one that was added",
	}},
	{"names missing in lists", onSuccess(aList, replace(`"name"`, `"title"`)), fails{"2 Pet/name is a string"}},
	{"categoryId as a string in lists", onSuccess(aList, replace(`"categoryId":(\d+)`, `"categoryId":"$1"`)), fails{
		"2 Pet/categoryId is an int64",
	}},
	{"status null if there is none", onAll(replace(`("categoryId":\d+)\}`, `$1,"status":null}`)), fails{
		"2 Pet/status is a PetStatus if it is there",
	}},

	{"200 for a creation", onSuccess(aCreate, status(200)), fails{"4.2 success is 201"}},
	{"a creation without an id", onSuccess(aCreate, replace(`"id":\d+,`, "")), fails{
		"2 Pet/id is an int64", "2 Pet/id is unique", "4.2 the body is the pet that was sent, with an id",
	}},
	{"a creation with another name", onSuccess(aCreate, replace("conformance", "CONFORMANCE")), fails{
		"4.2 the body is the pet that was sent, with an id", "4.3 the body is the pet that was asked for",
	}},
	{"a creation that is not shown", onSuccess(aCreate, body("")), fails{"4.2 the body is the pet that was sent, with an id"}},
	{"no body needed", swallow(`^$`, `{"name":"x","categoryId":1}`), fails{"4.2 the request body is required"}},
	{"half a body is enough", swallow(`"categoryId":1$`, `"categoryId":1}`), fails{"4.2 a body that is not JSON is 400"}},
	{"an array of pets accepted", swallow(`^\[\]$`, `{"name":"x","categoryId":1}`), fails{"4.2 a body that is no object is 400"}},
	{"defaults for all fields", swallow(`^\{\}$`, `{"name":"x","categoryId":1}`), fails{
		"4.2 a body without the required fields is 400",
	}},
	{"422 for invalid bodies", onStatus(400, status(422)), fails{
		"2 NewPet/name is required", "2 NewPet/name is a string", "2 NewPet/categoryId is required",
		"2 NewPet/categoryId is an integer", "2 NewPet/categoryId is an int64", "2 NewPet/status is a PetStatus",
		"4.2 the request body is required", "4.2 a body that is not JSON is 400",
		"4.2 a body that is no object is 400", "4.2 a body without the required fields is 400",
	}},

	{"getPet gone too early", onSuccess(aGet, refusal(404)), fails{"9 getPet stays available until 5 December 2030"}},
	{"203 for a pet", onSuccess(aGet, status(203)), fails{"4.3 success is 200"}},
	{"another pet", onSuccess(aGet, replace(`"id":\d+`, `"id":1000`)), fails{"4.3 the body is the pet that was asked for"}},
	{"a pet without its status", onSuccess(aGet, replace(`,"status":"available"`, "")), fails{
		"4.3 the body is the pet that was asked for",
	}},
	{"410 for an unknown pet", onStatus(404, status(410)), fails{"4.3 an unknown pet is 404"}},

	{"the key refused", onSuccess(`GET /v1/pets`, refusal(401)), fails{"4.1 success is 200", "5 a valid key is accepted"}},
	{"another scheme accepted", forgive("GET", "/pets", otherScheme), fails{"5 another scheme than Bearer is 401"}},
	{"listPets is open", forgive("GET", "/pets", ""), fails{"5 listPets without a key is 401"}},
	{"createPet is open", forgive("POST", "/pets", ""), fails{"5 createPet without a key is 401"}},
	{"getPet is open", forgive("GET", "/pets/1", ""), fails{"5 getPet without a key is 401"}},
	{"listPets takes any key", forgive("GET", "/pets", invalidKey), fails{"5 listPets with an invalid key is 401"}},
	{"createPet takes any key", forgive("POST", "/pets", invalidKey), fails{"5 createPet with an invalid key is 401"}},
	{"getPet takes any key", forgive("GET", "/pets/1", invalidKey), fails{"5 getPet with an invalid key is 401"}},

	{"400 without a body", onStatus(400, body("")), fails{"7 a 400 has an Error body"}},
	{"401 without a body", onStatus(401, body("")), fails{"7 a 401 has an Error body"}},
	{"404 without a body", onStatus(404, body("")), fails{"7 a 404 has an Error body"}},
	{"a page for an error", onStatus(401, body("<html></html>")), fails{"7 a 401 has an Error body"}},
	{"code is a number", onAll(replace(`"code":"\w+"`, `"code":1`)), fails{"2 Error/code is a string"}},
	{"no code", onAll(replace(`"code":"\w+",`, ``)), fails{"2 Error/code is a string"}},
	{"no message", onAll(replace(`"message":"(?:[^"\\]|\\.)*",`, ``)), fails{"2 Error/message is a string"}},
	{"status of errors as a string", onAll(replace(`"status":(\d+)`, `"status":"$1"`)), fails{"2 Error/status is the HTTP status"}},
	{"another status in errors", onAll(replace(`"status":401`, `"status":403`)), fails{"2 Error/status is the HTTP status"}},

	{"403 over the limit", onStatus(429, status(403)), fails{"8.3 a request over the limit is 429"}},
	{"429 without Retry-After", onAll(drop("Retry-After")), fails{"8.3 a 429 carries Retry-After"}},
	{"a limit that does not end", endless(), fails{"8.2 the limit resets at X-RateLimit-Reset"}},
	{"no limit", onAll(drop(headerLimit)), fails{"8.2 every response carries X-RateLimit-Limit"}},
	{"no remaining", onAll(drop(headerRemaining)), fails{"8.2 every response carries X-RateLimit-Remaining"}},
	{"no reset", onAll(drop(headerReset)), fails{"8.2 every response carries X-RateLimit-Reset"}},
	{"no limit on a 401", onStatus(401, drop(headerLimit)), fails{"8.2 every response carries X-RateLimit-Limit"}},
	{"limit in words", onAll(set(headerLimit, "unlimited")), fails{"8.2 X-RateLimit-Limit is a number of requests"}},
	{"remaining below zero", onAll(compute(headerRemaining, func(old int64) int64 { return -1 - old })), fails{
		"8.2 X-RateLimit-Remaining is a number of requests",
	}},
	{"seconds to go for a reset", onAll(set(headerReset, "60")), fails{"8.2 X-RateLimit-Reset is a Unix timestamp"}},
	{"a reset in milliseconds", onAll(compute(headerReset, func(old int64) int64 { return old * 1000 })), fails{
		"8.2 X-RateLimit-Reset is a Unix timestamp",
	}},
	{"a date for a reset", onAll(set(headerReset, "Sat, 01 Jan 2000 00:01:00 GMT")), fails{
		"8.2 X-RateLimit-Reset is a Unix timestamp",
	}},
	{"remaining counts up", onAll(compute(headerRemaining, func(old int64) int64 { return max(500-old, 0) })), fails{
		"8.2 X-RateLimit-Remaining does not rise within a window",
	}},
}

// refusal puts an Error object in place of a response.
func refusal(status int) func(*response) {
	return func(a *response) {
		a.status, a.body = status, fmt.Sprintf(`{"code":"no","message":"no","status":%d}`, status)
	}
}

func ignoreFilter(status string) breakage { return query(`^limit=100&status=`+status+`$`, `limit=100`) }

func findNothing(status string) breakage {
	return onSuccess(`GET /v1/pets\?limit=100&status=`+status, body("[]"))
}

// endless is a limit that does not end with its window. A bubble begins on the minute, and so a run
// has used the limit up when the clock shows the next one.
func endless() breakage {
	return breakage{response: func(r *http.Request, a *response) {
		date, _ := http.ParseTime(a.header.Get("Date"))
		if date.Minute() > 0 && r.Header.Get("Authorization") != "" {
			a.status, a.body = http.StatusTooManyRequests, ""
			a.header.Set("Retry-After", "60")
		}
	}}
}

// plan is large enough for a run, and small enough to be used up.
var plan = fake.Plan{PerMinute: 90}

// The clauses of a broken rule must fail with an empty catalogue or with a full one, and no other
// clause may fail.
func TestClausesOnServices(t *testing.T) {
	for _, service := range slices.Concat(brokenServices, differentServices) {
		t.Run(service.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, empty := open(t, service.breaks, fake.WithPlan(plan))
				_, full := open(t, service.breaks, fake.WithPlan(plan), catalogue())
				failed, _ := empty.checkAll()
				more, _ := full.checkAll()
				maps.Copy(failed, more)
				assert.ElementsMatch(t, service.fails, slices.Collect(maps.Keys(failed)))
			})
		})
	}
}

// A clause that nothing can fail would be worth nothing.
func TestClauses(t *testing.T) {
	failed := map[string]bool{}
	for _, broken := range brokenServices {
		for _, name := range broken.fails {
			failed[name] = true
		}
	}
	assert.Len(t, clauses(), len(failed), "no two have one name")
	for _, c := range clauses() {
		assert.Truef(t, failed[c.name()], "no broken service fails %q", c.name())
	}
}
