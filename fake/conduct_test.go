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
	"github.com/petstore/petstore-go/internal/fakecontrol"
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

func TestEarlyRetry(t *testing.T) {
	inBubble(t, "a client that comes back before its Retry-After",
		with(fake.WithPlan(fake.Enterprise(1, 0))), func(t *testing.T, srv *fake.Server, d entryPoint) {
			d.admitted(t)
			assert.Empty(t, rules(srv), "going over the limit once is no misconduct")
			time.Sleep(59 * time.Second)
			d.list(t)
			assert.Equal(t, []fake.Violation{{
				Rule: fake.RuleEarlyRetry, Section: "8.3", Seq: 3,
				Detail: "the key came back 1s before its Retry-After had passed",
			}}, srv.Violations())
			time.Sleep(time.Second)
			d.list(t)
			assert.Len(t, srv.Violations(), 1)
		})
	t.Run("the Retry-After of a fault counts", func(t *testing.T) {
		for value, wait := range map[string]time.Duration{
			"30": 30 * time.Second, "Sat, 01 Jan 2000 00:00:30 GMT": 30 * time.Second, "soon": 0, "-1": 0,
		} {
			inBubble(t, value, nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
				srv.Inject(fake.Fault{Status: 429, RetryAfter: value})
				d.list(t)
				time.Sleep(wait)
				d.list(t)
				assert.Empty(t, rules(srv))
			})
		}
		// Each refusal that the client repeats is one after which it must wait.
		for code := 400; code < 600; code++ {
			if rule := retry.Status(code); !rule.Again || rule.Done {
				continue
			}
			inBubble(t, "too early after "+strconv.Itoa(code), nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
				srv.Inject(fake.Fault{Status: code, RetryAfter: "30"})
				d.list(t)
				d.list(t)
				assert.Equal(t, []fake.Rule{fake.RuleEarlyRetry}, rules(srv))
			})
		}
		inBubble(t, "too early", nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
			srv.Inject(fake.Fault{Status: 429, RetryAfter: "30"})
			d.list(t)
			d.list(t)
			assert.Equal(t, []fake.Rule{fake.RuleEarlyRetry}, rules(srv))
			time.Sleep(time.Minute)
			srv.Inject(fake.Fault{Status: 429, Header: http.Header{"retry-after": {"30"}}})
			d.list(t)
			d.list(t)
			assert.Len(t, srv.Violations(), 2)
		})
	})
	inBubble(t, "the Retry-After of a 503 concerns only its own call",
		nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
			srv.Inject(fake.Fault{Status: 503, RetryAfter: "30"})
			d.list(t)
			d.list(t) // another call of the key
			assert.Empty(t, rules(srv))
		})
	t.Run("a 429 that never arrived binds no client", func(t *testing.T) {
		for name, f := range map[string]fake.Fault{
			"injected":          {Status: 429, RetryAfter: "30", Wire: fake.WireReset},
			"of the service":    {AfterCommit: true, Wire: fake.WireClose},
			"another answer":    {AfterCommit: true, Status: 500},
			"an odd 429":        {AfterCommit: true, Status: 429},
			"an odd RetryAfter": {AfterCommit: true, RetryAfter: "soon"},
			"no Retry-After":    {AfterCommit: true, Header: http.Header{"retry-after": nil}},
		} {
			inBubble(t, name,
				with(fake.WithPlan(fake.Enterprise(1, 0))), func(t *testing.T, srv *fake.Server, d entryPoint) {
					d.list(t)
					srv.Inject(f)
					_, _ = d.try(t, request{path: "/pets"})
					d.list(t)
					assert.Empty(t, rules(srv))
					d.list(t)
					assert.Equal(t, []fake.Rule{fake.RuleEarlyRetry}, rules(srv), "the one in between was a 429")
				})
		}
	})
	inBubble(t, "a Retry-After that a fault changed counts as changed",
		with(fake.WithPlan(fake.Enterprise(1, 0))), func(t *testing.T, srv *fake.Server, d entryPoint) {
			d.list(t)
			srv.Inject(fake.Fault{AfterCommit: true, RetryAfter: "90"})
			assert.Equal(t, []string{"90"}, d.list(t).header["Retry-After"])
			time.Sleep(time.Minute)
			d.list(t)
			assert.Equal(t, []fake.Rule{fake.RuleEarlyRetry}, rules(srv))
		})
}

