package conformance

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/fake"
)

// bugs has a row for each planted bug. A bug changes all requests or responses that begin with a
// text: see service.change.
var bugs = []bug{
	{"4.1 an empty list", "null for an empty list", list, `(\n)\[\]$`, `${1}null`},
	{"4.1 an empty list", "no body for an empty list", list, `\[\]$`, ``},
	{"4.1 success", "206 for a list", list, `^(\S+) 200`, `$1 206`},
	{"4.1 the body is", "a list in an envelope", list, allOfBody, `$1{"pets":$2}`},
	{"4.1 limit is the most", "a default limit of 10", "GET", `^(GET /pets) `, `$1?limit=10 `},
	{"4.1 limit is the most", "a default limit of 100", "GET", `^(GET /pets) `, `$1?limit=100 `},
	{"4.1 limit is the most", "limit ignored", "GET", `\?limit=\d+&?`, `?`},
	{"4.1 limit is the most", "one pet more than the limit", "GET", `limit=1\b`, `limit=2`},
	{"4.1 limit is the most", "one pet less than the limit", "GET", `limit=20`, `limit=19`},
	{"4.1 limit may be", "limit=1 refused", "GET", `limit=1\b`, `limit=0`},
	{"4.1 limit may be", "limit=100 refused", "GET", `limit=100`, `limit=101`},
	{"4.1 status returns pets", "filter ignored with a limit of 1", "GET", `(limit=1)&\S+`, `$1`},
	{"4.1 status returns pets", "filter ignored without a limit", "GET", `\?status=\w+`, ``},
	{"4.1 status returns pets", "the limit before the filter", "200 listPets /pets?limit=1&status", allOfBody, `$1[]`},
	{"4.1 a pet that was added", "no pets without a status", list, `,?\{[^{}]*conformance[^{}]*"categoryId":1\}`, ``},
	{"4.1 a pet that was added", "names are cut off in lists", list, `("name":"petstore-go)[^"]*`, `$1`},
	{"4.1 status returns pets", "filter for pending ignored", "GET", `&status=pending`, ``},
	{"4.1 status returns the pet", "nothing is available", "200 listPets /pets?limit=100&status=a", allOfBody, `$1[]`},
	{"4.1 status returns the pet", "nothing is pending", "200 listPets /pets?limit=100&status=p", allOfBody, `$1[]`},
	{"4.1 status returns the pet", "nothing is sold", "200 listPets /pets?limit=100&status=s", allOfBody, `$1[]`},

	{"2 NewPet/name is required", "name optional", "POST", `\{"categoryId":1\}$`, aPet},
	{"2 NewPet/name is a string", "name may be a number", "POST", `"name":7`, `"name":"7"`},
	{"2 NewPet/name is a string", "name may be null", "POST", `"name":null`, `"name":"null"`},
	{"2 NewPet/name keeps", "letters are lost in names", "HTTP", `[^\x00-\x7f]`, `?`},
	{"2 NewPet/name keeps", "letters are lost in the store", "200 getPet", `[^\x00-\x7f]`, `?`},
	{"2 NewPet/categoryId is required", "categoryId optional", "POST", `(\{"name":"[^"]*")\}$`, `$1,"categoryId":1}`},
	{"2 NewPet/categoryId is an integer", "categoryId may be a string", "POST", `(categoryId":)"1"`, `${1}1`},
	{"2 NewPet/categoryId is an integer", "categoryId may be a fraction", "POST", `(categoryId":1)\.5`, `$1`},
	{"2 NewPet/categoryId is an integer", "categoryId may be null", "POST", `(categoryId":)null`, `${1}0`},
	{"2 NewPet/categoryId is an int64", "categoryId may be any number", "POST", `9223372036854775808`, `1`},
	{"2 NewPet/categoryId keeps", "categoryId as a float64", "POST", `9223372036854775807`, `9223372036854775000`},
	{"2 NewPet/categoryId keeps", "categoryId stored as an int32", "200 getPet", `9223372036854775807`, `-1`},
	{"2 NewPet/categoryId keeps", "no categoryId if it is 0", "HTTP", `,"categoryId":0\b`, ``},
	{"2 NewPet/status is optional", "status required", "POST", `\{"name":"[^"]*","categoryId":1\}$`, `{}`},
	{"2 NewPet/status is optional", "available refused", "POST", `\{.*"available".*`, `{}`},
	{"2 NewPet/status is optional", "pending refused", "POST", `\{.*"pending".*`, `{}`},
	{"2 NewPet/status is optional", "sold refused", "POST", `\{.*"status":"sold".*`, `{}`},
	{"2 NewPet/status is a", "any status accepted", "POST", `"lost"`, `"sold"`},
	{"2 NewPet/status is a", "status in any case", "POST", `"Sold"`, `"sold"`},
	{"2 NewPet/status is a", "status may be a number", "POST", `"status":7`, `"status":"sold"`},
	{"2 NewPet/status is a", "status may be null", "POST", `,"status":null`, ``},
	{"4.2 the request body", "no body needed", "POST", `(\n)$`, `$1` + aPet},
	{"4.2 a body that is not JSON", "half a body is enough", "POST", `("categoryId":1)$`, `$1}`},
	{"4.2 a body that is not JSON", "forms accepted", "POST", `name=.*`, aPet},
	{"4.2 a body that is no NewPet", "an empty array accepted", "POST", `\[\]$`, aPet},
	{"4.2 a body that is no NewPet", "an array of pets accepted", "POST", `\[(\{.*\})\]$`, `$1`},
	{"4.2 a body that is no NewPet", "defaults for all fields", "POST", `\n\{\}$`, "\n" + aPet},
	{"2 NewPet/name is required", "422 for invalid bodies", "400 createPet", `^(\S+) 400`, `$1 422`},
	{"2 NewPet/status is optional", "200 for a creation", "201", `^(\S+) 201`, `$1 200`},
	{"4.2 the body is", "a creation without an id", "201", `"id":\d+,`, ``},
	{"4.2 the body is", "a creation with another name", "201", `conformance`, `CONFORMANCE`},
	{"4.2 the body is", "a creation that is not shown", "201", allOfBody, `$1`},

	{"9 getPet", "getPet gone too early", "200 getPet", `^(\S+) 200`, `$1 404`},
	{"9 getPet", "203 for a pet", "200 getPet", `^(\S+) 200`, `$1 203`},
	{"4.3 the body is", "another id", "200 getPet", `"id":\d+`, `"id":1000`},
	{"4.3 the body is", "another name", "200 getPet", `"name":"[^"]*"`, `"name":"Max"`},
	{"4.3 the body is", "always the first pet", "GET /pets/", `/pets/\d+`, `/pets/1`},
	{"4.3 the body is", "a pet without its status", "200 getPet", `,"status":"available"`, ``},
	{"4.3 an unknown pet", "410 for an unknown pet", "404 getPet", `^(\S+) 404`, `$1 410`},

	{"5 a valid key", "the key refused", list, `^(\S+) 200`, `$1 401`},
	{"5 another scheme", "Basic accepted", "GET", ` Basic .*`, goodAuth},
	{"5 another scheme", "any scheme accepted", "GET", ` Token .*`, goodAuth},
	{"5 a part of a key", "half a key accepted", "GET", ` Bearer fake-a(\n)`, goodAuth + `$1`},
	{"5 a part of a key", "the end of a key ignored", "GET", goodAuth + `.*`, goodAuth},
	{"5 listPets without", "listPets served without a key", "GET /pets ", ` (\n)`, goodAuth + `$1`},
	{"5 createPet without", "createPet served without a key", "POST", ` (\n)`, goodAuth + `$1`},
	{"5 getPet without", "getPet served without a key", "GET /pets/", ` (\n)`, goodAuth + `$1`},
	{"5 listPets without", "listPets served with an invalid key", "GET /pets ", ` ` + invalidKey, goodAuth},
	{"5 createPet without", "createPet served with an invalid key", "POST", ` ` + invalidKey, goodAuth},
	{"5 getPet without", "getPet served with an invalid key", "GET /pets/", ` ` + invalidKey, goodAuth},

	{"8.3 a request over", "403 over the limit", "429 listPets", `^(\S+) 429`, `$1 403`},
	{"8.3 a request over", "no limit", "429 listPets", `^(\S+) 429`, `$1 200`},
	{"8.3 a 429", "429 without Retry-After", "429", `Retry-After: .*\n`, ``},
	{"8.3 a request is admitted", "Retry-After ends too early", "429", `Retry-After: .*`, `Retry-After: 1`},
	// A bubble begins on a whole minute. By the time of the next minute, a run has used up the limit.
	{"8.2 the limit resets", "a limit that does not end", list,
		`(?s)^(\S+) 200(.*)Date: ([^\n]* 00:0[1-9]:.*)`, "$1 429${2}Retry-After: 60\nDate: $3"},
	{limitHeader, "no limit shown", "HTTP", `X-Ratelimit-Limit: .*\n`, ``},
	{limitHeader, "no limit shown to strangers", "401", `X-Ratelimit-Limit: .*\n`, ``},
	{limitHeader, "a limit in words", "HTTP", `(X-Ratelimit-Limit:) .*`, `$1 many`},
	{remainingHeader, "no rest shown", "HTTP", `X-Ratelimit-Remaining: .*\n`, ``},
	{remainingHeader, "remaining below zero", "HTTP", `(X-Ratelimit-Remaining:) .*`, `$1 -1`},
	{resetHeader, "no reset shown", "HTTP", `X-Ratelimit-Reset: .*\n`, ``},
	{resetHeader, "seconds to go for a reset", "HTTP", `(X-Ratelimit-Reset:) .*`, `$1 60`},
	{resetHeader, "a date for a reset", "HTTP", `(X-Ratelimit-Reset:) .*`, `$1 Sat, 01 Jan 2000 00:01:00 GMT`},
	{resetHeader, "a reset in milliseconds", "HTTP", `(X-Ratelimit-Reset: .*)`, `${1}000`},
	{"8.2 X-RateLimit-Remaining falls", "remaining counts up", "HTTP", `(X-Ratelimit-Remaining:) .*`, `$1 {count}`},
	{"8.2 X-RateLimit-Remaining falls", "remaining never falls", "HTTP", `(X-Ratelimit-Remaining:) .*`, `$1 7`},
	{"8.2 X-RateLimit-Remaining is at most", "more than the limit", "HTTP", `(X-Ratelimit-Remaining:) .*`, `$1 99999`},
	{"8.2 X-RateLimit-Reset is not", "the reset is when the window began", "HTTP",
		`(X-Ratelimit-Reset:) .*`, `$1 946684700`}, // bubbles begin at 946684800

	{"1 bodies", "success without a media type", "200", `Content-Type: .*\n`, ``},
	{"1 bodies", "success as text", "201", `(Content-Type:) .*`, `$1 text/json`},
	{"7 errors are", "errors as text", "401", `(Content-Type:) .*`, `$1 text/plain`},
	{"7 errors have", "400 without a body", "400", allOfBody, `$1`},
	{"7 errors have", "401 without a body", "401", allOfBody, `$1`},
	{"7 errors have", "404 without a body", "404", allOfBody, `$1`},
	{"7 errors have", "null for an error", "404", allOfBody, `${1}null`},
	{"2 Error/code", "code is a number", "HTTP", `"code":"\w+"`, `"code":1`},
	{"2 Error/code", "no code", "HTTP", `"code":"\w+",`, ``},
	{"2 Error/message", "no message", "HTTP", `"message":"(?:[^"\\]|\\.)*",`, ``},
	{"2 Error/status", "status of errors as a string", "HTTP", `"status":(\d+)`, `"status":"$1"`},
	{"2 Error/status", "another status in errors", "HTTP", `"status":401`, `"status":403`},
	{"2 Pet/id is an int64", "ids as floats", "HTTP", `"id":(\d+)`, `"id":$1.0`},
	{"2 Pet/id is an int64", "ids beyond int64", "HTTP", `"id":(\d+)`, `"id":1000000000000000000$1`},
	{"2 Pet/id is unique", "one id in a list", list, `"id":\d+`, `"id":0`},
	{"2 Pet/id is unique", "the same id for each new pet", "201", `"id":\d+`, `"id":1`},
	{"2 Pet/name", "names missing in lists", list, `"name"`, `"title"`},
	{"2 Pet/categoryId", "categoryId as a string in lists", list, `(categoryId":)(\d+)`, `$1"$2"`},
	{"2 Pet/status", "status null if there is none", "HTTP", `("categoryId":\d+)\}`, `$1,"status":null}`},
	{"4.2 the body is", "a new pet is always available", "201", `"status":"\w+"`, `"status":"available"`},
	{"4.1 a pet that was added", "a pet is stored twice", list, `(\{"id":)(\d[^{}]*conformance[^{}]*\})`, `$1$2,${1}9$2`},
	{"4.3 the body is", "getPet returns a list of one", "200 getPet", allOfBody, `$1[$2]`},
	{"4.1 status returns pets", "limit ignored with a status", "GET", `limit=\d+&(status)`, `$1`},
	{"2 NewPet/categoryId keeps", "no negative categories", "HTTP", `(categoryId":)-`, `$1`},
	{"2 Error/message", "message is null", "HTTP", `"message":"(?:[^"\\]|\\.)*"`, `"message":null`},
	{"5 a part of a key", "the case of keys does not matter", "GET", ` Bearer FAKE-API-KEY`, goodAuth},
}

