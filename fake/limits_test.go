package fake_test

import (
	"fmt"
	"net/http"
	"strconv"
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
		srv, d := open(t, fake.WithPlan(fake.Enterprise(3, 4)))
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
		srv := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(0, 0)))
		r := viaMemory(t, srv).list(t)
		assert.Equal(t, "2147483647", r.header.Get("X-RateLimit-Remaining"))
		srv.SetPlan(srv.APIKey(), fake.Enterprise(0, 5))
		r = viaMemory(t, srv).list(t)
		assert.Equal(t, "5", r.header.Get("X-RateLimit-Limit"))
		assert.Equal(t, "3", r.header.Get("X-RateLimit-Remaining"))
	})
	for span, plan := range map[string]fake.Plan{
		"minute, the next one at 2000-01-01T00:01:00Z": fake.Enterprise(1, 9),
		"day, the next one at 2000-01-02T00:00:00Z":    fake.Enterprise(9, 1),
	} {
		inBubble(t, "a 429 names the plan and its limit", with(fake.WithPlan(plan)),
			func(t *testing.T, srv *fake.Server, d entryPoint) {
				_, r := d.admitted(t)
				message := "plan Enterprise allows 1 requests per " + span + " (section 8.1)"
				assert.JSONEq(t, `{"code":"rate_limited","status":429,"message":"`+message+`"}`, r.body)
				assert.Equal(t, message, srv.Requests()[1].Hint)
			})
	}
	t.Run("a request that gets a 429 does not count", func(t *testing.T) {
		srv, d := open(t, fake.WithPlan(fake.Enterprise(2, 0)))
		d.send(t, request{path: "/pets", auth: "-"})
		d.send(t, request{path: "/elsewhere"})
		n, _ := d.admitted(t)
		assert.Equal(t, 2, n)
		d.list(t)
		assert.Equal(t, fake.Usage{
			Plan: fake.Enterprise(2, 0), Minute: 2, Day: 2, Limited: 2,
			MinuteReset: srv.Usage(srv.APIKey()).MinuteReset, DayReset: srv.Usage(srv.APIKey()).DayReset,
		}, srv.Usage(srv.APIKey()))
	})
	t.Run("each key has its own plan and windows", func(t *testing.T) {
		srv, d := open(t, fake.WithKey("second-key", fake.Enterprise(1, 0)))
		second := request{path: "/pets", auth: "Bearer second-key"}
		assert.Equal(t, http.StatusOK, d.send(t, second).status)
		assert.Equal(t, http.StatusTooManyRequests, d.send(t, second).status)
		assert.Equal(t, http.StatusOK, d.list(t).status)
		srv.SetPlan("second-key", fake.Enterprise(2, 0))
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

func TestRetryAfter(t *testing.T) {
	for form, want := range map[fake.RetryAfterForm]string{
		fake.RetryAfterSeconds: "60",
		fake.RetryAfterDate:    "Sat, 01 Jan 2000 00:01:00 GMT",
		fake.RetryAfterAbsent:  "",
	} {
		opts := with(fake.WithPlan(fake.Enterprise(1, 0)), fake.WithBehavior(fake.Behavior{RetryAfter: form}))
		inBubble(t, fmt.Sprint(form), opts, func(t *testing.T, srv *fake.Server, d entryPoint) {
			_, r := d.admitted(t)
			assert.Equal(t, want, r.header.Get("Retry-After"))
			d.list(t)
			assert.Equal(t, form == fake.RetryAfterAbsent, len(srv.Violations()) == 0)
		})
	}
}

func TestLimitBody(t *testing.T) {
	for form, want := range map[fake.BodyForm][2]string{
		fake.BodyError: {"application/json", `{"code":"rate_limited"`},
		fake.BodyEmpty: {"", ""},
		fake.BodyHTML:  {"text/html; charset=utf-8", "<html>"},
	} {
		throughEveryEntryPoint(t, fmt.Sprint(form), with(fake.WithPlan(fake.Enterprise(1, 0)), fake.WithBehavior(fake.Behavior{LimitBody: form})),
			func(t *testing.T, _ *fake.Server, d entryPoint) {
				_, r := d.admitted(t)
				assert.Equal(t, want[0], r.header.Get("Content-Type"))
				assert.Contains(t, r.body, want[1])
				assert.Equal(t, strconv.Itoa(len(r.body)), r.header.Get("Content-Length"))
			})
	}
}

// step is a pause and the requests that are admitted after it. With a wait, one more is sent, whose
// 429 has that Retry-After.
type step struct {
	pause    time.Duration
	admitted int
	wait     int
}

func TestWindow(t *testing.T) {
	per := func(minute, day int, window fake.Window) []fake.Option {
		return with(fake.WithPlan(fake.Enterprise(minute, day)), fake.WithBehavior(fake.Behavior{Window: window}))
	}
	for name, c := range map[string]struct {
		opts  []fake.Option
		steps []step
	}{
		"two minutes of a plan, to the millisecond": {
			with(fake.WithPlan(fake.PlanFree)),
			[]step{{1500 * time.Millisecond, 60, 60}, {59_499 * time.Millisecond, 0, 1}, {time.Millisecond, 60, 60}},
		},
		"a day from its first request on": {
			per(2, 3, fake.WindowFixed),
			[]step{{0, 2, 60}, {time.Minute, 1, 86_340}, {86_339 * time.Second, 0, 1}, {time.Second, 2, 60}},
		},
		"a day that ends before the minute": {
			per(9, 4, fake.WindowFixed),
			[]step{{0, 1, 0}, {24*time.Hour - 30*time.Second, 3, 30}},
		},
		"fixed, from the middle of a minute on": {
			per(2, 0, fake.WindowFixed),
			[]step{{30 * time.Second, 2, 60}, {30 * time.Second, 0, 30}, {30 * time.Second, 2, 60}},
		},
		"fixed, all at once for requests that were spread": {
			per(2, 0, fake.WindowFixed),
			[]step{{0, 1, 0}, {30 * time.Second, 1, 30}, {30 * time.Second, 2, 60}},
		},
		"aligned, from the middle of a minute on": {
			per(2, 0, fake.WindowAligned),
			[]step{{30 * time.Second, 2, 30}, {30 * time.Second, 2, 60}, {30 * time.Second, 0, 30}},
		},
		"sliding, as many as drop out": {
			per(3, 0, fake.WindowSliding),
			[]step{{30 * time.Second, 1, 0}, {20 * time.Second, 2, 40}, {40 * time.Second, 1, 20}},
		},
		"a minute of 2.1 s has whole seconds": {
			with(fake.WithPlan(fake.Enterprise(1, 0)), fake.WithMinute(2100*time.Millisecond)),
			[]step{{0, 1, 3}, {3 * time.Second, 1, 3}},
		},
		"the shortest minute": {
			with(fake.WithPlan(fake.Enterprise(1, 0)), fake.WithMinute(time.Nanosecond)),
			[]step{{0, 1, 1}, {time.Second, 1, 1}},
		},
	} {
		inBubble(t, name, c.opts, func(t *testing.T, _ *fake.Server, d entryPoint) {
			for i, step := range c.steps {
				time.Sleep(step.pause)
				for range step.admitted {
					require.Equal(t, http.StatusOK, d.list(t).status, i)
				}
				if step.wait > 0 {
					r := d.list(t)
					require.Equal(t, http.StatusTooManyRequests, r.status, i)
					assert.Equal(t, strconv.Itoa(step.wait), r.header.Get("Retry-After"), i)
					assert.Equal(t, "0", r.header.Get("X-RateLimit-Remaining"), i)
					end := time.Now().Unix() + int64(step.wait)
					assert.Equal(t, strconv.FormatInt(end, 10), r.header.Get("X-RateLimit-Reset"), i)
				}
			}
		})
	}
	inBubble(t, "a sliding one of a lowered plan names the second in which it has room again",
		with(fake.WithPlan(fake.Enterprise(4, 0)), fake.WithBehavior(fake.Behavior{Window: fake.WindowSliding})),
		func(t *testing.T, srv *fake.Server, d entryPoint) {
			for range 3 {
				d.list(t)
				time.Sleep(10 * time.Second)
			}
			srv.SetPlan(srv.APIKey(), fake.Enterprise(2, 0))
			assert.Equal(t, "40", d.list(t).header.Get("Retry-After"), "the second of three drops out then")
			time.Sleep(40 * time.Second)
			assert.Equal(t, 200, d.list(t).status)
		})
}

func TestBanKey(t *testing.T) {
	inBubble(t, "bans at once, and 0 lifts the ban", nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		srv.BanKey(srv.APIKey(), 90*time.Second)
		r := d.list(t)
		assert.Equal(t, http.StatusTooManyRequests, r.status)
		assert.Equal(t, "90", r.header.Get("Retry-After"))
		assert.Contains(t, r.body, "banned until 2000-01-01T00:01:30Z, by BanKey")
		assert.Equal(t, time.Now().Add(90*time.Second).Unix(), srv.Usage(srv.APIKey()).BannedUntil.Unix())
		srv.BanKey(srv.APIKey(), 0)
		assert.Equal(t, http.StatusOK, d.list(t).status)
	})
}

func TestWithBan(t *testing.T) {
	inBubble(t, "the requests that led to a ban do not count for the next",
		with(fake.WithPlan(fake.Enterprise(0, 1)), fake.WithBan(2, time.Minute)),
		func(t *testing.T, srv *fake.Server, d entryPoint) {
			d.list(t)
			for range 2 {
				for range 2 {
					d.list(t)
				}
				assert.Zero(t, srv.Usage(srv.APIKey()).BannedUntil)
				d.list(t)
				assert.Equal(t, time.Now().Add(time.Minute).UTC(), srv.Usage(srv.APIKey()).BannedUntil.UTC())
				time.Sleep(time.Minute)
			}
		})
	inBubble(t, "bans after that many further requests, for as long as it says",
		with(fake.WithPlan(fake.Enterprise(1, 0)), fake.WithBan(2, 5*time.Minute)),
		func(t *testing.T, srv *fake.Server, d entryPoint) {
			_, r := d.admitted(t)
			assert.Equal(t, "60", r.header.Get("Retry-After"))
			r = d.list(t)
			assert.Equal(t, "60", r.header.Get("Retry-After"))
			r = d.list(t)
			assert.Equal(t, "300", r.header.Get("Retry-After"))
			assert.Contains(t, r.body, "the API key is banned until 2000-01-01T00:05:00Z, "+
				"for 2 requests after a 429 (section 8.3)")
			assert.Equal(t, strconv.FormatInt(time.Now().Unix()+60, 10), r.header.Get("X-RateLimit-Reset"))
			time.Sleep(4 * time.Minute)
			assert.Equal(t, "60", d.list(t).header.Get("Retry-After"))
			assert.Equal(t, 4, srv.Usage(srv.APIKey()).Limited)
			time.Sleep(time.Minute)
			assert.Equal(t, http.StatusOK, d.list(t).status)
			assert.Zero(t, srv.Usage(srv.APIKey()).BannedUntil)
		})
	inBubble(t, "an admitted request makes the count begin anew",
		with(fake.WithPlan(fake.Enterprise(1, 0)), fake.WithBan(2, time.Hour)),
		func(t *testing.T, srv *fake.Server, d entryPoint) {
			for range 5 {
				d.admitted(t)
				d.list(t)
				time.Sleep(time.Minute)
			}
			assert.Zero(t, srv.Usage(srv.APIKey()).BannedUntil)
		})
}

func TestBanReset(t *testing.T) {
	for reset, want := range map[fake.BanReset]time.Duration{
		fake.BanResetWindow: time.Minute, fake.BanResetBan: time.Hour, fake.BanResetAbsent: -1,
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
