package main

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

// rule is an alert of alerts.yml.
type rule struct {
	Alert, Expr string
	For         time.Duration
	Annotations map[string]string
}

func rules(t *testing.T) (all []rule) {
	t.Helper()
	text, err := os.ReadFile("alerts.yml")
	require.NoError(t, err)
	var file struct{ Groups []struct{ Rules []rule } }
	require.NoError(t, yaml.Unmarshal(text, &file))
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	require.Len(t, all, 6)
	return all
}

func TestAlertsAskForWhatIsExported(t *testing.T) {
	series := exported(t)
	for _, r := range rules(t) {
		assert.Empty(t, faults(r.Expr, series), r.Alert)
		assert.NotEmpty(t, r.Annotations["summary"], r.Alert)
	}
}

func TestAlertsFireWhenTheyShould(t *testing.T) {
	for name, c := range map[string]struct {
		plan  fake.Plan
		fault *fake.Fault // in the fifth minute
		work  func(context.Context, *petstore.Client)
		want  []string
	}{
		"a quiet program": {plan: fake.PlanFree, work: calls(2)},
		"a 429": {
			plan: fake.PlanFree, fault: &fake.Fault{Status: 429, RetryAfter: "1"}, work: calls(2),
			want: []string{"PetstoreRateLimited"},
		},
		"a ban of half an hour": {
			plan: fake.PlanFree, fault: &fake.Fault{Status: 429, RetryAfter: "1800"}, work: calls(2),
			want: []string{"PetstoreRateLimited", "PetstoreKeyBanned"},
		},
		"more work than the minute allows": {
			plan: fake.Enterprise(10, 0), work: calls(12),
			want: []string{"PetstoreFewRequestsLeft", "PetstoreCallsWait"},
		},
		"a day that is nearly used up": {
			plan: fake.Enterprise(0, 100), work: upTo(95, calls(5)),
			want: []string{"PetstoreFewRequestsLeft"},
		},
		"a day that is used up": {
			plan: fake.Enterprise(0, 100), work: calls(5),
			want: []string{"PetstoreFewRequestsLeft", "PetstoreDayUsedUp"},
		},
		"a create that was reset": {
			plan: fake.PlanFree, fault: &fake.Fault{Wire: fake.WireReset}, work: calls(2),
			want: []string{"PetstoreOutcomeUnknown"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			fired := simulate(t, c.plan, c.fault, c.work)
			assert.ElementsMatch(t, c.want, fired)
		})
	}
}

// calls makes n calls at once, each a create.
func calls(n int) func(context.Context, *petstore.Client) {
	return func(ctx context.Context, client *petstore.Client) {
		for range n {
			go func() { _, _ = client.CreatePet(ctx, petstore.NewPet{Name: "Rex"}) }()
		}
	}
}

// upTo does no more work once it has made about so many calls.
func upTo(most int, work func(context.Context, *petstore.Client)) func(context.Context, *petstore.Client) {
	return func(ctx context.Context, client *petstore.Client) {
		if r := client.RateLimit(); r.IsZero() || r.Limit-r.Remaining < most {
			work(ctx, client)
		}
	}
}

// simulate does some work at the begin of each minute, for half an hour of virtual time, and
// returns which alerts fire.
func simulate(
	t *testing.T, plan fake.Plan, fault *fake.Fault, work func(context.Context, *petstore.Client),
) (fired []string) {
	t.Helper()
	alerts := rules(t)
	synctest.Test(t, func(t *testing.T) {
		service := fake.NewServer(fake.WithPlan(plan))
		defer service.Close()
		tel, err := startTelemetry()
		require.NoError(t, err)
		client, err := petstore.NewClient("https://petstore.example.com/v1", service.APIKey(),
			petstoreotel.New(petstoreotel.WithMeterProvider(tel.meters)), petstore.WithHTTPClient(service.HTTPClient()))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()

		db, since, seen := newDatabase(), make(map[string]time.Time), make(map[string]bool)
		for begun := time.Now(); time.Since(begun) < 30*time.Minute; time.Sleep(scrapeInterval) {
			switch at := time.Since(begun); {
			case at == 5*time.Minute && fault != nil:
				service.Inject(*fault)
				fallthrough
			case at%time.Minute == 0:
				work(ctx, client)
			}
			db.add(scrape(t, tel.registry))
			for _, r := range alerts {
				if !db.finds(t, r.Expr) {
					delete(since, r.Alert)
					continue
				}
				if since[r.Alert].IsZero() {
					since[r.Alert] = time.Now()
				}
				if time.Since(since[r.Alert]) >= r.For && !seen[r.Alert] {
					seen[r.Alert] = true
					fired = append(fired, r.Alert)
				}
			}
		}
	})
	return fired
}
