package fake_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/faketest"
	"github.com/petstore/petstore-go/internal/retry"
)

// rules returns the rules that were broken so far, in order.
func rules(srv *fake.Server) []fake.Rule {
	broken := []fake.Rule{}
	for _, v := range srv.Violations() {
		broken = append(broken, v.Rule)
	}
	return broken
}

// givenUp is a request whose client waits for a second.
type givenUp request

// play does what a client of a script does: it sends requests, with faults and pauses in between.
func (d entryPoint) play(t *testing.T, srv *fake.Server, script []any) {
	t.Helper()
	for _, step := range script {
		switch step := step.(type) {
		case fake.Fault:
			srv.Inject(step)
		case time.Duration:
			time.Sleep(step)
		case request:
			_, _ = d.try(t, step)
		case givenUp:
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := d.do(request(step).build(t, d.base).WithContext(ctx))
			assert.Error(t, err)
			cancel()
			synctest.Wait()
		}
	}
}

func TestViolationsOfScripts(t *testing.T) {
	list, rex, ada := request{path: "/pets"}, create("Rex"), create("Ada")
	one := with(fake.WithPlan(fake.Plan{PerMinute: 1}))
	ban := append(one[:1:1], fake.WithBan(1, time.Hour))
	noWait := append(ban[:2:2], fake.WithBehavior(fake.Behavior{RetryAfter: fake.RetryAfterAbsent}))
	const early, provoked, repeated = fake.RuleEarlyRetry, fake.RuleBanProvoked, fake.RuleRepeatedCreate
	type script []any
	type row struct {
		opts   []fake.Option
		script script
		want   []fake.Rule
	}
	rows := map[string]row{
		"over the limit once":              {one, script{list, list}, nil},
		"a second before Retry-After":      {one, script{list, list, 59 * time.Second, list}, []fake.Rule{early}},
		"after Retry-After":                {one, script{list, list, time.Minute, list}, nil},
		"early after a fault's header":     {nil, script{fake.Fault{Status: 429, Header: http.Header{"retry-after": {"30"}}}, list, list}, []fake.Rule{early}},
		"after a fault's 429 without time": {nil, script{fake.Fault{Status: 429, RetryAfter: "soon"}, list, list}, nil},
		"after a fault's negative time":    {nil, script{fake.Fault{Status: 429, RetryAfter: "-1"}, list, list}, nil},
		"after a fault's date": {
			nil, script{fake.Fault{Status: 429, RetryAfter: "Sat, 01 Jan 2000 00:00:30 GMT"}, list, 30 * time.Second, list}, nil,
		},
		"another call after a 503": {nil, script{fake.Fault{Status: 503, RetryAfter: "30"}, list, list}, nil},
		"early after a Retry-After that a fault changed": {
			one, script{list, fake.Fault{AfterCommit: true, RetryAfter: "90"}, list, time.Minute, list}, []fake.Rule{early},
		},
		"a ban":                       {ban, script{list, list, list}, []fake.Rule{early, provoked}},
		"a ban without a Retry-After": {noWait, script{list, list, list}, []fake.Rule{provoked}},

		"another create after an unknown outcome":    {nil, script{fake.Fault{Status: 502, AfterCommit: true}, rex, ada}, nil},
		"the same create later":                      {nil, script{fake.Fault{Status: 502}, rex, ada, rex}, []fake.Rule{repeated}},
		"a create after a 429 whose body is cut off": {nil, script{fake.Fault{Status: 429, Wire: fake.WireTruncate}, rex, rex}, nil},
		"a create after a look at the catalogue":     {nil, script{fake.Fault{Status: 500}, rex, list, rex}, nil},
		"a create whose body has dripped":            {nil, script{fake.Fault{Drip: 5 * time.Second, Times: 2}, rex, ada, rex}, nil},
		"a create given up while its body drips":     {nil, script{fake.Fault{Drip: time.Minute}, givenUp(rex), rex}, []fake.Rule{repeated}},
		"a create given up during a delay": {
			nil, script{fake.Fault{Delay: time.Hour, AfterCommit: true}, givenUp(rex), rex}, []fake.Rule{repeated},
		},
	}
	// Of the statuses that the client repeats, a 429 is the one after which the whole key must
	// wait.
	for code := 400; code < 600; code++ {
		if rule := retry.Status(code); rule.Again && !rule.Done {
			rows["early after "+strconv.Itoa(code)] = row{nil, script{fake.Fault{Status: code, RetryAfter: "30"}, list, list}, []fake.Rule{early}}
		}
	}
	for name, f := range map[string]fake.Fault{
		"was reset":          {Status: 429, RetryAfter: "30", Wire: fake.WireReset},
		"was closed":         {AfterCommit: true, Wire: fake.WireClose},
		"became a 500":       {AfterCommit: true, Status: 500},
		"became another 429": {AfterCommit: true, Status: 429},
		"had an odd time":    {AfterCommit: true, RetryAfter: "soon"},
		"lost its time":      {AfterCommit: true, Header: http.Header{"retry-after": nil}},
	} {
		rows["a 429 that "+name] = row{one, script{list, f, list, list}, nil}
		rows["early after one that "+name+" and a true one"] = row{one, script{list, f, list, list, list}, []fake.Rule{early}}
	}
	for name, f := range map[string]fake.Fault{
		"were reset": {AfterCommit: true, Wire: fake.WireReset, Times: 2}, "became 503s": {AfterCommit: true, Status: 503, Times: 2},
	} {
		rows["a ban for 429s that "+name] = row{ban, script{list, f, list, list}, nil}
		rows["early in a ban for 429s that "+name] = row{ban, script{list, f, list, list, list, list}, []fake.Rule{early}}
	}
	rows["a ban for 429s that were reset, long after a true one"] = row{
		ban, script{list, list, time.Minute, list, fake.Fault{AfterCommit: true, Wire: fake.WireReset, Times: 2}, list, list}, nil,
	}
	rows["a ban for 429s that were given up"] = row{
		ban, script{list, fake.Fault{AfterCommit: true, Delay: time.Hour, Times: 2}, givenUp(list), givenUp(list)}, nil,
	}
	for name, c := range rows {
		inBubble(t, name, c.opts, func(t *testing.T, srv *fake.Server, d entryPoint) {
			d.play(t, srv, c.script)
			assert.Equal(t, append([]fake.Rule{}, c.want...), rules(srv))
			assert.Equal(t, strings.Contains(name, "ban"), !srv.Usage(srv.APIKey()).BannedUntil.IsZero())
		})
	}
	inBubble(t, "and their words", ban, func(t *testing.T, srv *fake.Server, d entryPoint) {
		d.play(t, srv, script{list, list, list, 2 * time.Hour, fake.Fault{Status: 500}, rex, rex})
		var words []string
		for _, v := range srv.Violations() {
			words = append(words, v.String())
		}
		assert.Equal(t, []string{
			"early-retry (section 8.3): the key came back 1m0s before its Retry-After had passed, request #3",
			"ban-provoked (section 8.3): the request earned the key a ban: the API key is banned until" +
				" 2000-01-01T01:00:00Z, for 1 requests after a 429 (section 8.3), request #3",
			"repeated-create (section 4.2): the same createPet as #4, whose outcome its client could not know, request #5",
		}, words)
	})
}

