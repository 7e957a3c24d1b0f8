package fake_test

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestSetUsage(t *testing.T) {
	for name, c := range map[string]struct {
		window     fake.Window
		minute     int
		day        int
		retryAfter string // of a request 10 seconds later; empty: it is admitted
	}{
		"a used-up minute":             {minute: 2, day: 2, retryAfter: "50"},
		"a used-up sliding minute":     {window: fake.WindowSliding, minute: 2, day: 2, retryAfter: "50"},
		"a used-up day":                {day: 9, retryAfter: "86390"},
		"the last request of a minute": {minute: 1},
		"nothing is used":              {},
	} {
		opts := with(fake.WithPlan(fake.Plan{PerMinute: 2, PerDay: 9}), fake.WithBehavior(fake.Behavior{Window: c.window}))
		inBubble(t, name, opts, func(t *testing.T, srv *fake.Server, d entryPoint) {
			srv.SetUsage(srv.APIKey(), c.minute, c.day)
			assert.Equal(t, []int{c.minute, c.day}, []int{srv.Usage(srv.APIKey()).Minute, srv.Usage(srv.APIKey()).Day})
			time.Sleep(10 * time.Second)
			assert.Equal(t, c.retryAfter, d.list(t).header.Get("Retry-After"))
		})
	}
	inBubble(t, "a window goes on", with(fake.WithPlan(fake.Plan{PerMinute: 2})), func(t *testing.T, srv *fake.Server, d entryPoint) {
		d.list(t)
		time.Sleep(30 * time.Second)
		srv.SetUsage(srv.APIKey(), 2, 0)
		assert.Equal(t, "30", d.list(t).header.Get("Retry-After"))
	})
}

func TestFaultWire_loginPage(t *testing.T) {
	throughEveryEntryPoint(t, "comes from a proxy", nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		d.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		for _, status := range []int{0, 302, 511} {
			srv.Inject(fake.Fault{Wire: fake.WireLoginPage, Status: status})
			r := d.send(t, create("Rex"))
			assert.Equal(t, map[int]int{0: 200, 302: 302, 511: 511}[status], r.status)
			assert.Equal(t, status == 302, r.header.Get("Location") != "")
			assert.Equal(t, "text/html; charset=utf-8", r.header.Get("Content-Type"))
			assert.Contains(t, r.body, "<title>Log in</title>")
			assert.Empty(t, r.header.Values("X-RateLimit-Limit"))
		}
		assert.Empty(t, srv.Pets())
		assert.Zero(t, srv.Usage(srv.APIKey()).Minute)
	})
	srv := fake.NewTestServer(t, fake.WithFaults(fake.Fault{Wire: fake.WireLoginPage}))
	_, err := srv.Client().CreatePet(t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 1})
	assert.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
}

func TestFaultDrip(t *testing.T) {
	for name, c := range map[string]struct {
		fault fake.Fault
		body  string
	}{
		"a long body":       {fake.Fault{Drip: time.Minute, Body: make([]byte, 12_345)}, string(make([]byte, 12_345))},
		"a short one":       {fake.Fault{Drip: time.Minute, Body: []byte("ab")}, "ab"},
		"a body cut off":    {fake.Fault{Drip: time.Minute, Body: []byte("abcd"), Wire: fake.WireTruncate}, "ab"},
		"an error's body":   {fake.Fault{Drip: time.Minute, Status: 503, Body: []byte("ab")}, "ab"},
		"together with 1 h": {fake.Fault{Drip: time.Minute, Delay: time.Hour, Body: []byte("ab")}, "ab"},
	} {
		inBubble(t, name, nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
			srv.Inject(c.fault)
			begun := time.Now()
			r, err := d.try(t, request{path: "/pets"})
			assert.Equal(t, c.body, r.body)
			assert.Equal(t, c.fault.Wire != "", err != nil)
			assert.Equal(t, time.Minute+c.fault.Delay, time.Since(begun))
		})
	}
}

func TestFaultFor_withoutTimes(t *testing.T) {
	inBubble(t, "refused for five minutes", nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		injected := srv.Inject(fake.Fault{Wire: fake.WireRefuse, For: 5 * time.Minute})
		for range 5 {
			_, err := d.try(t, request{path: "/pets"})
			require.ErrorIs(t, err, syscall.ECONNREFUSED)
			time.Sleep(time.Minute)
		}
		assert.Equal(t, http.StatusOK, d.list(t).status)
		assert.Equal(t, 5, injected.Fired())
	})
	t.Run("time that passes in Match ends it", func(t *testing.T) {
		srv, d := open(t)
		srv.Inject(fake.Fault{Status: 503, For: time.Minute, Match: func(*http.Request) bool {
			srv.Advance(time.Hour)
			return true
		}})
		assert.Equal(t, http.StatusOK, d.list(t).status)
		srv.Reset() // so that the fault need not strike
	})
}

