package fake_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

const allRules = "early-retry, ban-provoked, repeated-create, unknown-parameter, unknown-field, " +
	"zero-category, deprecated-operation, key-exposed"

func TestServer_misusePanics(t *testing.T) {
	srv := fake.NewTestServer(t)
	lost := fake.Plan{Name: "Lost", PerMinute: -1}
	for message, misuse := range map[string]func(){
		"WithKey: the key must be non-empty printable ASCII without spaces": func() {
			fake.WithKey("two words", fake.PlanFree)
		},
		"WithAPIKey: the key must be non-empty printable ASCII without spaces": func() { fake.WithAPIKey("") },
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
		"WithNotify: the function is nil":           func() { fake.WithNotify(nil) },
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
		"WithAllowed: there is no rule \"deprecated\"; the rules are " + allRules: func() {
			fake.WithAllowed("deprecated")
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
		"RequestsOf: there is no operation \"ListPets\"; the operations are listPets, createPet, getPet": func() {
			srv.RequestsOf("ListPets")
		},
		"WaitForRequests: -1 is a negative number of requests": func() { _ = srv.WaitForRequests(t.Context(), -1) },
		"Inject: there is no operation \"ListPets\"; the operations are listPets, createPet, getPet": func() {
			srv.Inject(fake.Fault{Operation: "ListPets"})
		},
		"Inject: APIKey is a key that no request can present: it has a space or a control character": func() {
			srv.Inject(fake.Fault{APIKey: "two words"})
		},
		"Inject: For is negative": func() { srv.Inject(fake.Fault{For: -1}) },
	} {
		assert.PanicsWithValue(t, "fake: "+message, misuse)
	}
}

func TestServer_misuseFailsTest(t *testing.T) {
	srv := fake.NewTestServer(t)
	for message, misuse := range map[string]func(fake.TB) bool{
		"AssertRequests: there is no operation \"ListPets\"; the operations are listPets, createPet, getPet": func(tb fake.TB) bool {
			return srv.AssertRequests(tb, "ListPets", 0)
		},
		"AssertRequests: -1 is a negative number of requests": func(tb fake.TB) bool {
			return srv.AssertRequests(tb, fake.OpListPets, -1)
		},
		"AssertNoViolations: there is no rule \"deprecated\"; the rules are " + allRules: func(tb fake.TB) bool {
			return srv.AssertNoViolations(tb, "deprecated")
		},
	} {
		tb := &recorder{}
		assert.False(t, misuse(tb))
		assert.Equal(t, "fake: "+message+"\n", tb.errors.String())
	}
}

func TestFault_Validate(t *testing.T) {
	require.NoError(t, fake.Fault{}.Validate())
	assert.EqualError(t, fake.Fault{Chance: 2}.Validate(),
		"fake: Fault: Chance is not a probability between 0 and 1")
}

func TestServer_Close_failsCallsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := fake.NewTestServer(t)
		client, direct := srv.Client(), srv.Client(petstore.WithHTTPClient(&http.Client{Transport: srv.Transport()}))
		srv.Close()
		start := time.Now()
		for _, c := range []*petstore.Client{client, direct} {
			_, err := c.ListPets(t.Context(), petstore.ListPetsParams{})
			require.ErrorContains(t, err, "fake: the server is closed")
			_, err = c.CreatePet(t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 1})
			require.ErrorContains(t, err, "fake: the server is closed")
			assert.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
		}
		assert.Zero(t, time.Since(start), "no attempt is repeated")
	})
}

func TestServer_Advance_logsThatItWakesNoClient(t *testing.T) {
	for name, c := range map[string]struct {
		sent int
		move func(*fake.Server)
	}{
		"after a 429":             {2, func(srv *fake.Server) { srv.Advance(time.Minute) }},
		"after the last request":  {1, func(srv *fake.Server) { srv.Advance(time.Hour) }},
		"by SetTime":              {1, func(srv *fake.Server) { srv.SetTime(srv.Now().Add(time.Minute)) }},
		"not for less than a ban": {0, func(srv *fake.Server) { srv.Advance(time.Hour) }},
	} {
		t.Run(name, func(t *testing.T) {
			tb := &recorder{}
			srv := fake.NewTestServer(tb, fake.WithPlan(fake.Enterprise(1, 0)))
			for range c.sent {
				viaTransport(t, srv).list(t)
			}
			srv.Advance(time.Second)
			assert.Empty(t, tb.log.String())
			c.move(srv)
			want := "That wakes no client: clients wait by their own clock."
			assert.Equal(t, c.sent > 0, len(tb.log.String()) > 0)
			if c.sent > 0 {
				assert.Contains(t, tb.log.String(), want)
			}
		})
	}
}

func TestServer_WithStrict_zeroCategory(t *testing.T) {
	for name, c := range map[string]struct {
		opts   []fake.Option
		errors string
	}{
		"a violation": {nil, "fake: zero-category (section 2): categoryId is 0, a legal value, or a field" +
			" that was missing in what the program decoded, request #1\n"},
		"allowed": {[]fake.Option{fake.WithAllowed(fake.RuleZeroCategory)}, ""},
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

func TestListPets_oneSpellingOfNumbers(t *testing.T) {
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

func TestServer_WaitForRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := fake.NewTestServer(t)
		require.NoError(t, srv.WaitForRequests(t.Context(), 0))
		start := time.Now()
		go func() {
			for range 3 {
				time.Sleep(time.Second)
				_, err := srv.Client().ListPets(t.Context(), petstore.ListPetsParams{})
				assert.NoError(t, err)
			}
		}()
		require.NoError(t, srv.WaitForRequests(t.Context(), 2))
		assert.Equal(t, 2*time.Second, time.Since(start))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := srv.WaitForRequests(ctx, 4)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.EqualError(t, err, "fake: 3 of 4 requests arrived: context deadline exceeded")
	})
}

func TestServer_RequestsOf(t *testing.T) {
	srv := fake.NewTestServer(t, fake.WithKey("second-key", fake.PlanFree))
	d := viaTransport(t, srv)
	d.list(t)
	_, err := srv.ClientFor("second-key").CreatePet(t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 7})
	require.NoError(t, err)
	d.send(t, request{path: "/pets", body: "{}"})
	creates := srv.RequestsOf(fake.OpCreatePet)
	require.Len(t, creates, 2)
	assert.Equal(t, srv.KeyNumber("second-key"), creates[0].Key)
	pet, err := creates[0].NewPet()
	require.NoError(t, err)
	assert.Equal(t, petstore.NewPet{Name: "Rex", CategoryID: 7}, pet)
	_, err = creates[1].NewPet()
	require.EqualError(t, err, "fake: request #3: the required fields name and categoryId are missing")
	assert.Len(t, srv.RequestsOf(""), 3)
	assert.Empty(t, srv.RequestsOf(fake.OpGetPet))
}