// different has services whose choices are neither those of the fake nor of its variants, where the
// document is silent. No clause may fail for them.
var different = []bug{
	{"", "more fields in pets", "HTTP", `"id":(\d+)`, `"id":$1,"breed":null,"photos":[{"id":"7"}]`},
	{"", "more fields in errors", "HTTP", `"code":"(\w+)"`, `"code":"$1","details":[]`},
	{"", "other codes", "HTTP", `"code":"\w+"`, `"code":"E-17"`},
	{"", "indented bodies", "HTTP", `([,{\[])"`, "$1\n  \""},
	{"", "escapes in names", "HTTP", `petstore-go conformance`, `petstore\u002dgo conformance`},
	{"", "a charset", "HTTP", `(Content-Type:) .*`, `$1 Application/JSON; charset=UTF-8`},
	{"", "no challenge", "401", `Www-Authenticate: .*\n`, ``},
	{"", "no Date", "HTTP", `Date: .*\n`, ``},
	{"", "no quota shown", "HTTP", `(X-Ratelimit-(?:Limit|Remaining):) .*`, `$1 2147483647`},
	{"", "a quota in strides", "HTTP", `(X-Ratelimit-Remaining: .*)\d`, `${1}0`},
	{"", "a window that slides within the second of its end", "20",
		`( 00:00:0\d GMT\nX-Ratelimit-Limit:) .*(\n.*Remaining:) .*(\n.*Reset:) .*`, `$1 999$2 {count}$3 946684801`},
	{"", "a limit of days", "HTTP", `(X-Ratelimit-Reset: 94)6`, `${1}7`},
	{"", "pages of five at most", "GET", `^GET /pets(?:\?limit=\d\d+)?([& ])`, `GET /pets?limit=5$1`},
	{"", "categories that are known", "POST", `\{.*"categoryId":(-?\d{5,}|0)\b.*`, `{}`},
	{"", "plain names", "POST", `\{.*[^\x00-\x7f].*`, `{}`},
	{"", "a default status in lists", list, `("categoryId":\d+)\}`, `$1,"status":"available"}`},
	{"", "a plain 429", "429", `(?s)application/json(.*Retry-After:) \d+(.*\n\n).*`, `text/plain$1 1.5, 90${2}slow down`},
}

