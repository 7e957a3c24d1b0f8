package petstore_test

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/faketest"
)

func TestLogOfFailures(t *testing.T) {
	many := fake.Plan{PerMinute: 1000}
	for name, s := range map[string]scenario{
		"creates whose outcome is unknown": {
			faults: []fake.Fault{{Status: 503}, {Status: 400}, {Status: 501}, {Wire: fake.WireTruncate}}, call: create, times: 4,
			want: []string{"WARN outcome unknown", "WARN outcome unknown"},
		},
		"more than ten creates whose outcome is unknown, and others after an hour": {
			// The fifteenth is five minutes after the tenth.
			faults: []fake.Fault{{Status: 503, Times: fake.Forever}}, call: create, times: 10 + 5, pause: time.Minute,
			runs: func(t *testing.T, server *fake.Server, client *petstore.Client) {
				time.Sleep(50 * time.Minute)
				require.Error(t, create(client))
			},
			want: slices.Concat(
				slices.Repeat([]string{"WARN outcome unknown"}, 5), []string{"WARN calls fail 503"},
				slices.Repeat([]string{"WARN outcome unknown"}, 5), []string{"WARN more outcomes unknown 5"},
				[]string{"WARN outcome unknown", "WARN calls fail 503"}),
		},
		"an outage, which is over when no call has failed for a minute, and the next": {
			runs: func(t *testing.T, server *fake.Server, client *petstore.Client) {
				for range 2 {
					fault := server.Inject(fake.Fault{Status: 503, Times: fake.Forever})
					assert.Zero(t, calls(client, 1, 6, 10*time.Second))
					fault.Remove()
					assert.EqualValues(t, 8, calls(client, 1, 8, 10*time.Second))
				}
				server.Inject(fake.Fault{Status: 403})
				require.Error(t, list(client), "one failure is no outage")
			},
			want: slices.Repeat([]string{"WARN calls fail 503", "INFO calls succeed again"}, 2),
		},
		"an outage of hours": {
			faults: []fake.Fault{{Status: 403, Times: fake.Forever}}, call: list, times: 12, pause: 10 * time.Minute,
			want: []string{"WARN calls fail 403", "WARN calls fail 403"}, // after the fifth call, and an hour later
		},
		"slow requests among quick ones": {
			runs: func(t *testing.T, server *fake.Server, client *petstore.Client) {
				for range 5 {
					server.Inject(fake.Fault{Delay: 6 * time.Second})
					assert.EqualValues(t, 5, calls(client, 1, 5, 0))
				}
			},
		},
		"slow requests twice, with ten quick ones between them": {
			plan: fake.Plan{PerMinute: 1000},
			runs: func(t *testing.T, server *fake.Server, client *petstore.Client) {
				for range 2 {
					fault := server.Inject(fake.Fault{Delay: 6 * time.Second, Times: fake.Forever})
					assert.EqualValues(t, 30, calls(client, 1, 30, 0))
					fault.Remove()
					assert.EqualValues(t, 10, calls(client, 1, 10, 0))
				}
			},
			want: []string{"WARN requests are slow", "WARN requests are slow"},
		},
		"slow dials, which are no slow requests": {
			faults: []fake.Fault{{Wire: fake.WireRefuse, Delay: 6 * time.Second, Times: fake.Forever}}, call: list, times: 5,
			want: []string{"WARN calls fail connection_refused"},
		},
		"more kinds of errors than four, and the first two again after an hour": {
			runs: func(t *testing.T, server *fake.Server, client *petstore.Client) {
				for _, code := range []int{403, 405, 403, 409, 410, 415, 0, 403, 405} {
					if code == 0 {
						time.Sleep(time.Hour)
						continue
					}
					fault := server.Inject(fake.Fault{Status: code, Times: fake.Forever})
					assert.Zero(t, calls(client, 1, 6, time.Second))
					fault.Remove()
				}
			},
			want: []string{
				"WARN calls fail 403", "WARN calls fail 405", "WARN calls fail 409", "WARN calls fail 410",
				"WARN calls fail 403", "WARN calls fail 405",
			},
		},
		"creates that fail among other calls": {
			plan: many,
			runs: func(t *testing.T, server *fake.Server, client *petstore.Client) {
				server.Inject(fake.Fault{Status: 403, Operation: petstore.OpCreatePet, Times: fake.Forever})
				for range 5 {
					require.Error(t, create(client))
					assert.EqualValues(t, 25, calls(client, 1, 25, 0))
				}
			},
			want: []string{"WARN calls fail 403"},
		},
		"one call in twenty that fails": {
			plan: many,
			runs: func(t *testing.T, server *fake.Server, client *petstore.Client) {
				for range 20 {
					server.Inject(fake.Fault{Status: 403})
					assert.EqualValues(t, 19, calls(client, 1, 20, 100*time.Millisecond))
				}
			},
		},
		"pets that do not exist, and a wrong base URL": {
			call: get, times: 6,
			runs: func(t *testing.T, server *fake.Server, client *petstore.Client) {
				server.Inject(fake.Fault{Status: 404, Times: fake.Forever})
				assert.Zero(t, calls(client, 1, 6, 0))
			},
			want: []string{"WARN deprecated operation", "WARN calls fail 404"},
		},
		"callers that leave a slow service, and a stop of five calls": {
			plan: many,
			runs: func(t *testing.T, server *fake.Server, client *petstore.Client) {
				require.NoError(t, list(client))
				server.SetLatency(25 * time.Second)
				for _, patience := range []time.Duration{4 * time.Second, 10 * time.Second} {
					ctx, cancel := context.WithCancel(t.Context())
					time.AfterFunc(patience, cancel)
					var all sync.WaitGroup
					for range 5 {
						all.Go(func() { _, _ = client.ListPets(ctx, petstore.ListPetsParams{}) })
					}
					all.Wait()
				}
			},
			want: []string{"WARN requests are slow", "WARN calls fail canceled"},
		},
	} {
		t.Run(name, s.run)
	}
}