func TestRepeatedCreate(t *testing.T) {
	// Each status, since the rule and the client's table of retries are two lists.
	t.Run("where the client says that the outcome is unknown", func(t *testing.T) {
		faketest.Bubble(t, func(t *testing.T, srv *fake.Server) {
			once := petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1})
			for status := 200; status < 600; status++ {
				if status == http.StatusCreated {
					continue // of a pet that was not added: no service does that
				}
				srv.Reset()
				srv.Inject(fake.Fault{Status: status, Operation: petstore.OpCreatePet})
				_, err := srv.Client(once).CreatePet(t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 1})
				unknown := errors.Is(err, petstore.ErrOutcomeUnknown)
				_, err = srv.Client(once).CreatePet(t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 1})
				require.NoError(t, err)
				assert.Equal(t, unknown, slices.Contains(rules(srv), fake.RuleRepeatedCreate), status)
			}
		})
	})
}

func TestViolations(t *testing.T) {
	t.Run("parameters, fields and operations that a client should not use", func(t *testing.T) {
		srv, d := open(t)
		d.send(t, request{path: "/pets?limit=1&page=2&cursor=x"})
		d.send(t, request{path: "/pets", body: `{"name":"Rex","categoryId":1,"tag":"a"}`})
		d.send(t, request{path: "/pets?dry=1", body: `{"name":"Rex","categoryId":1}`})
		d.send(t, request{path: "/pets/1"})
		assert.Equal(t, []fake.Violation{
			{fake.RuleUnknownName, "4", `listPets has no parameter "cursor"`, 1},
			{fake.RuleUnknownName, "4", `listPets has no parameter "page"`, 1},
			{fake.RuleUnknownName, "2", `NewPet has no field "tag"`, 2},
			{fake.RuleUnknownName, "4", `createPet has no parameter "dry"`, 3},
			{
				fake.RuleDeprecated, "4.3",
				"getPet is removed on 5 December 2030; listPets takes its place", 4,
			},
		}, srv.Violations())
		assert.Equal(t, `unknown-name (section 2): NewPet has no field "tag", request #2`, srv.Violations()[2].String())
	})
}

