package conformance

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

// breakage is a way to break one rule of a service that keeps to all: its answer to a request, or
// the request itself before the service sees it.
type breakage struct {
	request func(*http.Request, *[]byte)
	answer  func(*http.Request, *answer)
}

// answer is what the service would have sent.
type answer struct {
	status int
	header http.Header
	body   string
}

// breaker is the broken service, behind a client's transport.
type breaker struct {
	service http.Handler
	breakage
}

func (b breaker) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	var sent []byte
	if r.Body != nil {
		var err error
		if sent, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	if b.request != nil {
		b.request(r, &sent)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(sent)), int64(len(sent))
	rec := httptest.NewRecorder()
	b.service.ServeHTTP(rec, r)
	a := answer{rec.Code, rec.Header(), rec.Body.String()}
	if b.breakage.answer != nil {
		b.breakage.answer(r, &a)
	}
	return &http.Response{
		StatusCode: a.status, Header: a.header, Request: r,
		Body: io.NopCloser(strings.NewReader(a.body)), ContentLength: -1,
	}, nil
}

// The breakages below are built from these.

func onStatus(status int, change func(*answer)) breakage {
	return breakage{answer: func(_ *http.Request, a *answer) {
		if a.status == status {
			change(a)
		}
	}}
}

func setStatus(from, to int) breakage { return onStatus(from, func(a *answer) { a.status = to }) }

// onOperation changes the successful answers to a method below a path.
func onOperation(method, prefix string, change func(*answer)) breakage {
	return breakage{answer: func(r *http.Request, a *answer) {
		if r.Method == method && strings.HasPrefix(r.URL.Path, prefix) && a.status < 300 {
			change(a)
		}
	}}
}

// onList changes the successful answers of listPets.
func onList(change func(r *http.Request, a *answer)) breakage {
	return breakage{answer: func(r *http.Request, a *answer) {
		if r.Method == http.MethodGet && r.URL.Path == "/v1/pets" && a.status == http.StatusOK {
			change(r, a)
		}
	}}
}

// replace changes the text of every body.
func replace(pattern, with string) breakage {
	re := regexp.MustCompile(pattern)
	return breakage{answer: func(_ *http.Request, a *answer) { a.body = re.ReplaceAllString(a.body, with) }}
}

// swallow makes createPet take a body that it must refuse, by making it acceptable.
func swallow(pattern, with string) breakage {
	re := regexp.MustCompile(pattern)
	return breakage{request: func(r *http.Request, body *[]byte) {
		if r.Method == http.MethodPost && r.Header.Get("Authorization") != "" {
			*body = re.ReplaceAll(*body, []byte(with))
		}
	}}
}

// refuse makes createPet answer 400 to bodies that it should take.
func refuse(pattern string) breakage {
	re := regexp.MustCompile(pattern)
	return breakage{request: func(r *http.Request, body *[]byte) {
		if r.Method == http.MethodPost && re.Match(*body) {
			*body = []byte("{}")
		}
	}}
}

// query changes the query that the service sees.
func query(change func(status, limit string) (string, string)) breakage {
	return breakage{request: func(r *http.Request, _ *[]byte) {
		if q := r.URL.Query(); r.Method == http.MethodGet && len(r.URL.Path) == len("/v1/pets") {
			status, limit := change(q.Get("status"), q.Get("limit"))
			q.Set("status", status)
			q.Set("limit", limit)
			for name, value := range map[string]string{"status": status, "limit": limit} {
				if value == "" {
					q.Del(name)
				}
			}
			r.URL.RawQuery = q.Encode()
		}
	}}
}

// forgive lets requests of one operation pass that have a certain Authorization header.
func forgive(method, path, auth string) breakage {
	return breakage{request: func(r *http.Request, _ *[]byte) {
		if r.Method == method && strings.HasSuffix(r.URL.Path, path) && r.Header.Get("Authorization") == auth {
			r.Header.Set("Authorization", "Bearer "+fake.DefaultAPIKey)
		}
	}}
}