func TestBanProvoked(t *testing.T) {
	t.Run("not by a client that no 429 has reached", func(t *testing.T) {
		opts := with(fake.WithPlan(fake.Enterprise(1, 0)), fake.WithBan(1, time.Minute))
		for name, f := range map[string]fake.Fault{
			"reset":          {AfterCommit: true, Wire: fake.WireReset},
			"another status": {AfterCommit: true, Status: 503},
			"given up":       {AfterCommit: true, Delay: time.Hour},
		} {
			inBubble(t, name, opts, func(t *testing.T, srv *fake.Server, d entryPoint) {
				d.list(t)
				f.Times = 2
				srv.Inject(f)
				for range 2 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					_, _ = d.do(request{path: "/pets"}.build(t, d.base).WithContext(ctx))
					cancel()
				}
				assert.NotZero(t, srv.Usage(srv.APIKey()).BannedUntil, name)
				assert.Empty(t, rules(srv), name)
				d.list(t)
				d.list(t)
				assert.Equal(t, []fake.Rule{fake.RuleEarlyRetry}, rules(srv), "%s: this time it got a 429", name)
			})
		}
	})
	inBubble(t, "without a Retry-After",
		with(fake.WithPlan(fake.Enterprise(1, 0)), fake.WithBan(1, time.Hour), fake.WithBehavior(fake.Behavior{RetryAfter: fake.RetryAfterAbsent})),
		func(t *testing.T, srv *fake.Server, d entryPoint) {
			d.admitted(t)
			d.list(t)
			assert.Equal(t, []fake.Rule{fake.RuleBanProvoked}, rules(srv))
		})
	inBubble(t, "once for each ban",
		with(fake.WithPlan(fake.Enterprise(1, 0)), fake.WithBan(1, time.Hour)),
		func(t *testing.T, srv *fake.Server, d entryPoint) {
			d.admitted(t)
			d.list(t)
			assert.Equal(t, []fake.Rule{fake.RuleEarlyRetry, fake.RuleBanProvoked}, rules(srv))
			ban := srv.Violations()[1]
			assert.Equal(t, 3, ban.Seq)
			assert.Contains(t, ban.Detail, "banned until 2000-01-01T01:00:00Z")
		})
}

func TestRepeatedCreate(t *testing.T) {
	t.Run("after an unknown outcome", func(t *testing.T) {
		for name, f := range map[string]fake.Fault{
			"status 500": {Status: 500}, "status 408": {Status: 408}, "committed": {Status: 502, AfterCommit: true},
			"reset": {Wire: fake.WireReset}, "close": {Wire: fake.WireClose}, "garbage": {Wire: fake.WireGarbage},
			"truncated": {Wire: fake.WireTruncate}, "200": {Status: 200}, "204": {Status: 204},
		} {
			throughEveryEntryPoint(t, name, nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
				srv.Inject(f)
				_, _ = d.try(t, create("Rex"))
				d.send(t, create("Max"))
				assert.Empty(t, rules(srv), "another animal")
				d.send(t, create("Rex"))
				assert.Equal(t, []fake.Violation{{
					Rule: fake.RuleRepeatedCreate, Section: "4.2", Seq: 3,
					Detail: "the same createPet as #1, whose outcome its client could not know",
				}}, srv.Violations())
			})
		}
	})
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
	t.Run("not after a known outcome", func(t *testing.T) {
		for name, f := range map[string]fake.Fault{
			"429": {Status: 429}, "400": {Status: 400}, "501": {Status: 501}, "refused": {Wire: fake.WireRefuse},
			"429 cut off": {Status: 429, Wire: fake.WireTruncate},
		} {
			t.Run(name, func(t *testing.T) {
				srv, d := open(t)
				srv.Inject(f)
				_, _ = d.try(t, create("Rex"))
				d.send(t, create("Rex"))
				assert.Empty(t, rules(srv))
			})
		}
	})
	inBubble(t, "the outcome is known at the end of a body that drips",
		nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
			srv.Inject(fake.Fault{Wire: fake.WireDrip, Times: 2})
			d.send(t, create("Rex"))
			d.send(t, create("Max"))
			d.send(t, create("Rex"))
			assert.Empty(t, rules(srv))
			srv.Inject(fake.Fault{Wire: fake.WireDrip})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := d.do(create("Ada").build(t, d.base).WithContext(ctx))
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			d.send(t, create("Ada"))
			assert.Equal(t, []fake.Rule{fake.RuleRepeatedCreate}, rules(srv))
		})
	t.Run("not after a look at the catalogue", func(t *testing.T) {
		srv, d := open(t)
		srv.Inject(fake.Fault{Status: 500})
		d.send(t, create("Rex"))
		d.list(t)
		d.send(t, create("Rex"))
		assert.Empty(t, rules(srv))
	})
	inBubble(t, "after the client gave up", nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		srv.Inject(fake.Fault{Delay: time.Hour, AfterCommit: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		resp, err := d.client.Do(create("Rex").build(t, d.base).WithContext(ctx))
		if err == nil {
			resp.Body.Close()
		}
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		synctest.Wait()
		d.send(t, create("Rex"))
		assert.Equal(t, []fake.Rule{fake.RuleRepeatedCreate}, rules(srv))
		assert.Len(t, srv.Pets(), 2)
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
			{fake.RuleUnknownParameter, "4", `listPets has no parameter "cursor"`, 1},
			{fake.RuleUnknownParameter, "4", `listPets has no parameter "page"`, 1},
			{fake.RuleUnknownField, "2", `NewPet has no field "tag"`, 2},
			{fake.RuleUnknownParameter, "4", `createPet has no parameter "dry"`, 3},
			{
				fake.RuleDeprecated, "4.3",
				"getPet is removed on 5 December 2030; listPets takes its place", 4,
			},
		}, srv.Violations())
		assert.Equal(t, `unknown-field (section 2): NewPet has no field "tag", request #2`, srv.Violations()[2].String())
	})
	t.Run("one request cannot flood the list", func(t *testing.T) {
		srv := fake.NewTestServer(t)
		query, body := "/pets?", `{"name":"Rex","categoryId":1`
		for i := range 26 {
			query += string(rune('a'+i)) + "=1&"
			body += `,"` + string(rune('a'+i)) + `":1`
		}
		d := viaMemory(t, srv)
		d.send(t, request{path: query})
		d.send(t, request{path: "/pets", body: body + "}"})
		assert.Len(t, srv.Violations(), 20)
	})
}