// bug is a small change of the fake's behaviour: a pattern in a request or a response, and the text
// with which to replace it. In this text, {count} is the number of requests so far.
type bug struct {
	clause        string // beginning of the name of the clause that must fail; empty: none may fail
	what          string
	in            string // the beginning of the requests or responses that change
	pattern, with string
}

const (
	list      = "200 listPets"
	allOfBody = `(?s)(\n\n)(.*)` // of a response
	aPet      = `{"name":"x","categoryId":1}`
	goodAuth  = " Bearer " + fake.DefaultAPIKey

	limitHeader     = "8.2 every response carries X-RateLimit-Limit"
	remainingHeader = "8.2 every response carries X-RateLimit-Remaining"
	resetHeader     = "8.2 every response carries X-RateLimit-Reset"
)

// service is the fake with a bug, as the transport of a client.
type service struct {
	bug
	pattern *regexp.Regexp
	fake    *fake.Server
	sent    int // requests so far
}

// change returns a text with the bug. Requests begin with a line such as
// "GET /pets?limit=1 Bearer fake-api-key", and responses with one such as
// "HTTP/1.0 200 listPets /pets?limit=1".
func (s *service) change(text string) string {
	if s.what == "" || !strings.HasPrefix(text, s.in) && !strings.HasPrefix(text, "HTTP/1.0 "+s.in) {
		return text
	}
	return s.pattern.ReplaceAllString(text, s.with)
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	path := strings.TrimPrefix(r.URL.RequestURI(), "/v1")
	given, _ := io.ReadAll(r.Body)
	text := s.change(fmt.Sprintf("%s %s %s\n%s", r.Method, path, r.Header.Get("Authorization"), given))
	line, body, _ := strings.Cut(text, "\n")
	words := strings.SplitN(line, " ", 3)
	changed := httptest.NewRequest(r.Method, "http://petstore.example/v1"+words[1], strings.NewReader(body))
	changed.Header = r.Header.Clone()
	changed.Header.Set("Authorization", words[2])
	resp, err := s.fake.HTTPClient().Transport.RoundTrip(changed)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	received, _ := io.ReadAll(resp.Body)
	var header strings.Builder
	_ = resp.Header.WriteSubset(&header, map[string]bool{"Content-Length": true})
	entry := s.fake.RequestsAfter(s.sent, 1)[0]
	s.sent = entry.Seq
	text = fmt.Sprintf("HTTP/1.0 %d %s %s\n%s\n%s", resp.StatusCode, entry.Operation, path,
		strings.ReplaceAll(header.String(), "\r\n", "\n"), received)
	text = strings.ReplaceAll(s.change(text), "{count}", fmt.Sprint(s.sent))
	return http.ReadResponse(bufio.NewReader(strings.NewReader(text)), r)
}

// Each planted bug has two runs, with a full catalogue and with an empty one. In at least one of
// them, the clause that covers the bug must fail.
func TestPlanted(t *testing.T) {
	caught := make(map[string]bool) // clauses
	for _, b := range slices.Concat(bugs, different) {
		begins := func(c clause) bool { return strings.HasPrefix(c.name()+" ", b.clause) }
		name := clauses[slices.IndexFunc(clauses, begins)].name()
		caught[name] = caught[name] || b.clause != ""
		t.Run(b.what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				plan, text := fake.WithPlan(fake.Plan{PerMinute: 120}), "" // enough for a run, and soon used up
				for _, pets := range []fake.Option{catalogue(), nil} {
					_, s := open(t, b, plan, pets)
					failed, _ := s.checkAll()
					text = cmp.Or(text, failed[name])
					assert.True(t, b.clause != "" || len(failed) == 0, failed)
				}
				reported := regexp.MustCompile(`^section [\d.]+: expected .+, got .+\n\tin .+$`).MatchString(text)
				assert.Equal(t, b.clause != "", reported, text)
			})
		})
	}
	for _, c := range clauses {
		assert.True(t, caught[c.name()], "no bug makes this clause fail: %s", c.name())
	}
}