func dropHeader(name string) breakage {
	return breakage{answer: func(_ *http.Request, a *answer) { a.header.Del(name) }}
}

func setHeader(name string, value func(old int64) string) breakage {
	return breakage{answer: func(_ *http.Request, a *answer) {
		old, _ := strconv.ParseInt(a.header.Get(name), 10, 64)
		a.header.Set(name, value(old))
	}}
}

func on401(change func(*answer)) breakage { return onStatus(http.StatusUnauthorized, change) }

const wrongKey = "Bearer " + unknownKey

// brokenServices are services that break one rule each, with the clauses that must notice.
var brokenServices = []struct {
	name   string
	breaks breakage
	fails  []string
}{
	{
		"success without a media type", onOperation("GET", "/v1/pets", func(a *answer) { a.header.Del("Content-Type") }),
		[]string{"1 bodies of successes are application/json"},
	},
	{
		"success as text", onOperation("POST", "/v1/pets", func(a *answer) { a.header.Set("Content-Type", "text/json") }),
		[]string{"1 bodies of successes are application/json"},
	},
	{
		"error as text", on401(func(a *answer) { a.header.Set("Content-Type", "text/plain") }),
		[]string{"7 errors are application/json"},
	},

	{"null for an empty list", onList(func(_ *http.Request, a *answer) {
		if a.body == "[]" {
			a.body = "null"
		}
	}), []string{"4.1 an empty list is an array"}},
	{"no body for an empty list", onList(func(_ *http.Request, a *answer) {
		if a.body == "[]" {
			a.body = ""
		}
	}), []string{"4.1 an empty list is an array"}},
	{
		"206 for a list", onList(func(_ *http.Request, a *answer) { a.status = http.StatusPartialContent }),
		[]string{"4.1 success is 200"},
	},
	{
		"a list in an envelope", onList(func(_ *http.Request, a *answer) { a.body = `{"pets":` + a.body + `}` }),
		[]string{"4.1 the body is an array of Pet objects"},
	},
	{
		"a list of ids", onList(func(_ *http.Request, a *answer) { a.body = `[1,2]` }),
		[]string{"4.1 the body is an array of Pet objects"},
	},
	{"default limit of 10", query(func(status, limit string) (string, string) {
		if limit == "" {
			return status, "10"
		}
		return status, limit
	}), []string{"4.1 limit defaults to 20"}},
	{"no default limit", query(func(status, limit string) (string, string) {
		if limit == "" {
			return status, "100"
		}
		return status, limit
	}), []string{"4.1 limit defaults to 20"}},
	{
		"limit ignored", query(func(status, _ string) (string, string) { return status, "" }),
		[]string{"4.1 limit is the most that is returned", "4.1 limit and status go together"},
	},
	{"limit off by one", query(func(status, limit string) (string, string) {
		n, _ := strconv.Atoi(limit)
		if n == 0 || n == maxLimit {
			return status, limit
		}
		return status, strconv.Itoa(n + 1)
	}), []string{"4.1 limit defaults to 20", "4.1 limit is the most that is returned", "4.1 limit and status go together"}},
	{"limit 1 refused", query(func(status, limit string) (string, string) {
		if limit == "1" && status == "" {
			return status, "0"
		}
		return status, limit
	}), []string{"4.1 limit may be 1"}},
	{"limit 100 refused", query(func(status, limit string) (string, string) {
		if limit == "100" && status == "" {
			return status, "101"
		}
		return status, limit
	}), []string{"4.1 limit may be 100"}},
	{"filter ignored with a limit of 1", query(func(status, limit string) (string, string) {
		if limit == "1" {
			return "", limit
		}
		return status, limit
	}), []string{"4.1 limit and status go together"}},
	{
		"filter for available ignored", ignoreFilter("available"),
		[]string{"4.1 status=available returns available pets only"},
	},
	{
		"filter for pending ignored", ignoreFilter("pending"),
		[]string{"4.1 status=pending returns pending pets only"},
	},
	{
		"filter for sold ignored", ignoreFilter("sold"),
		[]string{"4.1 status=sold returns sold pets only"},
	},
	{
		"filter for available finds nothing", findNothing("available"),
		[]string{"4.1 status=available returns the one that was added"},
	},
	{
		"filter for pending finds nothing", findNothing("pending"),
		[]string{"4.1 status=pending returns the one that was added"},
	},
	{
		"filter for sold finds nothing", findNothing("sold"),
		[]string{"4.1 status=sold returns the one that was added"},
	},
	{"animals without a status are left out", onList(func(_ *http.Request, a *answer) {
		a.body = regexp.MustCompile(`,?\{[^{}]*no status[^{}]*\}`).ReplaceAllString(a.body, "")
	}), []string{"4.1 a pet that was added is listed"}},

	{
		"name optional", swallow(`^\{"categoryId":1\}$`, `{"name":"x","categoryId":1}`),
		[]string{"2 NewPet/name is required"},
	},
	{"name may be a number", swallow(`"name":7`, `"name":"7"`), []string{"2 NewPet/name is a string"}},
	{
		"categoryId optional", swallow(`^(\{"name":"[^"]*")\}$`, `$1,"categoryId":1}`),
		[]string{"2 NewPet/categoryId is required"},
	},
	{
		"categoryId may be a string", swallow(`"categoryId":"1"`, `"categoryId":1`),
		[]string{"2 NewPet/categoryId is an integer"},
	},
	{
		"categoryId may be a fraction", swallow(`"categoryId":1\.5`, `"categoryId":1`),
		[]string{"2 NewPet/categoryId is an integer"},
	},
	{
		"categoryId may be any number", swallow(`9223372036854775808`, `9223372036854775807`),
		[]string{"2 NewPet/categoryId is an int64"},
	},
	{
		"categoryId as a float64", replace(`9223372036854775807`, `9223372036854775808`),
		[]string{"2 NewPet/categoryId keeps all 64 bits"},
	},
	{"status required", refuse(`no status`), []string{"2 NewPet/status is optional"}},
	{"available refused", refuse(`"status":"available"`), []string{"2 NewPet/status may be available", "4.2 success is 201"}},
	{"pending refused", refuse(`"status":"pending"`), []string{"2 NewPet/status may be pending"}},
	{"sold refused", refuse(`"status":"sold"`), []string{"2 NewPet/status may be sold"}},
	{"any status accepted", swallow(`"status":"lost"`, `"status":"sold"`), []string{"2 NewPet/status is a PetStatus"}},
	{"status may be a number", swallow(`"status":7`, `"status":"sold"`), []string{"2 NewPet/status is a PetStatus"}},

	{"ids as floats", replace(`"id":(\d+)`, `"id":$1.0`), []string{"2 Pet/id is an int64"}},
	{"ids as strings", replace(`"id":(\d+)`, `"id":"$1"`), []string{"2 Pet/id is an int64"}},
	{"ids beyond int64", replace(`"id":(\d+)`, `"id":1000000000000000000$1`), []string{"2 Pet/id is an int64"}},
	{"one id in a list", onList(func(_ *http.Request, a *answer) {
		a.body = regexp.MustCompile(`"id":\d+`).ReplaceAllString(a.body, `"id":0`)
	}), []string{
		"2 Pet/id is unique", "4.1 a pet that was added is listed",
		"4.1 status=available returns the one that was added", "4.1 status=pending returns the one that was added",
		"4.1 status=sold returns the one that was added",
	}},
	{"names missing in lists", onList(func(_ *http.Request, a *answer) {
		a.body = strings.ReplaceAll(a.body, `"name"`, `"title"`)
	}), []string{"2 Pet/name is a string"}},
	{"categoryId as a string in lists", onList(func(_ *http.Request, a *answer) {
		a.body = regexp.MustCompile(`"categoryId":(\d+)`).ReplaceAllString(a.body, `"categoryId":"$1"`)
	}), []string{"2 Pet/categoryId is an int64"}},
	{
		"status null if there is none", replace(`("categoryId":\d+)\}`, `$1,"status":null}`),
		[]string{"2 Pet/status is a PetStatus if it is there"},
	},

	{
		"200 for a creation", onOperation("POST", "/v1/pets", func(a *answer) { a.status = http.StatusOK }),
		[]string{"4.2 success is 201"},
	},
	{"a creation without an id", onOperation("POST", "/v1/pets", func(a *answer) {
		a.body = regexp.MustCompile(`"id":\d+,`).ReplaceAllString(a.body, "")
	}), []string{"2 Pet/id is an int64", "2 Pet/id is unique", "4.2 the body is the pet that was sent, with an id"}},
	{"a creation with another name", onOperation("POST", "/v1/pets", func(a *answer) {
		a.body = strings.ReplaceAll(a.body, "conformance", "CONFORMANCE")
	}), []string{"4.2 the body is the pet that was sent, with an id", "4.3 the body is the pet that was asked for"}},
	{
		"a creation that is not shown", onOperation("POST", "/v1/pets", func(a *answer) { a.body = "" }),
		[]string{"4.2 the body is the pet that was sent, with an id"},
	},
	{"no body needed", swallow(`^$`, `{"name":"x","categoryId":1}`), []string{"4.2 the request body is required"}},
	{
		"half a body is enough", swallow(`"categoryId":1$`, `"categoryId":1}`),
		[]string{"4.2 a body that is not JSON is 400"},
	},
	{
		"an array of animals accepted", swallow(`^\[\]$`, `{"name":"x","categoryId":1}`),
		[]string{"4.2 a body that is no object is 400"},
	},
	{
		"defaults for all fields", swallow(`^\{\}$`, `{"name":"x","categoryId":1}`),
		[]string{"4.2 a body without the required fields is 400"},
	},
	{"422 for invalid bodies", setStatus(http.StatusBadRequest, http.StatusUnprocessableEntity), []string{
		"2 NewPet/name is required", "2 NewPet/name is a string", "2 NewPet/categoryId is required",
		"2 NewPet/categoryId is an integer", "2 NewPet/categoryId is an int64", "2 NewPet/status is a PetStatus",
		"4.2 the request body is required", "4.2 a body that is not JSON is 400",
		"4.2 a body that is no object is 400", "4.2 a body without the required fields is 400",
	}},

	{"getPet gone too early", breakage{answer: func(r *http.Request, a *answer) {
		if strings.HasPrefix(r.URL.Path, "/v1/pets/") && a.status == http.StatusOK {
			a.status, a.body = http.StatusNotFound, `{"code":"gone","message":"gone","status":404}`
		}
	}}, []string{"9 getPet stays available until 5 December 2030"}},
	{
		"203 for an animal", onOperation("GET", "/v1/pets/", func(a *answer) { a.status = http.StatusNonAuthoritativeInfo }),
		[]string{"4.3 success is 200"},
	},
	{"another animal", onOperation("GET", "/v1/pets/", func(a *answer) {
		a.body = regexp.MustCompile(`"id":\d+`).ReplaceAllString(a.body, `"id":1000`)
	}), []string{"4.3 the body is the pet that was asked for"}},
	{"an animal without its status", onOperation("GET", "/v1/pets/", func(a *answer) {
		a.body = strings.ReplaceAll(a.body, `,"status":"available"`, "")
	}), []string{"4.3 the body is the pet that was asked for"}},
	{
		"410 for an unknown pet", setStatus(http.StatusNotFound, http.StatusGone),
		[]string{"4.3 an unknown pet is 404"},
	},

	{"the key refused", breakage{answer: func(r *http.Request, a *answer) {
		if r.Method == http.MethodGet && r.URL.RawQuery == "" && r.URL.Path == "/v1/pets" {
			a.status, a.body = http.StatusUnauthorized, `{"code":"no","message":"no","status":401}`
		}
	}}, []string{"4.1 success is 200", "5 a valid key is accepted"}},
	{
		"another scheme accepted", forgive("GET", "/pets", otherScheme.header("")),
		[]string{"5 another scheme than Bearer is 401"},
	},
	{"listPets is open", forgive("GET", "/pets", ""), []string{"5 listPets without a key is 401"}},
	{"createPet is open", forgive("POST", "/pets", ""), []string{"5 createPet without a key is 401"}},
	{"getPet is open", forgive("GET", "/pets/1", ""), []string{"5 getPet without a key is 401"}},
	{"listPets takes any key", forgive("GET", "/pets", wrongKey), []string{"5 listPets with an invalid key is 401"}},
	{"createPet takes any key", forgive("POST", "/pets", wrongKey), []string{"5 createPet with an invalid key is 401"}},
	{"getPet takes any key", forgive("GET", "/pets/1", wrongKey), []string{"5 getPet with an invalid key is 401"}},

	{
		"400 without a body", onStatus(http.StatusBadRequest, func(a *answer) { a.body = "" }),
		[]string{"7 a 400 has an Error body"},
	},
	{"401 without a body", on401(func(a *answer) { a.body = "" }), []string{"7 a 401 has an Error body"}},
	{
		"404 without a body", onStatus(http.StatusNotFound, func(a *answer) { a.body = "" }),
		[]string{"7 a 404 has an Error body"},
	},
	{"a page for an error", on401(func(a *answer) { a.body = "<html></html>" }), []string{"7 a 401 has an Error body"}},
	{"code is a number", replace(`"code":"\w+"`, `"code":1`), []string{"2 Error/code is a string"}},
	{"no code", replace(`"code":"\w+",`, ``), []string{"2 Error/code is a string"}},
	{"no message", replace(`"message":"(?:[^"\\]|\\.)*",`, ``), []string{"2 Error/message is a string"}},
	{
		"status of errors as a string", replace(`"status":(\d+)`, `"status":"$1"`),
		[]string{"2 Error/status is the HTTP status"},
	},
	{
		"another status in errors", replace(`"status":401`, `"status":403`),
		[]string{"2 Error/status is the HTTP status"},
	},

	{
		"403 over the limit", setStatus(http.StatusTooManyRequests, http.StatusForbidden),
		[]string{"8.3 a request over the limit is 429"},
	},
	{"429 without Retry-After", dropHeader("Retry-After"), []string{"8.3 a 429 carries Retry-After"}},
	{"a limit that does not end", endless(), []string{"8.2 the limit resets at X-RateLimit-Reset"}},
	{"no limit", dropHeader(headerLimit), []string{"8.2 every response carries X-RateLimit-Limit"}},
	{"no remaining", dropHeader(headerRemaining), []string{"8.2 every response carries X-RateLimit-Remaining"}},
	{"no reset", dropHeader(headerReset), []string{"8.2 every response carries X-RateLimit-Reset"}},
	{
		"no limit on a 401", on401(func(a *answer) { a.header.Del(headerLimit) }),
		[]string{"8.2 every response carries X-RateLimit-Limit"},
	},
	{
		"limit in words", setHeader(headerLimit, func(int64) string { return "unlimited" }),
		[]string{"8.2 X-RateLimit-Limit is a number of requests"},
	},
	{
		"remaining below zero", setHeader(headerRemaining, func(old int64) string { return fmt.Sprint(-1 - old) }),
		[]string{"8.2 X-RateLimit-Remaining is a number of requests"},
	},
	{
		"seconds to go for a reset", setHeader(headerReset, func(int64) string { return "60" }),
		[]string{"8.2 X-RateLimit-Reset is a Unix timestamp"},
	},
	{
		"a reset in milliseconds", setHeader(headerReset, func(old int64) string { return fmt.Sprint(old * 1000) }),
		[]string{"8.2 X-RateLimit-Reset is a Unix timestamp"},
	},
	{"a date for a reset", setHeader(headerReset, func(old int64) string {
		return time.Unix(old, 0).UTC().Format(http.TimeFormat)
	}), []string{"8.2 X-RateLimit-Reset is a Unix timestamp"}},
	{
		"remaining counts up", setHeader(headerRemaining, func(old int64) string { return fmt.Sprint(max(500-old, 0)) }),
		[]string{"8.2 X-RateLimit-Remaining does not rise within a window"},
	},
}

