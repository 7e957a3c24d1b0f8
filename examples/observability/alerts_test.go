package main

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/faketest"
	"github.com/petstore/petstore-go/petstoreotel"
	"github.com/petstore/petstore-go/petstoreredis"
)

// rule is an alert of alerts.yml.
type rule struct {
	Alert, Expr string
	For         time.Duration
}

func rules(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile("alerts.yml")
	require.NoError(t, err)
	var file struct{ Groups []struct{ Rules []rule } }
	require.NoError(t, yaml.Unmarshal(text, &file))
	return file.Groups[0].Rules
}

// service is 25 minutes of a service in production, with an incident from the fifth minute on.
type service struct {
	plan    fake.Plan
	fault   *fake.Fault
	happens func(*fake.Server)
	before  time.Duration // the time without the incident; 5 minutes by default
	each    time.Duration // between two bursts of calls, 800 ms by default
	burst   int           // calls in a burst; 1 by default
	leaves  time.Duration // when a caller gives up; an hour by default
	options []petstore.Option
	redis   bool   // the limiter is that of petstoreredis, whose Redis is down
	want    string // the alert that fires first
	then    string // other alerts that fire later
}

const scrapeInterval = 30 * time.Second

func TestAlerts(t *testing.T) {
	twice, reset := time.Second/2, fake.Fault{Wire: fake.WireReset, AfterCommit: true, Operation: petstore.OpCreatePet}
	fault := func(f fake.Fault) *fake.Fault { return &f }
	loginPage := fake.Fault{Status: 200, Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte("<html>")}
	lost := reset
	lost.Chance, reset.Times = 0.2, 1
	for name, s := range map[string]service{
		"responses take 25 s, callers leave at 10": {fault: &fake.Fault{Delay: 25 * time.Second}, leaves: 10 * time.Second, want: "PetstoreSlow"},
		"callers leave at 3 s":                     {fault: &fake.Fault{Delay: 25 * time.Second}, leaves: 3 * time.Second, want: "PetstoreSlow"},
		"responses take 8 s":                       {fault: &fake.Fault{Delay: 8 * time.Second}, want: "PetstoreSlow"},
		"503":                                      {fault: &fake.Fault{Status: 503}, want: "PetstoreCallsFail"},
		"a login page":                             {fault: &loginPage, want: "PetstoreCallsFail"},
		"a fifth of the creates lost":              {fault: &lost, each: 200 * time.Millisecond, want: "PetstoreCallsFail"},
		"another team uses up the day": {
			plan: fake.Plan{PerMinute: 300, PerDay: 9000}, happens: func(s *fake.Server) { s.SetUsage(s.APIKey(), 10, 8999) }, want: "PetstoreDayUsedUp",
		},
		"the plan is lowered": {
			plan: fake.Plan{PerMinute: 300}, happens: func(s *fake.Server) { s.SetPlan(s.APIKey(), fake.Plan{PerMinute: 60}) },
			before: 75 * time.Minute, want: "PetstoreLimitLowered", then: "PetstoreCallsWait PetstoreWaitsGivenUp",
		},
		"the key is revoked": {happens: func(s *fake.Server) { s.RevokeKey(s.APIKey()) }, want: "PetstoreCallsFail"},
		"a burst of 429s": {
			fault: fault(fake.Fault{Status: 429, RetryAfter: "1", Times: 8, Delay: 100 * time.Millisecond}), burst: 8, each: 20 * time.Second,
			want: "PetstoreRateLimited",
		},
		"a ban":          {fault: fault(fake.Fault{Status: 429, RetryAfter: "1800", Times: 1}), want: "PetstoreKeyBanned"},
		"refused":        {fault: &fake.Fault{Wire: fake.WireRefuse}, want: "PetstoreCallsFail"},
		"a wrong URL":    {fault: &fake.Fault{Status: 404}, want: "PetstoreCallsFail"},
		"twice the plan": {plan: fake.Plan{PerMinute: 60}, each: twice, want: "PetstoreWaitsGivenUp", then: "PetstoreCallsWait"},
		"no wait":        {plan: fake.Plan{PerMinute: 60}, each: twice, options: []petstore.Option{petstore.WithMaxWait(0)}, want: "PetstoreWaitsGivenUp"},
		"a queue":        {plan: fake.Plan{PerMinute: 60}, each: time.Minute / 63, want: "PetstoreCallsWait"},
		"a lost Redis":   {redis: true, each: 10 * time.Minute, want: "PetstoreRedisLost"},

		"a clock goes wrong":  {plan: fake.Plan{PerMinute: 300}, happens: func(s *fake.Server) { s.SetTime(s.Now().Add(5 * time.Minute)) }},
		"healthy hours":       {before: 2 * time.Hour},
		"an idle program":     {each: time.Hour},
		"a 429":               {fault: fault(fake.Fault{Status: 429, RetryAfter: "1", Times: 1})},
		"a create, reset":     {fault: &reset},
		"callers that cancel": {fault: &fake.Fault{Delay: time.Second}, leaves: 300 * time.Millisecond},
		"0.95 of the plan":    {plan: fake.Plan{PerMinute: 60}, each: time.Minute / 57},
		"bursts":              {plan: fake.Plan{PerMinute: 60}, each: 10 * time.Minute, burst: 180},
		"0.95, in bursts":     {plan: fake.Plan{PerMinute: 60}, each: time.Minute, burst: 57},
	} {
		t.Run(name, func(t *testing.T) { s.run(t) })
	}
}

