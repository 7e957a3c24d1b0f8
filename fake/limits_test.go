package fake_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

func TestAuth(t *testing.T) {
	throughEveryEntryPoint(t, "a 401 says why, without the key", func(t *testing.T, srv server) {
		key, malformed := srv.APIKey(), "there is not one Authorization header with Bearer and a key"
		for _, c := range []struct {
			reason string
			auth   []string
		}{
			{malformed, nil},
			{malformed, []string{"Bearer " + key, "Bearer " + key}},
			{malformed, []string{"Basic " + key}},
			{malformed, []string{"Bearer "}},
			{"is not known to the server", []string{"Bearer wrong-key"}},
			{"is not known to the server", []string{"Bearer " + key + " x"}},
		} {
			header := http.Header{"Authorization": c.auth}
			r := srv.send(t, request{method: "NOSUCH", path: "/pets", header: header})
			assert.Equal(t, http.StatusUnauthorized, r.status, c.auth)
			assert.Contains(t, r.body, c.reason, c.auth)
			assert.NotRegexp(t, key+"|wrong-key", r.body+fmt.Sprint(srv.last(t).Header))
		}
		assert.Equal(t, http.StatusNotFound, srv.send(t, request{path: "/nowhere", auth: "none"}).status, "the path comes first")
		assert.Zero(t, srv.Usage(key).Day)
	})
	inBubble(t, "keys are added, revoked, and added with a new quota and the old number", func(t *testing.T, srv server) {
		number := func(key string) int {
			srv.send(t, request{path: "/pets", auth: "Bearer " + key})
			return srv.last(t).Key
		}
		srv.AddKey("third-key", fake.PlanPro)
		assert.Equal(t, []int{1, 2, 3}, []int{number(srv.APIKey()), number("second-key"), number("third-key")})
		srv.RevokeKey("third-key")
		assert.Zero(t, number("third-key"))
		assert.Equal(t, http.StatusUnauthorized, srv.last(t).StatusCode)
		assert.True(t, srv.Usage("third-key").Revoked)
		srv.AddKey("third-key", fake.PlanPro)
		srv.AddKey("second-key", fake.PlanFree)
		assert.Equal(t, []int{3, 2}, []int{number("third-key"), number("second-key")})
		assert.Equal(t, 1, srv.Usage("third-key").Minute)
		srv.Keys()[0] = "changed" // in a copy
		assert.Equal(t, []string{fake.DefaultAPIKey, "second-key", "third-key"}, srv.Keys())
	}, fake.WithKey("second-key", fake.PlanFree))
}

func TestLimits(t *testing.T) {
	inBubble(t, "headers show the limit with fewer requests left", func(t *testing.T, srv server) {
		shown := func() [2]string {
			h := srv.list(t).header
			return [2]string{h.Get("X-RateLimit-Limit"), h.Get("X-RateLimit-Remaining")}
		}
		assert.Equal(t, [2]string{"3", "2"}, shown())
		srv.admitted(t)
		srv.Inject(fake.Fault{Status: 502, Delay: time.Minute})
		assert.Equal(t, [2]string{"4", "1"}, shown(), "of the time of the response")
		assert.Equal(t, [2]string{"4", "0"}, shown(), "of the day")
		assert.Contains(t, srv.list(t).body, "allows 4 requests per day, the next one at 2000-01-02T00:00:00Z")
		srv.SetPlan(srv.APIKey(), fake.Plan{})
		assert.Equal(t, [2]string{"2147483647", "2147483647"}, shown(), "without limits")
		srv.SetPlan(srv.APIKey(), fake.Plan{PerDay: 9})
		assert.Equal(t, [2]string{"9", "3"}, shown(), "the sixth request of the day")
	}, fake.WithPlan(fake.Plan{PerMinute: 3, PerDay: 4}))
	inBubble(t, "a refusal does not count, and each key has its own plan and windows", func(t *testing.T, srv server) {
		srv.send(t, request{path: "/elsewhere"})
		n, _ := srv.admitted(t)
		assert.Equal(t, 2, n)
		usage := srv.Usage(srv.APIKey())
		assert.Equal(t, []int{2, 2, 1}, []int{usage.Minute, usage.Day, usage.Limited})
		assert.Equal(t, 200, srv.send(t, request{path: "/pets", auth: "Bearer second-key"}).status)
		srv.SetPlan(srv.APIKey(), fake.Plan{PerMinute: 3})
		assert.Equal(t, 200, srv.list(t).status)
		assert.Equal(t, 3, srv.Usage(srv.APIKey()).Minute, "what was counted stays counted")
		assert.Empty(t, srv.Violations(), "a wait that was asked for ends")
		assert.Zero(t, srv.Usage("third-key"))
		time.Sleep(time.Minute)
		assert.Zero(t, srv.Usage(srv.APIKey()).Minute, "a new minute")
		srv.Inject(fake.Fault{AfterCommit: true, Delay: time.Minute})
		assert.Equal(t, "2", srv.list(t).header.Get("X-RateLimit-Remaining"), "of the time when it was counted")
	}, fake.WithPlan(fake.Plan{PerMinute: 2}), fake.WithKey("second-key", fake.PlanFree))
}

