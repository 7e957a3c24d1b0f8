package conformance

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

func TestRunConduct(t *testing.T) {
	// Each test has a bubble of its own, with a fake and a session that is not destructive.
	test := func(name string, f func(*testing.T, *fake.Server, *session), opts ...fake.Option) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, s := open(t, bug{}, opts...)
				s.target.Destructive = false
				f(t, srv, s)
			})
		})
	}
	test("sends few requests and adds few pets", func(t *testing.T, srv *fake.Server, s *session) {
		s.checkAll()
		assert.Less(t, len(srv.Requests()), 100)
		require.Len(t, srv.Pets(), 25)
		names := make(map[string]bool)
		for _, pet := range srv.Pets() {
			assert.True(t, strings.HasPrefix(pet.Name, "petstore-go conformance "), pet.Name)
			assert.False(t, names[pet.Name], "a service may take a name only once")
			names[pet.Name] = true
		}
	})
	test("adds the fewer pets the more there are", func(t *testing.T, srv *fake.Server, s *session) {
		s.checkAll()
		assert.Len(t, srv.Pets(), 27+8)
	}, catalogue())
	// A 429 that a run provokes by accident could lead to a ban of the key.
	for _, ahead := range []time.Duration{-time.Hour, 0, time.Hour} {
		test("waits for a short quota, by the clock of the service", func(t *testing.T, srv *fake.Server, s *session) {
			srv.Advance(ahead)
			failed, _ := s.checkAll()
			assert.Empty(t, failed)
			assert.Nil(t, s.stopped)
			assert.Zero(t, srv.Usage(srv.APIKey()).Limited, "a 429 was provoked")
		}, fake.WithPlan(fake.Plan{PerMinute: 10}))
	}
	test("waits if others use up the quota", func(t *testing.T, srv *fake.Server, s *session) {
		srv.Inject(fake.Fault{Skip: 7, Status: http.StatusTooManyRequests, RetryAfter: "20"})
		failed, _ := s.checkAll()
		assert.Empty(t, failed)
		for _, v := range srv.Violations() {
			assert.NotEqual(t, fake.RuleEarlyRetry, v.Rule, v.Detail)
		}
	})
	for value, wait := range map[string]time.Duration{
		"20": 20 * time.Second, "1.5": 1500 * time.Millisecond, "Sat, 01 Jan 2000 00:00:20 GMT": 20 * time.Second,
		"soon": time.Minute, "0": time.Minute,
	} {
		test("waits as long as a 429 says: "+value, func(t *testing.T, srv *fake.Server, s *session) {
			srv.Inject(fake.Fault{Status: http.StatusTooManyRequests, RetryAfter: value, Header: http.Header{
				headerLimit: nil, headerRemaining: nil, headerReset: nil,
			}})
			begun := time.Now()
			assert.Equal(t, http.StatusOK, s.ask(getPets).status)
			assert.Equal(t, wait, time.Since(begun))
		})
	}
	for name, fault := range map[string]fake.Fault{
		"an hour":      {Status: http.StatusTooManyRequests, RetryAfter: "3600"},
		"again":        {Status: http.StatusTooManyRequests, RetryAfter: "1", Times: 2},
		"without time": {Status: http.StatusTooManyRequests, RetryAfter: "soon", Times: 2},
	} {
		test("ends before a long wait: "+name, func(t *testing.T, srv *fake.Server, s *session) {
			srv.Inject(fault)
			failed, skipped := s.checkAll()
			assert.Empty(t, failed)
			assert.Len(t, skipped, len(clauses))
			assert.NotNil(t, s.stopped)
			assert.LessOrEqual(t, len(srv.Requests()), 2)
		})
	}
	test("sends nothing on a day that is used up", func(t *testing.T, srv *fake.Server, s *session) {
		s.checkAll()
		require.NotNil(t, s.stopped)
		assert.Contains(t, s.stopped.text, "the quota is used up")
		assert.Zero(t, srv.Usage(srv.APIKey()).Limited)
		assert.Equal(t, 11, srv.Usage(srv.APIKey()).Day, "one of twelve is left to others")
	}, fake.WithPlan(fake.Plan{PerMinute: 100, PerDay: 12}))
	test("sends two requests to a service that is down", func(t *testing.T, srv *fake.Server, s *session) {
		injected := srv.Inject(fake.Fault{Wire: fake.WireReset, Times: fake.Forever})
		failed, skipped := s.checkAll()
		assert.Len(t, clauses, len(failed)+len(skipped))
		assert.Contains(t, fmt.Sprint(failed), "expected a response to POST /pets, got none")
		assert.Equal(t, 2, injected.Fired())
	})
	test("follows no redirects", func(t *testing.T, srv *fake.Server, s *session) {
		srv.Inject(fake.Fault{
			Operation: petstore.OpListPets, Times: fake.Forever, Status: http.StatusFound,
			Header: http.Header{"Location": {"http://elsewhere.example/v1/pets"}},
		})
		failed, _ := s.checkAll()
		assert.Contains(t, failed["4.1 success is 200"], "expected 200, got 302")
	})
	test("works with a short key", func(t *testing.T, _ *fake.Server, s *session) {
		s.target.APIKey = "a"
		failed, _ := s.checkAll()
		assert.Empty(t, failed)
	}, fake.WithKey("a", fake.PlanPro))
	test("never names the key", func(t *testing.T, srv *fake.Server, s *session) {
		srv.Inject(fake.Fault{
			Times: fake.Forever, Status: http.StatusTeapot, Message: "what is " + fake.DefaultAPIKey + "?",
			Header: http.Header{"Content-Type": {fake.DefaultAPIKey}},
		})
		failed, skipped := s.checkAll()
		assert.NotContains(t, fmt.Sprint(failed, skipped), srv.APIKey())
		assert.Contains(t, fmt.Sprint(failed), "what is [key]?")
	})
}
