package petstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// week makes a call every 80 seconds, 1,080 a day, for seven days, and returns how many of each day
// succeeded and how many the limiter refused.
func week(t *testing.T, client *petstore.Client, midnight func(day int)) (succeeded, refused [7]int) {
	t.Helper()
	start := time.Now()
	for day := range succeeded {
		midnight(day)
		for n := range 1080 {
			time.Sleep(time.Until(start.Add(time.Duration(day*1080+n) * 80 * time.Second)))
			_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
			limited, ok := errors.AsType[*petstore.RateLimitError](err)
			switch {
			case err == nil:
				succeeded[day]++
			case ok && limited.Local:
				assert.Equal(t, petstore.ScopeDay, limited.Scope)
				refused[day]++
			default:
				require.NoError(t, err)
			}
		}
	}
	return succeeded, refused
}

func TestClientForAWeek(t *testing.T) {
	t.Parallel()
	const quota = 1000 // requests a day of the Free plan
	for name, c := range map[string]struct {
		window  fake.Window
		rotates bool
	}{
		"of days that begin with a request":                 {window: fake.WindowFixed},
		"of days of the calendar":                           {window: fake.WindowAligned},
		"of days of the calendar, with a new key every day": {window: fake.WindowAligned, rotates: true},
	} {
		t.Run("uses all of the quota "+name+", and logs two lines a day", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree), fake.WithBan(1, time.Hour), fake.WithJournal(10),
					fake.WithBehavior(fake.Behavior{Window: c.window}))
				var log bytes.Buffer
				key := fake.DefaultAPIKey
				client, err := petstore.NewClient("https://service.test/v1", "",
					petstore.WithAPIKeyFunc(func(context.Context) (string, error) { return key, nil }),
					petstore.WithHTTPClient(&http.Client{Transport: server.Transport()}),
					petstore.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
				require.NoError(t, err)
				succeeded, refused := week(t, client, func(day int) {
					if c.rotates {
						server.RevokeKey(key)
						key = fmt.Sprintf("key-of-day-%d", day)
						server.AddKey(key, fake.PlanFree)
					}
				})
				for day := range succeeded {
					assert.InDelta(t, quota, succeeded[day], 1, "day %d", day) // the last call of a day may wait for the next one
					assert.Equal(t, 1080, succeeded[day]+refused[day])
				}
				assert.Empty(t, server.Violations())
				assert.Equal(t, 7, strings.Count(log.String(), "rate limit closed"))
				assert.LessOrEqual(t, strings.Count(log.String(), "\n"), 14, log.String())
			})
		})
	}
}