func TestBehaviorOf429(t *testing.T) {
	const json, html, date = "application/json", "text/html; charset=utf-8", "Sat, 01 Jan 2000 00:01:00 GMT"
	const reason = "plan enterprise:1,0 allows 1 requests per minute, the next one at 2000-01-01T00:01:00Z (section 8.1)"
	for name, c := range map[string]struct {
		behavior                  fake.Behavior
		retryAfter, content, body string
	}{
		"gives seconds and a reason": {fake.Behavior{}, "60", json, reason},
		"gives a date":               {fake.Behavior{RetryAfter: fake.RetryAfterDate}, date, json, reason},
		"gives no time":              {fake.Behavior{RetryAfter: fake.RetryAfterAbsent}, "", json, reason},
		"has no body":                {fake.Behavior{LimitBody: fake.BodyEmpty}, "60", "", ""},
		"has a page for a body":      {fake.Behavior{LimitBody: fake.BodyHTML}, "60", html, "<h1>429 Too Many Requests</h1>"},
	} {
		inBubble(t, name, func(t *testing.T, srv server) {
			_, r := srv.admitted(t)
			assert.Equal(t, reason, srv.last(t).Hint)
			assert.Contains(t, r.body, c.body)
			assert.Equal(t, c.body == "", r.body == "", r.body)
			assert.Equal(t, c.retryAfter, r.header.Get("Retry-After"))
			assert.Equal(t, c.content, r.header.Get("Content-Type"))
			srv.list(t)
			assert.Equal(t, c.retryAfter == "", len(srv.Violations()) == 0, srv.Violations())
			srv.Inject(fake.Fault{Status: 503, AfterCommit: true})
			assert.Equal(t, json, srv.list(t).header.Get("Content-Type"))
			assert.Equal(t, "injected fault with status 503 after commit", srv.last(t).Hint)
		}, fake.WithPlan(fake.Plan{PerMinute: 1}), fake.WithBehavior(c.behavior))
	}
}

// step is a part of a test of windows. It runs in the order of its fields.
type step struct {
	pause    time.Duration
	change   func(*fake.Server, string) // of the key
	admitted int
	waits    []int // the Retry-After of the requests after the admitted ones, in seconds
}