func ignoreFilter(ignored string) breakage {
	return query(func(status, limit string) (string, string) {
		if status == ignored && limit == "100" {
			status = ""
		}
		return status, limit
	})
}

func findNothing(lost string) breakage {
	return onList(func(r *http.Request, a *answer) {
		if q := r.URL.Query(); q.Get("status") == lost && q.Get("limit") == "100" {
			a.body = "[]"
		}
	})
}

// endless is a limit that, once reached, is not over when its window is: a bubble begins on the
// minute, and so a run has used the limit up when the clock shows the next one.
func endless() breakage {
	return breakage{answer: func(r *http.Request, a *answer) {
		date, _ := http.ParseTime(a.header.Get("Date"))
		if date.Minute() > 0 && r.Header.Get("Authorization") != "" {
			a.status, a.body = http.StatusTooManyRequests, ""
			a.header.Set("Retry-After", "60")
		}
	}}
}

// plan is large enough for a run, and small enough to be used up.
var plan = fake.Enterprise(90, 0)

// checkBroken returns the verdicts on the fake behind a breakage, from inside a bubble.
func checkBroken(t *testing.T, b breakage, opts ...fake.Option) []verdict {
	t.Helper()
	srv := fake.NewServer(append(opts, fake.WithPlan(plan))...)
	t.Cleanup(srv.Close)
	s, err := newSession(t.Context(), Target{
		BaseURL: "http://petstore.example/v1", APIKey: srv.APIKey(), Destructive: true,
		HTTPClient: &http.Client{Transport: breaker{srv, b}},
	})
	require.NoError(t, err)
	return s.checkAll()
}

