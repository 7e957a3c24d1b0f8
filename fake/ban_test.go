package fake_test

import (
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestBanKey(t *testing.T) {
	t.Run("bans at once, and 0 lifts the ban", func(t *testing.T) {
		inBubble(t, nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
			srv.BanKey(srv.APIKey(), 90*time.Second)
			r := d.list(t)
			assert.Equal(t, http.StatusTooManyRequests, r.status)
			assert.Equal(t, "90", r.header.Get("Retry-After"))
			assert.Contains(t, r.body, "banned until 2000-01-01T00:01:30Z, by BanKey")
			assert.Equal(t, time.Now().Add(90*time.Second).Unix(), srv.Usage(srv.APIKey()).BannedUntil.Unix())
			srv.BanKey(srv.APIKey(), 0)
			assert.Equal(t, http.StatusOK, d.list(t).status)
		})
	})
	t.Run("a client tells a ban from a used-up quota", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			srv := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(1, 2)))
			client := srv.Client(petstore.WithMaxWait(0))
			list := func() petstore.LimitScope {
				_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
				if err == nil {
					return ""
				}
				var limited *petstore.RateLimitError
				require.ErrorAs(t, err, &limited)
				return limited.Scope
			}
			assert.Empty(t, list())
			assert.Equal(t, petstore.ScopeMinute, list())
			time.Sleep(time.Minute)
			srv.BanKey(srv.APIKey(), 10*time.Minute)
			assert.Equal(t, petstore.ScopeBan, list())
			time.Sleep(10 * time.Minute)
			assert.Empty(t, list())
			assert.Equal(t, petstore.ScopeDay, list())
		})
	})
}

func TestWithBan(t *testing.T) {
	t.Run("the requests that led to a ban do not count for the next", func(t *testing.T) {
		opts := with(fake.WithPlan(fake.Enterprise(0, 1)), fake.WithBan(2, time.Minute))
		inBubble(t, opts, func(t *testing.T, srv *fake.Server, d entryPoint) {
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
	})
	t.Run("bans after that many further requests, for as long as it says", func(t *testing.T) {
		opts := with(fake.WithPlan(fake.Enterprise(1, 0)), fake.WithBan(2, 5*time.Minute))
		inBubble(t, opts, func(t *testing.T, srv *fake.Server, d entryPoint) {
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
	})
	t.Run("an admitted request makes the count begin anew", func(t *testing.T) {
		opts := with(fake.WithPlan(fake.Enterprise(1, 0)), fake.WithBan(2, time.Hour))
		inBubble(t, opts, func(t *testing.T, srv *fake.Server, d entryPoint) {
			for range 5 {
				d.admitted(t)
				d.list(t)
				time.Sleep(time.Minute)
			}
			assert.Zero(t, srv.Usage(srv.APIKey()).BannedUntil)
		})
	})
}

func TestBanReset(t *testing.T) {
	for reset, want := range map[fake.BanReset]time.Duration{
		fake.BanResetWindow: time.Minute, fake.BanResetBan: time.Hour, fake.BanResetAbsent: -1,
	} {
		opts := with(fake.WithBehavior(fake.Behavior{BanReset: reset}))
		inBubble(t, opts, func(t *testing.T, srv *fake.Server, d entryPoint) {
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