func TestWindow(t *testing.T) {
	per := func(minute, day int, window fake.WindowKind, more ...fake.Option) []fake.Option {
		return append(more, fake.WithPlan(fake.Plan{PerMinute: minute, PerDay: day}),
			fake.WithBehavior(fake.Behavior{Window: window}))
	}
	use := func(minute, day int) func(*fake.Server, string) {
		return func(s *fake.Server, key string) { s.SetUsage(key, minute, day) }
	}
	for name, c := range map[string]struct {
		opts  []fake.Option
		steps []step
	}{
		"a day from its first request on, not from a look at it": {per(2, 3, ""), []step{
			{change: func(s *fake.Server, key string) { s.Usage(key) }},
			{pause: time.Hour, admitted: 2, waits: []int{60}},
			{pause: time.Minute, admitted: 1, waits: []int{86_340}},
			{pause: 86_339 * time.Second, waits: []int{1}},
			{pause: time.Second, admitted: 2, waits: []int{60}},
		}},
		"a day that ends before the minute, both used up": {per(1, 2, ""), []step{
			{admitted: 1},
			{pause: 24*time.Hour - 30*time.Second, admitted: 1, waits: []int{60}},
		}},
		"a sliding day that ends after the minute, both used up": {per(1, 2, fake.WindowSliding), []step{
			{admitted: 1},
			{pause: 10 * time.Hour, admitted: 1, waits: []int{50_400}},
		}},
		"aligned, to the end of the minute and of the day": {per(3, 4, fake.WindowAligned), []step{
			{pause: 24*time.Hour - 90*time.Second, admitted: 3, waits: []int{30}},
			{pause: 30 * time.Second, admitted: 1, waits: []int{60}},
			{pause: time.Minute, admitted: 3, waits: []int{60}},
			{pause: time.Minute, admitted: 1, waits: []int{86_340}},
		}},
		"sliding, as many as drop out": {per(3, 0, fake.WindowSliding), []step{
			{pause: 30 * time.Second, admitted: 1},
			{pause: 20 * time.Second, admitted: 2, waits: []int{40}},
			{pause: 40 * time.Second, admitted: 1, waits: []int{20}},
		}},
		"a minute of 2.1 s has whole seconds": {per(1, 0, "", fake.WithMinute(2100*time.Millisecond)), []step{
			{admitted: 1, waits: []int{3}},
			{pause: 3 * time.Second, admitted: 1, waits: []int{3}},
		}},
		"a ban for the third 429 in a row, for five minutes": {per(1, 0, "", fake.WithBan(2, 5*time.Minute)), []step{
			{admitted: 1, waits: []int{60, 60}},
			{pause: time.Minute, admitted: 1, waits: []int{60, 60, 300}},
			{pause: 4 * time.Minute, waits: []int{60, 60, 60}},
			{pause: time.Minute, admitted: 1},
		}},
		"a minute whose use is set": {per(2, 9, ""), []step{
			{admitted: 1},
			{pause: 30 * time.Second, change: use(2, 2), waits: []int{30}},
			{change: use(1, 1), admitted: 1, waits: []int{30}},
			{change: use(0, 9), waits: []int{86_370}},
		}},
		"a sliding minute whose use is set": {per(2, 0, fake.WindowSliding), []step{
			{admitted: 1},
			{pause: 30 * time.Second, change: use(2, 2), waits: []int{60}},
			{pause: time.Minute, admitted: 2},
		}},
	} {
		inBubble(t, name, func(t *testing.T, srv server) {
			for i, step := range c.steps {
				time.Sleep(step.pause)
				if step.change != nil {
					step.change(srv.Server, srv.APIKey())
				}
				for range step.admitted {
					require.Equal(t, 200, srv.list(t).status, i)
				}
				for _, wait := range step.waits {
					r := srv.list(t)
					require.Equal(t, http.StatusTooManyRequests, r.status, i)
					assert.Equal(t, fmt.Sprint(wait), r.header.Get("Retry-After"), i)
					assert.Equal(t, "0", r.header.Get("X-RateLimit-Remaining"), i)
					if usage := srv.Usage(srv.APIKey()); usage.BannedUntil.IsZero() {
						reset := time.Now().Unix() + int64(wait)
						assert.Equal(t, fmt.Sprint(reset), r.header.Get("X-RateLimit-Reset"), i)
						assert.Contains(t, []int64{usage.MinuteReset.Unix(), usage.DayReset.Unix()}, reset, i)
					}
				}
			}
		}, c.opts...)
	}
}

func TestBanKey(t *testing.T) {
	inBubble(t, "bans at once, and 0 lifts the ban", func(t *testing.T, srv server) {
		srv.BanKey(srv.APIKey(), time.Hour-time.Second/2) // rounded up to a whole second
		srv.list(t)
		r := srv.list(t)
		assert.Contains(t, r.body, "the API key is banned until 2000-01-01T01:00:00Z (section 8.3)")
		assert.Equal(t, "0", r.header.Get("X-RateLimit-Remaining"))
		assert.Equal(t, "5", r.header.Get("X-RateLimit-Limit"), "of the day, which has fewer requests left")
		assert.Equal(t, fmt.Sprint(time.Now().Unix()+60), r.header.Get("X-RateLimit-Reset"), "of the minute, nevertheless")
		assert.Equal(t, time.Now().Add(time.Hour).Unix(), srv.Usage(srv.APIKey()).BannedUntil.Unix())
		assert.Equal(t, 2, srv.Usage(srv.APIKey()).Limited)
		srv.BanKey(srv.APIKey(), 0)
		assert.Equal(t, 200, srv.list(t).status)
		assert.Equal(t, []fake.Rule{fake.RuleEarlyRetry}, srv.rules(), "during the ban, and not after it")
	}, fake.WithPlan(fake.Plan{PerMinute: 9, PerDay: 5}))
}

func TestClock(t *testing.T) {
	inBubble(t, "going back starts new windows and ends a ban", func(t *testing.T, srv server) {
		srv.BanKey("second-key", time.Hour)
		_, _ = srv.admitted(t)
		srv.Advance(-24 * time.Hour)
		assert.Equal(t, 200, srv.list(t).status)
		assert.Empty(t, srv.Violations(), "the wait that a 429 asked for is over")
		assert.Equal(t, 200, srv.send(t, request{path: "/pets", auth: "Bearer second-key"}).status)
	}, fake.WithPlan(fake.Plan{PerMinute: 2, PerDay: 2}), fake.WithKey("second-key", fake.PlanPro))
	inBubble(t, "a request that is held back does not look like a clock that went back", func(t *testing.T, srv server) {
		srv.Inject(fake.Fault{Delay: 30 * time.Second})
		go srv.list(t)
		time.Sleep(29 * time.Second)
		srv.list(t)
		time.Sleep(2 * time.Second)
		assert.Equal(t, 429, srv.list(t).status)
	}, fake.WithPlan(fake.Plan{PerMinute: 2}))
}
