package fake_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

func TestMisuse(t *testing.T) {
	allRules, operations := strings.Join(fakecontrol.Rules(), ", "), strings.Join(fakecontrol.Operations(), ", ")
	t.Run("panics", func(t *testing.T) {
		srv := fake.NewTestServer(t)
		lost := fake.Plan{Name: "Lost", PerMinute: -1}
		for message, misuse := range map[string]func(){
			"WithKey: the key must be non-empty printable ASCII without spaces": func() {
				fake.WithKey("two words", fake.PlanFree)
			},
			"New: the key must be non-empty printable ASCII without spaces": func() { fakecontrol.New(" ", nil) },
			"WithPlan: plan \"Lost\" allows -1 requests per minute and 0 per day; no limit is written 0": func() {
				fake.WithPlan(lost)
			},
			"AddKey: plan \"Lost\" allows -1 requests per minute and 0 per day; no limit is written 0": func() {
				srv.AddKey("another-key", lost)
			},
			"SetPlan: plan \"Enterprise\" allows 0 requests per minute and -5 per day; no limit is written 0": func() {
				srv.SetPlan(srv.APIKey(), fake.Enterprise(0, -5))
			},
			"WithFaults: Skip is negative":              func() { fake.WithFaults(fake.Fault{Skip: -1}) },
			"WithClock: the clock is nil":               func() { fake.WithClock(nil) },
			"WithMinute: 0s is not a positive duration": func() { fake.WithMinute(0) },
			"WithBan: -1 is a negative number of requests": func() {
				fake.WithBan(-1, time.Hour)
			},
			"WithBan: 0s is not a positive duration":           func() { fake.WithBan(5, 0) },
			"WithLatency: -1s is a negative duration":          func() { fake.WithLatency(-time.Second) },
			"SetLatency: -1s is a negative duration":           func() { srv.SetLatency(-time.Second) },
			"WithJournal: -1 is a negative number of requests": func() { fake.WithJournal(-1) },
			"WithTime: 1969-07-20T20:17:40Z is not between 1970 and 2292": func() {
				fake.WithTime(time.Unix(-14182940, 0))
			},
			"SetTime: 0001-01-01T00:00:00Z is not between 1970 and 2292": func() { srv.SetTime(time.Time{}) },
			"WithStrict: there is no rule \"deprecated\"; the rules are " + allRules: func() {
				fake.WithStrict("deprecated")
			},
			"WithBehavior: retry-after is out of range; it must be one of seconds, date, absent": func() {
				fake.WithBehavior(fake.Behavior{RetryAfter: 7})
			},
			"WithBehavior: default-status is out of range; it must be one of none, available, pending, sold": func() {
				fake.WithBehavior(fake.Behavior{DefaultStatus: "lost"})
			},
			"BanKey: the server does not know this key; WithKey and AddKey add keys": func() {
				srv.BanKey("unknown-key", time.Hour)
			},
			"BanKey: -1h0m0s is a negative duration; 0 lifts a ban": func() { srv.BanKey(srv.APIKey(), -time.Hour) },
			"SetPlan: the server does not know this key; WithKey and AddKey add keys": func() {
				srv.SetPlan("unknown-key", fake.PlanFree)
			},
			"RevokeKey: the server does not know this key; WithKey and AddKey add keys": func() {
				srv.RevokeKey("unknown-key")
			},
			"ClientFor: the server does not know this key; WithKey and AddKey add keys": func() {
				srv.ClientFor("unknown-key")
			},
			"RequestsOf: there is no operation \"ListPets\"; the operations are " + operations: func() {
				srv.RequestsOf("ListPets")
			},
			"WaitForRequests: -1 is a negative number of requests": func() { _ = srv.WaitForRequests(t.Context(), -1) },
			"Inject: there is no operation \"ListPets\"; the operations are " + operations: func() {
				srv.Inject(fake.Fault{Operation: "ListPets"})
			},
			"Inject: APIKey is a key that no request can present: it has a space or a control character": func() {
				srv.Inject(fake.Fault{APIKey: "two words"})
			},
			"Inject: For is negative": func() { srv.Inject(fake.Fault{For: -1}) },
		} {
			assert.PanicsWithValue(t, "fake: "+message, misuse)
		}
	})
	t.Run("of an assertion fails the test", func(t *testing.T) {
		srv := fake.NewTestServer(t)
		for message, misuse := range map[string]func(fake.TB) bool{
			"AssertRequests: there is no operation \"ListPets\"; the operations are " + operations: func(tb fake.TB) bool {
				return srv.AssertRequests(tb, "ListPets", 0)
			},
			"AssertRequests: -1 is a negative number of requests": func(tb fake.TB) bool {
				return srv.AssertRequests(tb, petstore.OpListPets, -1)
			},
			"AssertNoViolations: there is no rule \"deprecated\"; the rules are " + allRules: func(tb fake.TB) bool {
				return srv.AssertNoViolations(tb, "deprecated")
			},
		} {
			tb := &recorder{}
			assert.False(t, misuse(tb))
			assert.Equal(t, "fake: "+message+"\n", tb.errors.String())
		}
	})
}

func TestFaultValidate(t *testing.T) {
	require.NoError(t, fake.Fault{}.Validate())
	assert.EqualError(t, fake.Fault{Chance: 2}.Validate(),
		"fake: Fault: Chance is not a probability between 0 and 1")
}

func TestZeroCategory(t *testing.T) {
	for name, c := range map[string]struct {
		opts   []fake.Option
		errors string
	}{
		"a violation": {nil, "fake: zero-category (section 2): categoryId is 0, a legal value, or a field" +
			" that was missing in what the program decoded, request #1\n"},
		"allowed": {[]fake.Option{fake.WithStrict(fake.RuleZeroCategory)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tb := &recorder{}
			srv := fake.NewTestServer(tb, append(c.opts, fake.WithStrict())...)
			result, err := srv.Client().CreatePet(t.Context(), petstore.NewPet{Name: "Rex"})
			require.NoError(t, err)
			assert.Zero(t, result.Pet.CategoryID)
			tb.end()
			assert.Equal(t, c.errors, tb.errors.String())
		})
	}
	srv := fake.NewTestServer(t)
	_, err := srv.Client().CreatePet(t.Context(), petstore.NewPet{Name: "Rex"})
	require.NoError(t, err)
	assert.Empty(t, srv.Violations(), "without WithStrict, 0 is a category like any other")
}

func TestIntegersHaveOneSpelling(t *testing.T) {
	srv := fake.NewTestServer(t, fake.WithPets(catalogue(3)...))
	d := viaTransport(t, srv)
	for _, limit := range []string{"%2B5", "+5", "005", "5.0", "-0", "0x5", "5_0", "٥"} {
		assert.Equal(t, http.StatusBadRequest, d.send(t, request{path: "/pets?limit=" + limit}).status, limit)
	}
	for _, id := range []string{"+1", "%2B1", "01", "-0", "1.0"} {
		assert.Equal(t, http.StatusNotFound, d.send(t, request{path: "/pets/" + id}).status, id)
	}
	assert.Equal(t, http.StatusOK, d.send(t, request{path: "/pets/1"}).status)
}
