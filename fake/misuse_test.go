package fake_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestMisuse(t *testing.T) {
	allRules := strings.Trim(strings.ReplaceAll(fmt.Sprint(fake.Rule("").Values()), " ", ", "), "[]")
	const operations = "listPets, createPet, getPet"
	t.Run("panics", func(t *testing.T) {
		srv := fake.NewTestServer(t)
		lost := fake.Plan{PerMinute: -1}
		const (
			badKey     = "the key has a character that a bearer token cannot have"
			unknownKey = "the server does not know this key; WithKey and AddKey add keys"
			badPlan    = `the plan allows -1 requests per minute and 0 per day; no limit is written 0`
		)
		for message, misuse := range map[string]func(){
			"WithKey: " + badKey:                               func() { fake.WithKey("two words", fake.PlanFree) },
			"AddKey: " + badKey:                                func() { srv.AddKey("schlüssel", fake.PlanFree) },
			"WithAPIKey: " + badKey:                            func() { fake.WithAPIKey(" ") },
			"WithPlan: " + badPlan:                             func() { fake.WithPlan(lost) },
			"WithKey: " + badPlan:                              func() { fake.WithKey("another-key", lost) },
			"AddKey: " + badPlan:                               func() { srv.AddKey("another-key", lost) },
			"SetPlan: " + badPlan:                              func() { srv.SetPlan(srv.APIKey(), lost) },
			"WithFaults: Skip is negative":                     func() { fake.WithFaults(fake.Fault{Skip: -1}) },
			"WithClock: the clock is nil":                      func() { fake.WithClock(nil) },
			"WithMinute: 0s is not a positive duration":        func() { fake.WithMinute(0) },
			"WithBan: -1 is a negative number of requests":     func() { fake.WithBan(-1, time.Hour) },
			"WithBan: 0s is not a positive duration":           func() { fake.WithBan(5, 0) },
			"WithLatency: -1s is a negative duration":          func() { fake.WithLatency(-time.Second) },
			"SetLatency: -1s is a negative duration":           func() { srv.SetLatency(-time.Second) },
			"WithJournal: -1 is a negative number of requests": func() { fake.WithJournal(-1) },
			"SetTime: 1969-07-20T20:17:40Z is not between 1970 and 2292": func() {
				srv.SetTime(time.Unix(-14182940, 0))
			},
			"SetUsage: -1 and 0: there is a negative number of requests":             func() { srv.SetUsage(srv.APIKey(), -1, 0) },
			"SetUsage: " + unknownKey:                                                func() { srv.SetUsage("unknown-key", 1, 1) },
			"SetTime: 0001-01-01T00:00:00Z is not between 1970 and 2292":             func() { srv.SetTime(time.Time{}) },
			"WithStrict: there is no rule \"deprecated\"; the rules are " + allRules: func() { fake.WithStrict("deprecated") },
			"WithBehavior: retry-after is \"soon\"; it must be one of seconds, date, absent": func() {
				fake.WithBehavior(fake.Behavior{RetryAfter: "soon"})
			},
			"WithBehavior: default-status is \"lost\"; it must be one of none, available, pending, sold": func() {
				fake.WithBehavior(fake.Behavior{DefaultStatus: "lost"})
			},
			"BanKey: -1h0m0s is a negative duration; 0 lifts a ban":               func() { srv.BanKey(srv.APIKey(), -time.Hour) },
			"BanKey: " + unknownKey:                                               func() { srv.BanKey("unknown-key", time.Hour) },
			"SetPlan: " + unknownKey:                                              func() { srv.SetPlan("unknown-key", fake.PlanFree) },
			"RevokeKey: " + unknownKey:                                            func() { srv.RevokeKey("unknown-key") },
			"Client: petstore: NewClient: WithMaxResponseBytes: must be positive": func() { srv.Client(petstore.WithMaxResponseBytes(-1)) },
			"ClientFor: " + unknownKey:                                            func() { srv.ClientFor("unknown-key") },
			"RequestsFor: " + unknownKey:                                          func() { srv.RequestsFor("unknown-key") },
			"RequestsOf: there is no operation \"ListPets\"; the operations are " + operations: func() {
				srv.RequestsOf("ListPets")
			},
			"WaitForRequests: -1 is a negative number of requests": func() { _ = srv.WaitForRequests(t.Context(), -1) },
			"Inject: For is negative":                              func() { srv.Inject(fake.Fault{For: -1}) },
			"Inject: there is no wire \"cut\"; the wires are reset, close, truncate, garbage, stall, login-page, refuse": func() {
				srv.Inject(fake.Fault{Wire: "cut"})
			},
		} {
			assert.PanicsWithValue(t, "fake: "+message, misuse)
		}
	})
}

func TestReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := fake.NewServer(fake.WithAPIKey("own-default-key"),
			fake.WithPlan(fake.PlanFree), fake.WithKey("second-key", fake.PlanPro),
			fake.WithPets(petstore.NewPet{Name: "Rex", CategoryID: 1}),
			fake.WithLatency(time.Second), fake.WithFaults(fake.Fault{Status: 503}))
		defer srv.Close()
		state := func() string {
			return fmt.Sprint(time.Until(srv.Now()), srv.Keys(), srv.Pets(), len(srv.Requests()),
				len(srv.Injections()), srv.Injections()[0].Fired(), srv.Usage("own-default-key").Plan, srv.Usage("own-default-key").Minute)
		}
		first := state()
		for range 2 {
			begun := time.Now()
			client := srv.Client(petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}))
			_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
			require.Error(t, err, "the fault strikes again")
			_, err = client.CreatePet(t.Context(), petstore.NewPet{Name: "Mia", CategoryID: 1})
			require.NoError(t, err)
			assert.Equal(t, 2*time.Second, time.Since(begun), "the latency is that of the options")
			srv.AddKey("third-key", fake.PlanFree)
			srv.RevokeKey("second-key")
			srv.SetPlan("own-default-key", fake.PlanPro)
			srv.BanKey("own-default-key", time.Hour)
			srv.AddPet(petstore.NewPet{Name: "Max"})
			never := srv.Inject(fake.Fault{Status: 500})
			srv.Advance(time.Hour)
			srv.SetLatency(time.Minute)
			srv.Reset()
			assert.Equal(t, first, state())
			assert.False(t, never.Active())
			assert.Empty(t, srv.Violations())
		}
	})
}

func TestSetLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := fake.NewTestServer(t)
		srv.SetLatency(time.Second)
		go func() {
			_, err := srv.Client().ListPets(t.Context(), petstore.ListPetsParams{})
			assert.NoError(t, err)
		}()
		synctest.Wait()
		assert.Len(t, srv.Requests(), 1, "a request is in the journal while it is held back")
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, http.StatusOK, srv.Requests()[0].StatusCode)
		assert.Equal(t, time.Second, srv.Requests()[0].Duration)
	})
}

func TestBehavior_UnmarshalText(t *testing.T) {
	for name := range fake.Variants() {
		var b fake.Behavior
		require.NoError(t, b.UnmarshalText([]byte(name)))
		assert.Equal(t, name, b.String())
	}
	var b fake.Behavior
	require.NoError(t, b.UnmarshalText([]byte(" window=sliding, default-status=sold")))
	assert.Equal(t, fake.Behavior{Window: fake.WindowSliding, DefaultStatus: petstore.PetStatusSold}, b)
	for text, message := range map[string]string{
		"": `there is no behaviour ""; the behaviours are default-status, retry-after, limit-body, order, ` +
			`invalid-limit, invalid-status, window, ban-reset, removal, deprecation-headers`,
		"window=open": `window is "open"; it must be one of fixed, aligned, sliding`,
		"removal":     `removal is ""; it must be one of off, on`,
		"window=fixed,window=sliding": `there is no behaviour "window"; the behaviours are default-status, retry-after, limit-body, order, ` +
			`invalid-limit, invalid-status, ban-reset, removal, deprecation-headers`,
	} {
		assert.EqualError(t, b.UnmarshalText([]byte(text)), message)
	}
}

func TestPlan_UnmarshalText(t *testing.T) {
	for text, want := range map[string]fake.Plan{
		"free": {PerMinute: 60, PerDay: 1_000}, "PRO": {PerMinute: 300, PerDay: 10_000}, // section 8.1
		"Business": {PerMinute: 1_000, PerDay: 100_000}, "enterprise:0,7": {PerDay: 7},
	} {
		var p fake.Plan
		require.NoError(t, p.UnmarshalText([]byte(text)))
		assert.Equal(t, want, p)
		assert.Equal(t, strings.ToLower(text), p.String())
	}
	for _, text := range []string{
		"", "no-such-plan", "enterprise", "enterprise:", "enterprise:5", "enterprise:-1,5", "enterprise:1,x", "enterprise:1,2;",
	} {
		p := fake.PlanPro
		require.ErrorContains(t, p.UnmarshalText([]byte(text)), "free, pro, business or enterprise:M,D", text)
		assert.Equal(t, fake.PlanPro, p)
	}
}