// run runs the service, and asserts which alerts fire.
func (s service) run(t *testing.T) {
	s.plan, s.before = cmp.Or(s.plan, fake.Plan{PerMinute: 10_000}), cmp.Or(s.before, 5*time.Minute)
	m := newMonitor(t)
	faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
		pod := s.start(t, server)
		time.Sleep(scrapeInterval / 7) // so that no scrape falls on the instant of a call
		for at := time.Duration(0); at < s.before+20*time.Minute; at += scrapeInterval {
			if at == s.before {
				s.begin(server)
			}
			m.scrape(pod.registry)
			m.evaluate()
			time.Sleep(scrapeInterval)
		}
		time.Sleep(time.Hour) // for the calls to end
		first := append(m.fired, "")[0]
		assert.Equal(t, s.want, first)
		for _, later := range m.fired {
			assert.Contains(t, s.want+" "+s.then, later)
		}
	}, fake.WithPlan(s.plan))
}

func (s service) begin(server *fake.Server) {
	if s.happens != nil {
		s.happens(server)
	}
	if s.fault != nil {
		fault := *s.fault
		fault.Times = cmp.Or(fault.Times, fake.Forever)
		server.Inject(fault)
	}
}

// start starts the calls of the service.
func (s service) start(t *testing.T, server *fake.Server) *telemetry {
	t.Helper()
	tel, err := startTelemetry()
	require.NoError(t, err)
	options := append(s.options, petstore.WithHTTPClient(server.HTTPClient()),
		petstoreotel.New(petstoreotel.WithMeterProvider(tel.meters)))
	if s.redis {
		options = append(options, petstore.WithLimiter(lostRedis(t, tel)))
	}
	client, err := petstore.NewClient("https://petstore.example.com/v1", server.APIKey(), options...)
	require.NoError(t, err)
	go s.work(t.Context(), client, s.before+20*time.Minute)
	return tel
}

// lostRedis returns a limiter whose Redis is down.
func lostRedis(t *testing.T, tel *telemetry) petstore.Limiter {
	t.Helper()
	refused := func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED }
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", Dialer: refused})
	t.Cleanup(func() {
		_ = rdb.Close()
		time.Sleep(time.Minute) // until it no longer dials
	})
	l, err := petstoreredis.NewLimiter(rdb, petstoreredis.WithMeterProvider(tel.meters))
	require.NoError(t, err)
	return l
}

// work makes calls.
func (s service) work(ctx context.Context, client *petstore.Client, d time.Duration) {
	for n, begun := 0, time.Now(); time.Since(begun) < d; n++ {
		for range max(1, s.burst) {
			go func() {
				ctx, leave := context.WithCancel(ctx)
				defer time.AfterFunc(cmp.Or(s.leaves, time.Hour), leave).Stop()
				if n%25 == 0 {
					_ = create(ctx, client)
				} else {
					_ = list(ctx, client)
				}
			}()
		}
		time.Sleep(cmp.Or(s.each, 800*time.Millisecond))
	}
}
