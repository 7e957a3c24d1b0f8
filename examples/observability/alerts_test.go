package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
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
	"github.com/petstore/petstore-go/ratelimit"
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

// service is 25 minutes of a service in production.
type service struct {
	plan           fake.Plan
	fault          *fake.Fault   // from the fifth minute on
	pods           int           // 0: one process. Of eight, the last four replace the others, one each minute
	each, deadline time.Duration // between two bursts of calls, by default 2 s; of a call, by default an hour
	burst          int           // calls in a burst, by default 1
	options        []petstore.Option
	redis          bool // the limiter is that of petstoreredis, whose Redis is down
	want           string
}

const scrapeInterval = 15 * time.Second

func TestAlerts(t *testing.T) {
	html, twice := http.Header{"Content-Type": {"text/html"}}, time.Second/2
	for name, s := range map[string]service{
		"401":       {fault: &fake.Fault{Status: 401}, want: "PetstoreCallsFail"},
		"503":       {fault: &fake.Fault{Status: 503}, want: "PetstoreCallsFail"},
		"latency":   {fault: &fake.Fault{Delay: 10 * time.Second}, deadline: 3 * time.Second, want: "PetstoreCallsFail"},
		"truncated": {fault: &fake.Fault{Wire: fake.WireTruncate}, want: "PetstoreCallsFail"},
		"html":      {fault: &fake.Fault{Status: 200, Header: html, Body: []byte("<html>")}, want: "PetstoreCallsFail"},
		"refused":   {fault: &fake.Fault{Wire: fake.WireRefuse}, want: "PetstoreCallsFail"},
		"no wait":   {each: twice, options: []petstore.Option{petstore.WithMaxWait(0)}, want: "PetstoreWaitsGivenUp"},

		"a ban":            {fault: &fake.Fault{Status: 429, RetryAfter: "1800", Times: 1}, want: "PetstoreKeyBanned"},
		"a day used up":    {plan: fake.Plan{PerMinute: 60, PerDay: 200}, want: "PetstoreDayUsedUp"},
		"a queue":          {each: time.Minute / 63, want: "PetstoreCallsWait"},
		"twice the plan":   {each: twice, want: "PetstoreCallsWait PetstoreWaitsGivenUp"},
		"429s":             {fault: &fake.Fault{Status: 429, RetryAfter: "1", Chance: 0.05}, want: "PetstoreRateLimited"},
		"a lost Redis":     {redis: true, each: 10 * time.Minute, want: "PetstoreRedisLost"},
		"an idle program":  {each: time.Hour},
		"a 429":            {fault: &fake.Fault{Status: 429, RetryAfter: "1", Times: 1}},
		"a create, reset":  {fault: &fake.Fault{Wire: fake.WireReset, Operation: petstore.OpCreatePet, Times: 1}},
		"0.95 of the plan": {each: time.Minute / 57},
		"bursts":           {each: 10 * time.Minute, burst: 180},
		"0.95, in bursts":  {each: time.Minute, burst: 57},
		"a rolling update": {pods: 8, each: 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) { s.run(t) })
	}
}

// run runs the service, and asserts which alert fires.
func (s service) run(t *testing.T) {
	if s.plan == (fake.Plan{}) {
		s.plan = fake.PlanFree
		s.plan.PerDay = 0
	}
	faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
		m := newMonitor(t)
		var pods []*telemetry
		for n := range max(1, s.pods) {
			pods = append(pods, s.start(t, server, n))
		}
		time.Sleep(scrapeInterval / 7) // so that no scrape falls on the instant of a call
		for at := time.Duration(0); at < 25*time.Minute; at += scrapeInterval {
			if at == 5*time.Minute && s.fault != nil {
				fault := *s.fault
				fault.Times = cmp.Or(fault.Times, fake.Forever)
				server.Inject(fault)
			}
			for n, pod := range pods {
				m.scrape(fmt.Sprint("pod-", n), pod.registry)
			}
			m.evaluate()
			time.Sleep(scrapeInterval)
		}
		time.Sleep(time.Hour) // for the calls to end
		maps.DeleteFunc(m.fired, func(_ string, fired bool) bool { return !fired })
		assert.Equal(t, s.want, strings.Join(slices.Sorted(maps.Keys(m.fired)), " "))
	}, fake.WithPlan(s.plan))
}

// start starts a process of the service, for the 25 minutes or a part of them.
func (s service) start(t *testing.T, server *fake.Server, n int) *telemetry {
	t.Helper()
	tel, err := startTelemetry()
	require.NoError(t, err)
	limiter := ratelimit.New(ratelimit.Processes(1 + s.pods/2))
	if s.redis {
		limiter = lostRedis(t, tel)
	}
	client, err := petstore.NewClient("https://petstore.example.com/v1", server.APIKey(), append(s.options,
		petstore.WithLimiter(limiter),
		petstoreotel.New(petstoreotel.WithMeterProvider(tel.meters)), petstore.WithHTTPClient(server.HTTPClient()))...)
	require.NoError(t, err)
	from, to := time.Duration(0), 25*time.Minute
	if replaced := time.Duration(5+n%4) * time.Minute; n >= 4 {
		from = replaced
	} else if s.pods > 0 {
		to = replaced
	}
	time.AfterFunc(from, func() { s.work(t.Context(), client, to-from) })
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

// work makes calls; every second one is a create.
func (s service) work(ctx context.Context, client *petstore.Client, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for n := 0; ctx.Err() == nil; n++ {
		for range max(1, s.burst) {
			go func() {
				ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.deadline, time.Hour))
				defer cancel()
				_ = []func(context.Context, *petstore.Client) error{list, create}[n%2](ctx, client)
			}()
		}
		time.Sleep(cmp.Or(s.each, 2*time.Second))
	}
}
