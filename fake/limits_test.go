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

func with(opts ...fake.Option) []fake.Option { return opts }

// admitted sends requests until one is refused, and returns how many were not.
func (d entryPoint) admitted(t *testing.T) (n int, r reply) {
	t.Helper()
	for r.status = http.StatusOK; r.status == http.StatusOK; n++ {
		require.LessOrEqual(t, n, 100, "no request is refused")
		r = d.list(t)
	}
	return n - 1, r
}

func TestLimits(t *testing.T) {
	t.Run("headers show the limit with fewer requests left", func(t *testing.T) {
		srv, d := open(t, fake.WithPlan(fake.Plan{PerMinute: 3, PerDay: 4}))
		r := d.list(t)
		assert.Equal(t, "3", r.header.Get("X-RateLimit-Limit"))
		assert.Equal(t, "2", r.header.Get("X-RateLimit-Remaining"))
		d.admitted(t)
		srv.Advance(time.Minute)
		r = d.list(t)
		assert.Equal(t, "4", r.header.Get("X-RateLimit-Limit"))
		assert.Equal(t, "0", r.header.Get("X-RateLimit-Remaining"))
	})
	t.Run("a plan without limits still has headers", func(t *testing.T) {
		srv := fake.NewTestServer(t, fake.WithPlan(fake.Plan{}))
		r := viaMemory(t, srv).list(t)
		assert.Equal(t, "2147483647", r.header.Get("X-RateLimit-Remaining"))
		srv.SetPlan(srv.APIKey(), fake.Plan{PerDay: 5})
		r = viaMemory(t, srv).list(t)
		assert.Equal(t, "5", r.header.Get("X-RateLimit-Limit"))
		assert.Equal(t, "3", r.header.Get("X-RateLimit-Remaining"))
	})
	for span, plan := range map[string]fake.Plan{
		"minute, the next one at 2000-01-01T00:01:00Z": fake.Plan{PerMinute: 1, PerDay: 9},
		"day, the next one at 2000-01-02T00:00:00Z":    fake.Plan{PerMinute: 9, PerDay: 1},
	} {
		inBubble(t, "a 429 names the plan and its limit", with(fake.WithPlan(plan)),
			func(t *testing.T, srv *fake.Server, d entryPoint) {
				_, r := d.admitted(t)
				message := "plan " + plan.String() + " allows 1 requests per " + span + " (section 8.1)"
				assert.JSONEq(t, `{"code":"rate_limited","status":429,"message":"`+message+`"}`, r.body)
				assert.Equal(t, message, srv.Requests()[1].Hint)
			})
	}
	t.Run("a request that gets a 429 does not count", func(t *testing.T) {
		srv, d := open(t, fake.WithPlan(fake.Plan{PerMinute: 2}))
		d.send(t, request{path: "/pets", auth: "-"})
		d.send(t, request{path: "/elsewhere"})
		n, _ := d.admitted(t)
		assert.Equal(t, 2, n)
		d.list(t)
		assert.Equal(t, fake.Usage{
			Plan: fake.Plan{PerMinute: 2}, Minute: 2, Day: 2, Limited: 2,
			MinuteReset: srv.Usage(srv.APIKey()).MinuteReset, DayReset: srv.Usage(srv.APIKey()).DayReset,
		}, srv.Usage(srv.APIKey()))
	})
	t.Run("each key has its own plan and windows", func(t *testing.T) {
		srv, d := open(t, fake.WithKey("second-key", fake.Plan{PerMinute: 1}))
		second := request{path: "/pets", auth: "Bearer second-key"}
		assert.Equal(t, http.StatusOK, d.send(t, second).status)
		assert.Equal(t, http.StatusTooManyRequests, d.send(t, second).status)
		assert.Equal(t, http.StatusOK, d.list(t).status)
		srv.SetPlan("second-key", fake.Plan{PerMinute: 2})
		assert.Equal(t, http.StatusOK, d.send(t, second).status)
		assert.Equal(t, 2, srv.Usage("second-key").Minute)
		assert.Zero(t, srv.Usage("third-key"))
	})
	inBubble(t, "a look at a window does not begin it", nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		srv.Usage(srv.APIKey())
		srv.Inject(fake.Fault{Status: http.StatusBadGateway})
		d.list(t)
		time.Sleep(30 * time.Second)
		d.list(t)
		assert.Equal(t, time.Now().Add(time.Minute).UTC(), srv.Usage(srv.APIKey()).MinuteReset)
		assert.Equal(t, time.Now().Add(24*time.Hour).UTC(), srv.Usage(srv.APIKey()).DayReset)
	})
}

