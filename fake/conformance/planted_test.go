package conformance

import (
	"bytes"
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
	bug    string
	clause string      // that must fail; empty: none may
	before func(*call) // changes a request before the fake has it
	after  func(*call) // changes the response of the fake
}

// call is a request and its response on their way through a service.
type call struct {
	op    string // list, create or get
	id    string // of get
	query url.Values
	auth  string
	body  string

	status   int
	header   http.Header
	response string
}

// swap replaces what fits a pattern.
func swap(text *string, pattern, with string) {
	*text = regexp.MustCompile(pattern).ReplaceAllString(*text, with)
}

// number changes a header that is a number.
func (c *call) number(header string, change func(old int) int) {
	old, _ := strconv.Atoi(c.header.Get(header))
	c.header.Set(header, strconv.Itoa(change(old)))
}

const (
	goodAuth = "Bearer " + fake.DefaultAPIKey
	aPet     = `{"name":"x","categoryId":1}`
)

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
	c := &call{op: "list", query: r.URL.Query(), auth: r.Header.Get("Authorization"), body: string(sent)}
	switch {
	case r.Method == http.MethodPost:
		c.op = "create"
	case path.Base(r.URL.Path) != "pets":
		c.op, c.id = "get", path.Base(r.URL.Path)
	}
	if tr.before != nil {
		tr.before(c)
	}
	r = r.Clone(r.Context())
	r.URL.RawQuery, r.Body, r.ContentLength = c.query.Encode(), io.NopCloser(strings.NewReader(c.body)), int64(len(c.body))
	if r.Header.Del("Authorization"); c.auth != "" {
		r.Header.Set("Authorization", c.auth)
	}
	if c.op == "get" {
		r.URL.Path = "/v1/pets/" + c.id
	}
	resp, err := tr.fake.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	received, err := io.ReadAll(resp.Body)
	c.status, c.header, c.response = resp.StatusCode, resp.Header, string(received)
	if tr.after != nil {
		tr.after(c)
	}
	return &http.Response{StatusCode: c.status, Header: c.header, Body: io.NopCloser(bytes.NewBufferString(c.response))}, err
}

// planted are services with one bug each. The last ten come from the document, not from the clauses.
func planted() []shop {
	all := slices.Concat(bugsOfLists(), bugsOfNewPets(), bugsOfPets(), bugsOfKeys(), bugsOfErrors(), bugsOfLimits())
	for _, status := range statuses {
		filters := func(c *call) bool { return c.query.Encode() == "limit=100&status="+status }
		all = append(all,
			shop{bug: "filter for " + status + " ignored", clause: "4.1 status=" + status + " returns " + status + " pets only", before: func(c *call) {
				if filters(c) {
					c.query.Del("status")
				}
			}},
			shop{bug: "filter for " + status + " finds nothing", clause: "4.1 status=" + status + " returns the one that was added", after: func(c *call) {
				if filters(c) {
					c.response = "[]"
				}
			}},
			shop{bug: status + " refused", clause: "2 NewPet/status may be " + status, before: func(c *call) { swap(&c.body, `.*"status":"`+status+`".*`, "{}") }},
		)
	}
	for op, name := range map[string]string{"list": petstore.OpListPets, "create": petstore.OpCreatePet, "get": petstore.OpGetPet} {
		for words, auth := range map[string]string{"without a key": noKey, "with an invalid key": invalidKey} {
			all = append(all, shop{bug: name + " served " + words, clause: "5 " + name + " " + words + " is 401", before: func(c *call) {
				if c.op == op && c.auth == auth {
					c.auth = goodAuth
				}
			}})
		}
	}
	return append(all, bugsOfTheDocument()...)
}

// perMinute is enough for a run with an empty catalogue, and soon used up.
const perMinute = 120

// The clause of a bug must fail, alone or in a run, with an empty catalogue or with a full one.
func TestPlanted(t *testing.T) {
	for _, one := range slices.Concat(planted(), different()) {
		t.Run(one.bug, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				all := clauses()
				its := slices.IndexFunc(all, func(c clause) bool { return c.name() == one.clause })
				for _, opts := range [][]fake.Option{nil, {catalogue()}} {
					_, s := open(t, one, append(opts, fake.WithPlan(fake.Plan{PerMinute: perMinute}))...)
					if its >= 0 {
						if err := s.check(all[its]); err != nil && !isSkip(err) {
							return
						}
					}
					failed, _ := s.checkAll()
					if one.clause == "" {
						assert.Empty(t, failed)
					} else if failed[one.clause] != nil {
						return
					}
				}
				assert.Empty(t, one.clause, "the bug is not reported")
			})
		})
	}
	// A clause that no bug can fail would be worth nothing.
	for _, c := range clauses() {
		assert.True(t, slices.ContainsFunc(planted(), func(s shop) bool { return s.clause == c.name() }), c.name())
	}
}