func TestAdvance_back(t *testing.T) {
	srv, d := open(t, fake.WithPlan(fake.Plan{PerMinute: 1}))
	d.admitted(t)
	before := srv.Now()
	srv.Advance(-time.Hour)
	assert.True(t, srv.Now().Before(before.Add(-59*time.Minute)))
	assert.Equal(t, http.StatusOK, d.list(t).status, "the windows begin anew")
	assert.Contains(t, panicOf(func() { srv.Advance(-1 << 62) }), "fake: Advance: ")
}

func TestRepeat(t *testing.T) {
	ban := with(fake.WithPlan(fake.Plan{PerMinute: 1}), fake.WithBan(1, time.Hour), fake.WithStrict())
	inBubble(t, "is marked, and no client's", ban, func(t *testing.T, srv *fake.Server, d entryPoint) {
		d.send(t, create("Rex"))
		for seq := 2; seq < 6; seq++ { // over the limit, early, often enough for a ban, and a repeated create
			n, err := srv.Repeat(1)
			require.NoError(t, err)
			assert.Equal(t, seq, n)
			synctest.Wait()
		}
		last := lastRequest(t, srv)
		first, _ := srv.Request(1)
		assert.Equal(t, 1, last.Repeats)
		assert.Equal(t, http.StatusTooManyRequests, last.StatusCode)
		assert.Equal(t, first.Body, last.Body)
		assert.Equal(t, 1, last.Key)
		assert.Empty(t, srv.Violations())
		assert.Zero(t, srv.Usage(srv.APIKey()).BannedUntil)
		assert.Len(t, srv.Pets(), 1)
	})
	inBubble(t, "leaves the conduct of the client as it is", nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		srv.Inject(fake.Fault{Status: 502})
		d.send(t, create("Rex"))
		srv.Inject(fake.Fault{Status: 429, RetryAfter: "3600"})
		_, err := srv.Repeat(1)
		require.NoError(t, err)
		synctest.Wait()
		d.send(t, create("Rex"))
		assert.Equal(t, []fake.Rule{fake.RuleRepeatedCreate}, rules(srv), "and the 429 asked only the operator to wait")
	})
	inBubble(t, "is bounded, and ends with Close", with(fake.WithStrict()), func(t *testing.T, srv *fake.Server, d entryPoint) {
		_, err := srv.Repeat(1)
		require.EqualError(t, err, "fake: Repeat: there is no request #1 in the journal")
		d.list(t)
		refusal := srv.Inject(fake.Fault{Wire: fake.WireRefuse})
		_, err = srv.Repeat(1)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		refusal.Remove()
		srv.Inject(fake.Fault{Wire: fake.WireStall, Times: fake.Forever})
		for range 16 {
			_, err = srv.Repeat(1)
			require.NoError(t, err)
		}
		_, err = srv.Repeat(1)
		require.EqualError(t, err, "fake: Repeat: 16 repeats have not ended yet")
		srv.Close()
		_, err = srv.Repeat(1)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
	})
}

// A list must not take longer for a larger catalogue, with or without a status that few pets have.
func TestListPets_cost(t *testing.T) {
	cost := func(pets int, order fake.Order, query string) uint64 {
		srv := fake.NewTestServer(t, fake.WithPlan(fake.Plan{}), fake.WithJournal(0), fake.WithBehavior(fake.Behavior{Order: order}))
		for range pets {
			srv.AddPet(petstore.NewPet{Name: "Rex", Status: petstore.PetStatusAvailable})
		}
		srv.AddPet(petstore.NewPet{Name: "Max", Status: petstore.PetStatusSold})
		r := request{path: "/pets" + query}.build(t, "http://service.test/v1")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 10 {
			srv.ServeHTTP(httptest.NewRecorder(), r)
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / 10
	}
	for _, order := range []fake.Order{"", fake.OrderDescending, fake.OrderShuffled} {
		for _, query := range []string{"", "?status=sold"} {
			small, large := cost(100, order, query), cost(50_000, order, query)
			assert.Less(t, large, 2*small+20_000, "%s %s: bytes of a list of 20 from 100 pets: %d", order, query, small)
			assert.Less(t, large, uint64(60_000))
		}
	}
}