func TestBehaviorOf429(t *testing.T) {
	for name, c := range map[string]struct {
		behavior            fake.Behavior
		retryAfter, content string
		body                string // its beginning; empty: there is none
	}{
		"seconds": {fake.Behavior{}, "60", "application/json", `{"code":"rate_limited"`},
		"date":    {fake.Behavior{RetryAfter: fake.RetryAfterDate}, "Sat, 01 Jan 2000 00:01:00 GMT", "application/json", "{"},
		"absent":  {fake.Behavior{RetryAfter: fake.RetryAfterAbsent}, "", "application/json", "{"},
		"empty":   {fake.Behavior{LimitBody: fake.BodyEmpty}, "60", "", ""},
		"HTML":    {fake.Behavior{LimitBody: fake.BodyHTML}, "60", "text/html; charset=utf-8", "<html>"},
	} {
		opts := with(fake.WithPlan(fake.Plan{PerMinute: 1}), fake.WithBehavior(c.behavior))
		inBubble(t, name, opts, func(t *testing.T, srv *fake.Server, d entryPoint) {
			_, r := d.admitted(t)
			assert.Equal(t, c.retryAfter, r.header.Get("Retry-After"))
			assert.Equal(t, c.content, r.header.Get("Content-Type"))
			assert.True(t, strings.HasPrefix(r.body, c.body) && (c.body == "") == (r.body == ""), r.body)
			assert.Equal(t, strconv.Itoa(len(r.body)), r.header.Get("Content-Length"))
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
}

func TestWindow(t *testing.T) {
	per := func(minute, day int, window fake.Window) []fake.Option {
		return with(fake.WithPlan(fake.Plan{PerMinute: minute, PerDay: day}), fake.WithBehavior(fake.Behavior{Window: window}))
	}
	for name, c := range map[string]struct {
		opts  []fake.Option
		steps []step
	}{
		"two minutes of a plan, to the millisecond": {
			with(fake.WithPlan(fake.PlanFree)),
			[]step{{pause: 1500 * time.Millisecond, admitted: 60, waits: []int{60}}, {pause: 59_499 * time.Millisecond, waits: []int{1}}, {pause: time.Millisecond, admitted: 60, waits: []int{60}}},
		},
		"a day from its first request on": {
			per(2, 3, ""),
			[]step{{admitted: 2, waits: []int{60}}, {pause: time.Minute, admitted: 1, waits: []int{86_340}}, {pause: 86_339 * time.Second, waits: []int{1}}, {pause: time.Second, admitted: 2, waits: []int{60}}},
		},
		"a day that ends before the minute": {
			per(9, 4, ""),
			[]step{{admitted: 1}, {pause: 24*time.Hour - 30*time.Second, admitted: 3, waits: []int{30}}},
		},
		"a minute and a day that are used up at once": {per(2, 2, ""), []step{{admitted: 2, waits: []int{86_400}}}},
		"a day that ends before the minute, both used up": {
			per(1, 2, ""),
			[]step{{admitted: 1}, {pause: 24*time.Hour - 30*time.Second, admitted: 1, waits: []int{60}}},
		},
		"fixed, from the middle of a minute on": {
			per(2, 0, ""),
			[]step{{pause: 30 * time.Second, admitted: 2, waits: []int{60}}, {pause: 30 * time.Second, waits: []int{30}}, {pause: 30 * time.Second, admitted: 2, waits: []int{60}}},
		},
		"fixed, all at once for requests that were spread": {
			per(2, 0, ""),
			[]step{{admitted: 1}, {pause: 30 * time.Second, admitted: 1, waits: []int{30}}, {pause: 30 * time.Second, admitted: 2, waits: []int{60}}},
		},
		"aligned, from the middle of a minute on": {
			per(2, 0, fake.WindowAligned),
			[]step{{pause: 30 * time.Second, admitted: 2, waits: []int{30}}, {pause: 30 * time.Second, admitted: 2, waits: []int{60}}, {pause: 30 * time.Second, waits: []int{30}}},
		},
		"sliding, as many as drop out": {
			per(3, 0, fake.WindowSliding),
			[]step{{pause: 30 * time.Second, admitted: 1}, {pause: 20 * time.Second, admitted: 2, waits: []int{40}}, {pause: 40 * time.Second, admitted: 1, waits: []int{20}}},
		},
		"a minute of 2.1 s has whole seconds": {
			with(fake.WithPlan(fake.Plan{PerMinute: 1}), fake.WithMinute(2100*time.Millisecond)),
			[]step{{admitted: 1, waits: []int{3}}, {pause: 3 * time.Second, admitted: 1, waits: []int{3}}},
		},
		"the shortest minute": {
			with(fake.WithPlan(fake.Plan{PerMinute: 1}), fake.WithMinute(time.Nanosecond)),
			[]step{{admitted: 1, waits: []int{1}}, {pause: time.Second, admitted: 1, waits: []int{1}}},
		},
		"a ban after that many further requests, for as long as it says": {
			with(fake.WithPlan(fake.Plan{PerMinute: 1}), fake.WithBan(2, 5*time.Minute)),
			[]step{{admitted: 1, waits: []int{60, 60, 300}}, {pause: 4 * time.Minute, waits: []int{60}}, {pause: time.Minute, admitted: 1}},
		},
		"two bans, each after requests of its own": {
			with(fake.WithPlan(fake.Plan{PerDay: 1}), fake.WithBan(2, time.Minute)),
			[]step{{admitted: 1, waits: []int{86_400, 86_400, 60}}, {pause: time.Minute, waits: []int{86_340, 86_340, 60}}},
		},
		"no ban if requests are admitted in between": {
			with(fake.WithPlan(fake.Plan{PerMinute: 1}), fake.WithBan(2, time.Hour)),
			[]step{{admitted: 1, waits: []int{60, 60}}, {pause: time.Minute, admitted: 1, waits: []int{60, 60}}, {pause: time.Minute, admitted: 1, waits: []int{60, 60}}},
		},
	} {
		inBubble(t, name, c.opts, func(t *testing.T, srv *fake.Server, d entryPoint) {
			for i, step := range c.steps {
				time.Sleep(step.pause)
				for range step.admitted {
					require.Equal(t, http.StatusOK, d.list(t).status, i)
				}
				for _, wait := range step.waits {
					r := d.list(t)
					require.Equal(t, http.StatusTooManyRequests, r.status, i)
					assert.Equal(t, strconv.Itoa(wait), r.header.Get("Retry-After"), i)
					assert.Equal(t, "0", r.header.Get("X-RateLimit-Remaining"), i)
					if srv.Usage(srv.APIKey()).BannedUntil.IsZero() {
						end := strconv.FormatInt(time.Now().Unix()+int64(wait), 10)
						assert.Equal(t, end, r.header.Get("X-RateLimit-Reset"), i)
					}
				}
			}
		})
	}
	inBubble(t, "a sliding one of a lowered plan names the second in which it has room again",
		with(fake.WithPlan(fake.Plan{PerMinute: 4}), fake.WithBehavior(fake.Behavior{Window: fake.WindowSliding})),
		func(t *testing.T, srv *fake.Server, d entryPoint) {
			for range 3 {
				d.list(t)
				time.Sleep(10 * time.Second)
			}
			srv.SetPlan(srv.APIKey(), fake.Plan{PerMinute: 2})
			assert.Equal(t, "40", d.list(t).header.Get("Retry-After"), "the second of three drops out then")
			time.Sleep(40 * time.Second)
			assert.Equal(t, 200, d.list(t).status)
		})
}

func TestBanKey(t *testing.T) {
	inBubble(t, "bans at once, and 0 lifts the ban", nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		srv.BanKey(srv.APIKey(), 90*time.Second)
		assert.Contains(t, d.list(t).body, "the API key is banned until 2000-01-01T00:01:30Z, on demand (section 8.3)")
		assert.Equal(t, time.Now().Add(90*time.Second).Unix(), srv.Usage(srv.APIKey()).BannedUntil.Unix())
		assert.Equal(t, 1, srv.Usage(srv.APIKey()).Limited)
		srv.BanKey(srv.APIKey(), 0)
		assert.Equal(t, http.StatusOK, d.list(t).status)
	})
}

func TestBanReset(t *testing.T) {
	for reset, want := range map[fake.BanReset]time.Duration{
		"": time.Minute, fake.BanResetBan: time.Hour, fake.BanResetAbsent: -1,
	} {
		opts := with(fake.WithBehavior(fake.Behavior{BanReset: reset}))
		inBubble(t, fmt.Sprint(reset), opts, func(t *testing.T, srv *fake.Server, d entryPoint) {
			srv.BanKey(srv.APIKey(), time.Hour)
			for range 2 {
				h := d.list(t).header
				assert.Equal(t, "3600", h.Get("Retry-After"))
				assert.Equal(t, "0", h.Get("X-RateLimit-Remaining"))
				assert.Equal(t, "1000", h.Get("X-RateLimit-Limit"))
				if want < 0 {
					assert.Empty(t, h.Values("X-RateLimit-Reset"))
					continue
				}
				end := strconv.FormatInt(time.Now().Add(want).Unix(), 10)
				assert.Equal(t, []string{end}, h.Values("X-RateLimit-Reset"))
			}
		})
	}
}
