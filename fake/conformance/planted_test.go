package conformance

import (
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// shop is the fake with a bug, or with another choice where the document is silent.
type shop struct {
	bug      string
	clause   string      // the beginning of the name of the one that must fail; empty: none may
	op       string      // the operation whose responses have the bug; empty: all
	status   int         // only responses of this status have the bug; 0: all, or all successes of op
	limit    swap        // a limit that the service takes for another; "" is a missing limit
	admits   string      // a pattern of wrong Authorization headers that are admitted
	request  swap        // in the body of a createPet
	response swap        // in the body
	becomes  int         // the status that is sent
	header   http.Header // is sent in place of the fake's; a name without values is left out
	// What else happens to a request, and to a response.
	before, after func(*call)
}

// swap is a pattern in a text, and what replaces it.
type swap struct{ pattern, with string }

func (s swap) in(text string) string {
	if s == (swap{}) {
		return text
	}
	return regexp.MustCompile(s.pattern).ReplaceAllString(text, s.with)
}

func anything(with string) swap { return swap{`(?s).+`, with} }

func header(name, value string) http.Header { return http.Header{name: {value}} }
func without(name string) http.Header       { return http.Header{name: nil} }

// refuseTaken refuses a pet with a name that another one has.
func refuseTaken(names map[string]bool) func(*call) {
	return func(c *call) {
		name := regexp.MustCompile(`"name":"[^"]*"`).FindString(c.body)
		if names[name] {
			c.body = "{}"
		}
		names[name] = name != ""
	}
}

const (
	goodAuth = "Bearer " + fake.DefaultAPIKey
	aPet     = `{"name":"x","categoryId":1}`
)

// call is a request and its response on their way through a service.
type call struct {
	op    string
	path  string
	query url.Values
	auth  string
	body  string

	status   int
	header   http.Header
	response string
}

// number changes a header that is a number: it rounds it down to a multiple of step, multiplies it
// by factor, and adds more.
func (c *call) number(header string, factor, step, more int) {
	old, _ := strconv.Atoi(c.header.Get(header))
	c.header.Set(header, strconv.Itoa(old/step*step*factor+more))
}

// spoil changes a request before the fake has it.
func (s shop) spoil(c *call) {
	if s.limit != (swap{}) && c.op == petstore.OpListPets && c.query.Get("limit") == s.limit.pattern {
		c.query.Set("limit", s.limit.with)
	}
	if s.admits != "" && regexp.MustCompile(s.admits).MatchString(c.auth) && (s.op == "" || s.op == c.op) {
		c.auth = goodAuth
	}
	if c.op == petstore.OpCreatePet {
		c.body = s.request.in(c.body)
	}
	if s.before != nil {
		s.before(c)
	}
}

// distort changes the response of the fake.
func (s shop) distort(c *call) {
	fits := s.op == "" || s.op == c.op && (s.status > 0 || c.status < 300)
	if fits && (s.status == 0 || s.status == c.status) {
		c.response = s.response.in(c.response)
		if s.becomes > 0 {
			c.status = s.becomes
		}
		for name, values := range s.header {
			c.header.Del(name)
			for _, v := range values {
				c.header.Set(name, v)
			}
		}
	}
	if s.after != nil {
		s.after(c)
	}
}

// transport is the service as the transport of a client.
type transport struct {
	fake http.RoundTripper
	shop
}

func (tr transport) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	c := &call{path: r.URL.Path, query: r.URL.Query(), auth: r.Header.Get("Authorization"), body: string(sent)}
	for _, o := range fake.Operations() {
		pattern := "/v1" + strings.Replace(o.Path, "{petId}", "*", 1)
		if fits, _ := path.Match(pattern, c.path); fits && o.Method == r.Method {
			c.op = o.Name
		}
	}
	tr.spoil(c)
	r = r.Clone(r.Context())
	r.URL.Path = c.path
	r.URL.RawQuery, r.Body, r.ContentLength = c.query.Encode(), io.NopCloser(strings.NewReader(c.body)), int64(len(c.body))
	if r.Header.Del("Authorization"); c.auth != "" {
		r.Header.Set("Authorization", c.auth)
	}
	resp, err := tr.fake.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	received, err := io.ReadAll(resp.Body)
	c.status, c.header, c.response = resp.StatusCode, resp.Header, string(received)
	tr.distort(c)
	return &http.Response{StatusCode: c.status, Header: c.header, Body: io.NopCloser(strings.NewReader(c.response))}, err
}

// planted returns all bugs: those in the list, and those that exist once for each status or
// operation.
func planted() []shop {
	all := slices.Clone(bugs)
	for _, status := range statuses {
		clause, query := "4.1 status="+status+" returns ", "limit=100&status="+status
		all = append(all,
			shop{bug: "filter for " + status + " ignored", clause: clause + status, before: func(c *call) {
				if c.query.Encode() == query {
					c.query.Del("status")
				}
			}},
			shop{bug: "filter for " + status + " finds nothing", clause: clause + "the one", after: func(c *call) {
				if c.query.Encode() == query {
					c.response = "[]"
				}
			}},
			shop{bug: status + " refused", clause: "2 NewPet/status may be " + status, request: swap{`.*"status":"` + status + `".*`, "{}"}},
		)
	}
	for _, o := range fake.Operations() {
		for words, auth := range map[string]string{"without a key": noKey, "with an invalid key": invalidKey} {
			all = append(all, shop{
				bug: o.Name + " served " + words, clause: "5 " + o.Name + " " + words, op: o.Name, admits: "^" + auth + "$",
			})
		}
	}
	return all
}

// perMinute is enough for a run with an empty catalogue, and soon used up.
const perMinute = 120

// The clause of a bug must fail, alone or in a run, with an empty catalogue or with a full one.
func TestPlanted(t *testing.T) {
	caught := make(map[string]bool) // clauses
	for _, one := range slices.Concat(planted(), different) {
		its := slices.DeleteFunc(clauses(), func(c clause) bool { return !strings.HasPrefix(c.name()+" ", one.clause) })
		if one.clause != "" && assert.Len(t, its, 1, one.clause) {
			caught[its[0].name()] = true
		}
		t.Run(one.bug, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for _, opts := range [][]fake.Option{nil, {catalogue()}} {
					_, s := open(t, one, append(opts, fake.WithPlan(fake.Plan{PerMinute: perMinute}))...)
					if one.clause == "" {
						failed, _ := s.checkAll()
						assert.Empty(t, failed)
						continue
					}
					if err := s.check(its[0]); err != nil && !isSkip(err) {
						return
					}
					if failed, _ := s.checkAll(); failed[its[0].name()] != nil {
						return
					}
				}
				assert.Empty(t, one.clause, "the bug is not reported")
			})
		})
	}
	for _, c := range clauses() {
		assert.True(t, caught[c.name()], "bugs_test.go has no bug that makes this clause fail: %s", c.name())
	}
}
