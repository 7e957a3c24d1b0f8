package fake_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestBanKey_clientTellsBanFromQuota(t *testing.T) {
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
}

func TestBehavior_BanReset(t *testing.T) {
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
