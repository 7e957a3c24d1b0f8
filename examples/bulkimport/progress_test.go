package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/golden"
)

var (
	// clockTime is the time of day in a zone that the test does not choose.
	clockTime = regexp.MustCompile(`\d\d:\d\d:\d\d`)
	// flying depends on how the limiter begins a window.
	flying = regexp.MustCompile(`\d+ on their way`)
	// jittered is the line after the client's own retries, whose times depend on the jitter.
	jittered = regexp.MustCompile(`  2m\ds (.*, )\S+( left, .*no response)`)
)

func assertGolden(t *testing.T, name, got string) {
	t.Helper()
	got = clockTime.ReplaceAllString(strings.ReplaceAll(got, "\r", ""), "hh:mm:ss")
	got = flying.ReplaceAllString(got, "N on their way")
	got = jittered.ReplaceAllString(got, "  2mNs ${1}NmNs$2")
	golden.Assert(t, "testdata/"+name, got)
}

// TestProgress looks at one import at several times, on terminals of several widths and piped:
// under the limit, in an outage, and while it is being stopped.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree), fake.WithLatency(37*time.Millisecond))
		b := newBench(t, server, 200)
		ctx, cancel := context.WithCancel(t.Context())
		j, err := b.job(ctx, serviceOf(server))
		require.NoError(t, err)
		start := time.Now()
		done := make(chan error)
		go func() { done <- j.run(ctx, &b.summary, &b.out, &b.out) }()
		time.Sleep(55 * time.Millisecond)
		var screens strings.Builder
		look := func(after time.Duration) {
			time.Sleep(time.Until(start.Add(after)))
			fmt.Fprintf(&screens, "after %s\n", after)
			for _, width := range []int{20, 40, 80, 200} {
				p := &progress{job: j, w: &screens, width: func() int { return width }, start: start, moved: start}
				p.draw(time.Now())
				screens.WriteString("|\n")
			}
		}
		look(20*time.Second + 55*time.Millisecond)
		look(75*time.Second + 55*time.Millisecond)
		server.Inject(fake.Fault{Operation: petstore.OpListPets, Times: fake.Forever, Status: 503})
		server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Times: fake.Forever, Wire: fake.WireRefuse})
		time.Sleep(time.Until(start.Add(205*time.Second + 55*time.Millisecond)))
		cancel()
		look(207*time.Second + 55*time.Millisecond)
		require.Error(t, <-done)
		assert.LessOrEqual(t, time.Since(start), 214*time.Second, "a service that hangs does not delay the end")
		assertGolden(t, "screens.golden", screens.String())
		assertGolden(t, "piped.golden", firstOfEachNotice(strings.ReplaceAll(b.out.String(), b.input, "pets.csv")))
	})
}

// firstOfEachNotice leaves out what depends on when exactly the limiter lets requests through.
func firstOfEachNotice(text string) string {
	var kept strings.Builder
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		for _, notice := range []string{"waits until", "no response", "stopping", "importing", "200 rows: "} {
			if strings.Contains(line, notice) && !seen[notice] {
				seen[notice] = true
				kept.WriteString(line)
			}
		}
	}
	return kept.String()
}

func TestJob_timeLeft(t *testing.T) {
	for name, test := range map[string]struct {
		plan          fake.Plan
		rows          int
		latency, want time.Duration
	}{
		"within one window":      {fake.PlanBusiness, 800, time.Second, 100 * time.Second},
		"within the next window": {fake.PlanFree, 100, 50 * time.Millisecond, time.Minute},
		"two windows later":      {fake.PlanFree, 180, 50 * time.Millisecond, 2 * time.Minute},
		"three windows later":    {fake.PlanFree, 181, 50 * time.Millisecond, 3 * time.Minute},
		"the next day":           {fake.Enterprise(0, 50), 60, 50 * time.Millisecond, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := fake.NewTestServer(t, fake.WithPlan(test.plan), fake.WithLatency(test.latency))
				b := newBench(t, server, test.rows)
				j, err := b.job(t.Context(), serviceOf(server))
				require.NoError(t, err)
				start := time.Now()
				go func() {
					time.Sleep(30 * time.Second)
					total := time.Since(start) + j.timeLeft(time.Now(), float64(j.decided())/30)
					assert.InDelta(t, test.want.Seconds(), total.Seconds(), 0.1*test.want.Seconds()+2)
				}()
				err = j.run(t.Context(), &b.summary, &b.out, &b.out)
				if test.plan.PerDay == 50 {
					require.ErrorIs(t, err, petstore.ErrRateLimited)
				} else {
					require.NoError(t, err)
					assert.InDelta(t, test.want.Seconds(), time.Since(start).Seconds(), 0.1*test.want.Seconds()+5)
				}
				time.Sleep(35 * time.Second)
			})
		})
	}
}
