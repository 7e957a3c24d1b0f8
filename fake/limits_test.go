package fake_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

// unixIn returns, as text for a header, the Unix time that it will be in so many seconds.
func unixIn(seconds int) string { return strconv.FormatInt(time.Now().Unix()+int64(seconds), 10) }

func TestAuth(t *testing.T) {
	throughEveryEntryPoint(t, "a 401 says why", nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		key := srv.APIKey()
		for reason, auth := range map[string][]string{
			"there are 0 Authorization headers": nil,
			"there are 2 Authorization headers": {"Bearer " + key, "Bearer " + key},
			"is not Bearer and a key":           {"Basic " + key},
			"er is not Bearer and a key":        {"Bearer "},
			"not known to the server":           {"Bearer wrong-key"},
			"key is not known to the server":    {"Bearer " + key + " x"},
		} {
			r := d.send(t, request{method: "NOSUCH", path: "/pets", auth: "-", header: http.Header{"Authorization": auth}})
			assert.Equal(t, http.StatusUnauthorized, r.status, auth)
			assert.Contains(t, r.body, reason, auth)
			assert.Contains(t, r.body, `(section 5)","status":401}`)
			assert.NotContains(t, r.body, "wrong-key")
		}
		assert.Zero(t, srv.Usage(key).Day)
	})
	t.Run("keys are added, revoked, and added again with a new quota and the old number", func(t *testing.T) {
		srv, d := open(t, fake.WithKey("second-key", fake.PlanFree))
		number := func(key string) int {
			d.send(t, request{path: "/pets", auth: "Bearer " + key})
			return lastRequest(t, srv).Key
		}
		srv.AddKey("third-key", fake.PlanPro)
		assert.Equal(t, []int{1, 2, 3}, []int{number(srv.APIKey()), number("second-key"), number("third-key")})
		srv.RevokeKey("third-key")
		assert.Zero(t, number("third-key"))
		assert.Equal(t, http.StatusUnauthorized, lastRequest(t, srv).StatusCode)
		assert.True(t, srv.Usage("third-key").Revoked)
		srv.AddKey("third-key", fake.PlanPro)
		srv.AddKey("second-key", fake.PlanFree)
		assert.Equal(t, []int{3, 2}, []int{number("third-key"), number("second-key")})
		assert.Equal(t, 1, srv.Usage("third-key").Minute)
		assert.Equal(t, []string{fake.DefaultAPIKey, "second-key", "third-key"}, srv.Keys())
	})
}

func TestLimits(t *testing.T) {
	t.Run("headers show the limit with fewer requests left", func(t *testing.T) {
		srv, d := open(t, fake.WithPlan(fake.Plan{PerMinute: 3, PerDay: 4}))
		shown := func() [2]string {
			h := d.list(t).header
			return [2]string{h.Get("X-RateLimit-Limit"), h.Get("X-RateLimit-Remaining")}
		}
		assert.Equal(t, [2]string{"3", "2"}, shown())
		d.admitted(t)
		srv.Advance(time.Minute)
		assert.Equal(t, [2]string{"4", "0"}, shown(), "of the day")
		srv.SetPlan(srv.APIKey(), fake.Plan{})
		assert.Equal(t, [2]string{"2147483647", "2147483647"}, shown(), "without limits")
		srv.SetPlan(srv.APIKey(), fake.Plan{PerDay: 9})
		assert.Equal(t, [2]string{"9", "3"}, shown(), "the sixth request of the day")
	})
	t.Run("what is refused does not count, and each key has its own plan and windows", func(t *testing.T) {
		srv, d := open(t, fake.WithPlan(fake.Plan{PerMinute: 2}), fake.WithKey("second-key", fake.PlanFree))
		d.send(t, request{path: "/elsewhere"})
		n, _ := d.admitted(t)
		assert.Equal(t, 2, n)
		usage := srv.Usage(srv.APIKey())
		assert.Equal(t, []int{2, 2, 1}, []int{usage.Minute, usage.Day, usage.Limited})
		assert.Equal(t, 200, d.send(t, request{path: "/pets", auth: "Bearer second-key"}).status)
		srv.SetPlan(srv.APIKey(), fake.Plan{PerMinute: 3})
		assert.Equal(t, 200, d.list(t).status)
		assert.Equal(t, 3, srv.Usage(srv.APIKey()).Minute, "what was counted stays counted")
		assert.Empty(t, srv.Violations(), "a wait that was asked for ends")
		assert.Zero(t, srv.Usage("third-key"))
	})
	inBubble(t, "a look at a window does not begin it", nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		srv.Usage(srv.APIKey())
		srv.Inject(fake.Fault{Status: http.StatusBadGateway})
		d.list(t)
		time.Sleep(30 * time.Second)
		d.list(t)
		assert.Equal(t, time.Now().Add(24*time.Hour).UTC(), srv.Usage(srv.APIKey()).DayReset)
	})
}