func TestKeyExposed(t *testing.T) {
	t.Run("any known key, whatever the request is authorized by", func(t *testing.T) {
		for _, auth := range []string{"-", "Basic Zm9v", "Bearer other-key", "Bearer unknown-key"} {
			for _, path := range []string{"/pets?status=sold&limit=%64efault-key", "/default-key", "/pets#?x=default-key"} {
				srv := fakecontrol.New("default-key", nil, fake.WithKey("other-key", fake.PlanFree)).Server
				viaMemory(t, srv).send(t, request{path: path, auth: auth})
				exposed := strings.Contains(srv.Requests()[0].Path, "[redacted]")
				assert.Equal(t, exposed, slices.Contains(rules(srv), fake.RuleKeyExposed), "%s %s", auth, path)
				assert.Equal(t, !strings.Contains(path, "#"), exposed, path)
			}
		}
	})
	t.Run("not a short key that is a word of the URL", func(t *testing.T) {
		for _, key := range []string{"a", "pets", "v1", "sold"} {
			srv := fake.NewTestServer(t, fake.WithKey(key, fake.PlanFree))
			viaMemory(t, srv).send(t, request{path: "/pets?status=sold", auth: "Bearer " + key})
			assert.Empty(t, rules(srv), key)
		}
	})
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

func TestAssertNoLimited(t *testing.T) {
	tb := &recorder{}
	srv := fake.NewServer(fake.WithPlan(fake.Enterprise(1, 0)), fake.WithFaults(fake.Fault{Status: 429, Times: 2}))
	d := viaMemory(t, srv)
	for range 3 {
		d.list(t)
	}
	assert.True(t, srv.AssertNoLimited(tb), "a fault is no limit")
	for range 2 {
		d.list(t)
	}
	assert.False(t, srv.AssertNoLimited(tb))
	assert.Equal(t, "fake: the server refused 2 requests of key 1 with 429\n", tb.errors.String())
}

// The row of each wire says truly whether it takes time, and whether a client can miss a response
// that was sent. A wire that hangs fails here at once, and is named: this test is before those that
// send each wire over sockets.
func TestWires_doWhatTheirRowsSay(t *testing.T) {
	for _, w := range fakecontrol.Wires()[1:] {
		inBubble(t, string(w), nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
			srv.Inject(fake.Fault{Wire: w})
			d.client.Timeout = time.Hour
			begun := time.Now()
			_, err := d.try(t, create("Rex"))
			assert.Equal(t, slices.Contains(fakecontrol.QuickWires(), w), time.Since(begun) == 0, "%s: quick", w)
			unknown := err != nil && len(srv.Requests()) > 0
			d.send(t, create("Rex"))
			assert.Equal(t, unknown, len(srv.Violations()) > 0, "%s: whole", w)
		})
	}
}