func TestKeyExposed(t *testing.T) {
	for path, exposed := range map[string]bool{
		"/pets?status=sold&limit=%64efault-key": true, "/default-key": true, "/pets#?x=default-key": false,
		"/pets?status=sold": false, // a key that is a short word of the URL
	} {
		for _, auth := range []string{"-", "Basic Zm9v", "Bearer sold", "Bearer unknown-key"} {
			srv := fake.NewServer(fake.WithAPIKey("default-key"), fake.WithKey("sold", fake.PlanFree))
			viaMemory(t, srv).send(t, request{path: path, auth: auth})
			assert.Equal(t, exposed, strings.Contains(srv.Requests()[0].Path, "[redacted]"), path)
			assert.Equal(t, exposed, slices.Contains(rules(srv), fake.RuleKeyExposed), "%s %s", auth, path)
		}
	}
}

func TestWithStrict(t *testing.T) {
	for name, c := range map[string]struct {
		opts []fake.Option
		want string
	}{
		"strict":  {with(fake.WithStrict()), "fake: deprecated-operation (section 4.3)"},
		"allowed": {with(fake.WithStrict(fake.RuleDeprecated)), ""},
		"lenient": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tb := &recorder{}
			srv := fake.NewTestServer(tb, c.opts...)
			assert.Equal(t, http.StatusNotFound, viaMemory(t, srv).send(t, request{path: "/pets/1"}).status)
			tb.end()
			assert.Contains(t, tb.errors.String(), c.want)
			assert.Equal(t, c.want != "", tb.Failed())
		})
	}
}

// The rule knows of each wire whether a client can miss a response that was sent. A wire that hangs
// fails here at once, and is named: this test is before those that send each wire over sockets.
func TestRepeatedCreate_afterEachWire(t *testing.T) {
	for _, w := range fake.Wire("").Values() {
		inBubble(t, string(w), nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
			srv.Inject(fake.Fault{Wire: w})
			d.client.Timeout = time.Hour
			r, err := d.try(t, create("Rex"))
			synctest.Wait() // the server, too, has seen that the client gave up
			unknown := (err != nil || r.status != http.StatusCreated) && len(srv.Requests()) > 0
			d.send(t, create("Rex"))
			assert.Equal(t, unknown, len(srv.Violations()) > 0, w)
		})
	}
}