// incident is a fault that a program meets which makes a call every two seconds.
type incident struct {
	want    string        // what a line of the log has, as a regular expression; empty if there is none
	within  time.Duration // of the beginning; a minute by default
	fault   fake.Fault
	plan    fake.Plan
	every   time.Duration // between two calls; 2 s by default
	leaves  time.Duration // when a caller gives up; a minute by default
	lasts   time.Duration // 4 minutes by default
	creates int           // which calls are creates: every 25th by default
	options []petstore.Option
}

func TestLogOfAnIncident(t *testing.T) {
	const tenth = 100 * time.Millisecond
	html := http.Header{"Content-Type": {"text/html"}}
	loginPage := fake.Fault{Status: 200, Header: html, Body: []byte("<html>")}
	partly := func(f fake.Fault, chance float64) fake.Fault { f.Chance = chance; return f }
	lost := fake.Fault{Wire: fake.WireReset, AfterCommit: true, Operation: petstore.OpCreatePet, Chance: 0.2}
	usedUp := fake.Fault{Status: 429, RetryAfter: "20", Header: http.Header{"X-Ratelimit-Remaining": {"0"}}}
	for name, in := range map[string]incident{
		"none": {},
		"responses take 25 s, callers leave at 10": {
			want:   "requests are slow.*no response after 10s|requests are slow.*duration=10s",
			leaves: 10 * time.Second, fault: fake.Fault{Delay: 25 * time.Second},
		},
		"a login page": {want: "calls fail.*(text/html|invalid response)", fault: loginPage},
		"a fifth of the creates lost": {
			want: "outcome unknown.*reset by peer", fault: lost, creates: 2, lasts: 8 * time.Minute, every: 5 * tenth,
		},
		"other processes use up the minute": {
			want: "other processes use the key.*limit=300 remaining=0 sent=[0-9]+ processes=2", within: 4 * time.Minute,
			plan: fake.Plan{PerMinute: 300}, fault: partly(usedUp, 0.5), options: []petstore.Option{petstore.WithProcesses(2)},
		},
		"20 failing calls a second":  {want: "calls fail.*503", fault: fake.Fault{Status: 503}, every: tenth / 2, lasts: 20 * time.Second},
		"a third of the calls fails": {want: "calls fail", fault: partly(loginPage, 0.3)},
		"stalls": {
			want: "calls fail.*WithCallTimeout of 5s", fault: fake.Fault{Wire: fake.WireStall},
			options: []petstore.Option{petstore.WithCallTimeout(5 * time.Second)},
		},
		"more work than the plan": {
			want: "calls wait.*limit=60", plan: fake.Plan{PerMinute: 60}, every: 8 * tenth,
			lasts: 8 * time.Minute, within: 8 * time.Minute,
		},
		"more work than the plan, and no waiting": {
			want: "closed.*scope=minute.*limit=60", plan: fake.Plan{PerMinute: 60}, every: 8 * tenth,
			options: []petstore.Option{petstore.WithMaxWait(0)},
		},
	} {
		t.Run(name, in.run)
	}
}

// run lets the incident last for some minutes. The program runs half a minute before it, and more
// than a minute after it, because an outage is over only after a minute of successes.
func (in *incident) run(t *testing.T) {
	const before, after = 30 * time.Second, 75 * time.Second
	lasts := cmp.Or(in.lasts, 4*time.Minute)
	faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
		var log bytes.Buffer
		var all sync.WaitGroup
		client := server.Client(append(in.options, petstore.WithLogger(logTo(&log, slog.LevelInfo)))...)
		in.fault.Times, in.fault.For = fake.Forever, lasts
		time.AfterFunc(before, func() { server.Inject(in.fault) })
		begun := time.Now()
		for n := 0; time.Since(begun) < before+lasts+after; n++ {
			all.Go(func() { in.call(t.Context(), client, n%cmp.Or(in.creates, 25) == 0) })
			time.Sleep(cmp.Or(in.every, 2*time.Second))
		}
		all.Wait()
		early := log.String()
		for line := range strings.Lines(early) {
			at, err := time.Parse("time=2006-01-02T15:04:05.000Z07:00", strings.Fields(line)[0])
			require.NoError(t, err)
			if at.Sub(begun) > before+cmp.Or(in.within, time.Minute) {
				early, _, _ = strings.Cut(early, line)
				break
			}
		}
		assert.Regexp(t, in.want, early, &log)
		assert.LessOrEqual(t, strings.Count(log.String(), "\n"), 20, &log)
		assert.True(t, in.want != "" || log.Len() == 0, &log)
	}, fake.WithPlan(cmp.Or(in.plan, fake.Plan{PerMinute: 100_000})))
}

// call makes a call whose caller leaves after some time; a create has a deadline.
func (in *incident) call(ctx context.Context, client *petstore.Client, creates bool) {
	patience := cmp.Or(in.leaves, time.Minute)
	if creates {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		_, _ = client.CreatePet(ctx, newPet())
		return
	}
	ctx, leave := context.WithCancel(ctx)
	defer time.AfterFunc(patience, leave).Stop()
	_, _ = client.ListPets(ctx, petstore.ListPetsParams{})
}