// The rule that is broken must be noticed on a catalogue that is empty or on one that is not, and
// no other clause may fail.
func TestClausesOnBrokenServices(t *testing.T) {
	for _, broken := range brokenServices {
		t.Run(broken.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				unfit := make(map[string]error)
				for _, opts := range [][]fake.Option{nil, {catalogue()}} {
					for _, v := range checkBroken(t, broken.breaks, opts...) {
						if v.err != nil && !isSkip(v.err) {
							unfit[v.name()] = v.err
						}
					}
				}
				for _, name := range broken.fails {
					assert.Containsf(t, unfit, name, "%q must fail", name)
					delete(unfit, name)
				}
				for name, err := range unfit {
					t.Errorf("%q must not fail: %v", name, err)
				}
			})
		})
	}
}

func TestClauses(t *testing.T) {
	// A clause that nothing can fail would be worth nothing.
	t.Run("a broken service fails each of them", func(t *testing.T) {
		// The test of the base address below shows that it can.
		failed := map[string]bool{"9 the base address ends in /v1": true}
		for _, broken := range brokenServices {
			for _, name := range broken.fails {
				failed[name] = true
			}
		}
		for _, c := range clauses() {
			assert.Truef(t, failed[c.name()], "no broken service fails %q", c.name())
		}
	})
	t.Run("the base address ends in the version", func(t *testing.T) {
		for address, fits := range map[string]bool{
			"https://petstore.example/v1":        true,
			"https://petstore.example/v1/":       true,
			"https://petstore.example/store/v1":  true,
			"https://petstore.example":           false,
			"https://petstore.example/v2":        false,
			"https://petstore.example/v1/animal": false,
		} {
			s, err := newSession(t.Context(), Target{BaseURL: address, APIKey: "key"})
			require.NoError(t, err)
			assert.Equal(t, fits, attempt(func() { baseAddress(s) }) == nil, address)
		}
	})
}