func TestBehaviorOf429(t *testing.T) {
	const minute = "plan enterprise:1,0 allows 1 requests per minute, the next one at 2000-01-01T00:01:00Z (section 8.1)"
	const day = "plan enterprise:9,1 allows 1 requests per day, the next one at 2000-01-02T00:00:00Z (section 8.1)"
	const json, html, date = "application/json", "text/html; charset=utf-8", "Sat, 01 Jan 2000 00:01:00 GMT"
	onePerMinute := fake.Plan{PerMinute: 1}
	for name, c := range map[string]struct {
		plan                      fake.Plan
		behavior                  fake.Behavior
		hint, retryAfter, content string
		body                      string // %s stands for the hint
	}{
		"seconds":  {onePerMinute, fake.Behavior{}, minute, "60", json, `{"code":"rate_limited","message":"%s","status":429}`},
		"of a day": {fake.Plan{PerMinute: 9, PerDay: 1}, fake.Behavior{}, day, "86400", json, "%s"},
		"date":     {onePerMinute, fake.Behavior{RetryAfter: fake.RetryAfterDate}, minute, date, json, "%s"},
		"absent":   {onePerMinute, fake.Behavior{RetryAfter: fake.RetryAfterAbsent}, minute, "", json, "%s"},
		"empty":    {onePerMinute, fake.Behavior{LimitBody: fake.BodyEmpty}, minute, "60", "", ""},
		"HTML":     {onePerMinute, fake.Behavior{LimitBody: fake.BodyHTML}, minute, "60", html, "<h1>429 Too Many Requests</h1>"},
	} {
		opts := with(fake.WithPlan(c.plan), fake.WithBehavior(c.behavior))
		inBubble(t, name, opts, func(t *testing.T, srv *fake.Server, d entryPoint) {
			_, r := d.admitted(t)
			assert.Equal(t, c.hint, lastRequest(t, srv).Hint)
			assert.Contains(t, r.body, strings.ReplaceAll(c.body, "%s", c.hint))
			assert.Equal(t, c.body == "", r.body == "")
			assert.Equal(t, c.retryAfter, r.header.Get("Retry-After"))
			assert.Equal(t, c.content, r.header.Get("Content-Type"))
			d.list(t)
			assert.Equal(t, c.retryAfter == "", len(srv.Violations()) == 0)
		})
	}
}

// step is a pause, the requests that are admitted after it, and the Retry-After of those that
// follow, in seconds.
type step struct {
	pause    time.Duration
	admitted int
	waits    []int
	lowered  int // limit per minute before the waits; 0: that of before
}

func TestWindow(t *testing.T) {
	per := func(minute, day int, window fake.Window, more ...fake.Option) []fake.Option {
		return append(more, fake.WithPlan(fake.Plan{PerMinute: minute, PerDay: day}),
			fake.WithBehavior(fake.Behavior{Window: window}))
	}
	for name, c := range map[string]struct {
		opts  []fake.Option
		steps []step
	}{
		"two minutes of a plan, to the millisecond": {per(60, 1_000, ""), []step{
			{pause: 1500 * time.Millisecond, admitted: 60, waits: []int{60}},
			{pause: 59_499 * time.Millisecond, waits: []int{1}},
			{pause: time.Millisecond, admitted: 60, waits: []int{60}},
		}},
		"a day from its first request on": {per(2, 3, ""), []step{
			{admitted: 2, waits: []int{60}},
			{pause: time.Minute, admitted: 1, waits: []int{86_340}},
			{pause: 86_339 * time.Second, waits: []int{1}},
			{pause: time.Second, admitted: 2, waits: []int{60}},
		}},
		"sliding, of a lowered plan, when the second of three drops out": {per(4, 0, fake.WindowSliding), []step{
			{admitted: 1},
			{pause: 10 * time.Second, admitted: 1},
			{pause: 10 * time.Second, admitted: 1, waits: []int{50}, lowered: 2},
			{pause: 50 * time.Second, admitted: 1},
		}},
		"a day that ends before the minute, both used up": {per(1, 2, ""), []step{
			{admitted: 1},
			{pause: 24*time.Hour - 30*time.Second, admitted: 1, waits: []int{60}},
		}},
		"aligned, from the middle of a minute on": {per(2, 0, fake.WindowAligned), []step{
			{pause: 30 * time.Second, admitted: 2, waits: []int{30}},
			{pause: 30 * time.Second, admitted: 2, waits: []int{60}},
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
		"a ban after that many further requests, for as long as it says": {per(1, 0, "", fake.WithBan(2, 5*time.Minute)), []step{
			{admitted: 1, waits: []int{60, 60, 300}},
			{pause: 4 * time.Minute, waits: []int{60}},
			{pause: time.Minute, admitted: 1},
		}},
		"no ban if requests are admitted in between": {per(1, 0, "", fake.WithBan(2, time.Hour)), []step{
			{admitted: 1, waits: []int{60, 60}},
			{pause: time.Minute, admitted: 1, waits: []int{60, 60}},
		}},
	} {
		inBubble(t, name, c.opts, func(t *testing.T, srv *fake.Server, d entryPoint) {
			for i, step := range c.steps {
				time.Sleep(step.pause)
				for range step.admitted {
					require.Equal(t, 200, d.list(t).status, i)
				}
				if step.lowered > 0 {
					srv.SetPlan(srv.APIKey(), fake.Plan{PerMinute: step.lowered})
				}
				for _, wait := range step.waits {
					r := d.list(t)
					require.Equal(t, http.StatusTooManyRequests, r.status, i)
					assert.Equal(t, strconv.Itoa(wait), r.header.Get("Retry-After"), i)
					assert.Equal(t, "0", r.header.Get("X-RateLimit-Remaining"), i)
					if srv.Usage(srv.APIKey()).BannedUntil.IsZero() {
						assert.Equal(t, unixIn(wait), r.header.Get("X-RateLimit-Reset"), i)
					}
				}
			}
		})
	}
}

func TestSetUsage(t *testing.T) {
	for used, retryAfter := range map[[2]int]string{{2, 2}: "30", {0, 9}: "86370", {1, 1}: ""} {
		inBubble(t, fmt.Sprint(used), with(fake.WithPlan(fake.Plan{PerMinute: 2, PerDay: 9})),
			func(t *testing.T, srv *fake.Server, d entryPoint) {
				d.list(t) // which begins the windows
				time.Sleep(30 * time.Second)
				srv.SetUsage(srv.APIKey(), used[0], used[1])
				assert.Equal(t, used, [2]int{srv.Usage(srv.APIKey()).Minute, srv.Usage(srv.APIKey()).Day})
				assert.Equal(t, retryAfter, d.list(t).header.Get("Retry-After"))
			})
	}
}

func TestBanKey(t *testing.T) {
	inBubble(t, "bans at once, and 0 lifts the ban", nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		srv.BanKey(srv.APIKey(), time.Hour)
		d.list(t)
		r := d.list(t)
		assert.Contains(t, r.body, "the API key is banned until 2000-01-01T01:00:00Z (section 8.3)")
		assert.Equal(t, "3600", r.header.Get("Retry-After"))
		assert.Equal(t, "0", r.header.Get("X-RateLimit-Remaining"))
		assert.Equal(t, "1000", r.header.Get("X-RateLimit-Limit"))
		assert.Equal(t, unixIn(60), r.header.Get("X-RateLimit-Reset"), "of the minute")
		assert.Equal(t, time.Now().Add(time.Hour).Unix(), srv.Usage(srv.APIKey()).BannedUntil.Unix())
		assert.Equal(t, 2, srv.Usage(srv.APIKey()).Limited)
		srv.BanKey(srv.APIKey(), 0)
		assert.Equal(t, 200, d.list(t).status)
		assert.Equal(t, []fake.Rule{fake.RuleEarlyRetry}, rules(srv), "during the ban, and not after it")
	})
}

func TestClock(t *testing.T) {
	two := with(fake.WithPlan(fake.Plan{PerMinute: 2, PerDay: 2}), fake.WithKey("second-key", fake.PlanPro))
	inBubble(t, "going back starts new windows and keeps a ban", two, func(t *testing.T, srv *fake.Server, d entryPoint) {
		banned := request{path: "/pets", auth: "Bearer second-key"}
		srv.BanKey("second-key", time.Hour)
		d.list(t)
		d.list(t)
		assert.Equal(t, 429, d.list(t).status)
		srv.Advance(-24 * time.Hour)
		assert.Equal(t, 200, d.list(t).status)
		assert.Empty(t, srv.Violations(), "the wait of a 429 ends, too")
		assert.Equal(t, 429, d.send(t, banned).status)
		srv.Advance(time.Hour - 1500*time.Millisecond)
		assert.Equal(t, 429, d.send(t, banned).status)
		srv.Advance(2 * time.Second)
		assert.Equal(t, 200, d.send(t, banned).status)
	})
	inBubble(t, "a request that is held back does not look like a clock that went back",
		with(fake.WithPlan(fake.Plan{PerMinute: 2})), func(t *testing.T, srv *fake.Server, d entryPoint) {
			srv.Inject(fake.Fault{Delay: 30 * time.Second})
			go d.list(t)
			time.Sleep(29 * time.Second)
			d.list(t)
			time.Sleep(2 * time.Second)
			assert.Equal(t, 429, d.list(t).status)
		})
	inBubble(t, "goes on from Advance", nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		srv.Advance(time.Until(time.Date(2030, 12, 5, 0, 0, 0, 0, time.UTC)))
		time.Sleep(time.Minute)
		srv.Advance(time.Second)
		assert.Equal(t, "Thu, 05 Dec 2030 00:01:01 GMT", d.list(t).header.Get("Date"))
	})
}
