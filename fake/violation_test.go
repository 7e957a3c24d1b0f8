package fake_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// givenUp is a request whose client gives up after a second.
type givenUp request

// elsewhere is a script for another goroutine. It is played to its end, or until it waits.
type elsewhere []any

// play plays a script: it sends the requests, injects the faults and makes the pauses.
func (srv server) play(t *testing.T, script ...any) {
	t.Helper()
	for _, step := range script {
		switch step := step.(type) {
		case fake.Fault:
			srv.Inject(step)
		case time.Duration:
			time.Sleep(step)
		case request:
			_, _ = srv.try(t, step)
		case elsewhere:
			go srv.play(t, step...)
			synctest.Wait()
		case givenUp:
			srv.client.Timeout = time.Second
			_, err := srv.try(t, request(step))
			assert.Error(t, err)
			synctest.Wait()
		}
	}
}

func TestViolations(t *testing.T) {
	list, rex := request{path: "/pets"}, create("Rex")
	one := []fake.Option{fake.WithPlan(fake.Plan{PerMinute: 1})}
	ban := append(one[:1:1], fake.WithBan(1, time.Hour))
	noWait := append(ban[:2:2], fake.WithBehavior(fake.Behavior{RetryAfter: fake.RetryAfterAbsent}))
	const early, provoked, repeated = fake.RuleEarlyRetry, fake.RuleBanProvoked, fake.RuleRepeatedCreate
	slow := fake.Fault{Match: func(r *http.Request) bool { <-r.Context().Done(); return true }}
	slowRefusal := fake.Fault{Wire: fake.WireRefuse, Skip: 1, Match: slow.Match}
	hour, sameBody := fake.Fault{Delay: time.Hour, AfterCommit: true}, request{path: "/orders", body: rex.body}
	lost := fake.Fault{Wire: fake.WireReset, AfterCommit: true, Times: 2}
	header := fake.Fault{Status: 429, Header: http.Header{"retry-after": {"30"}}}
	short, twice := fake.Fault{Status: 429, RetryAfter: "1"}, []fake.Rule{early, early}
	wait, slow429 := fake.Fault{Status: 429, RetryAfter: "30"}, fake.Fault{Status: 429, RetryAfter: "30", Delay: time.Second / 10}
	type script []any
	type row struct {
		opts   []fake.Option
		script script
		broken []fake.Rule
		bans   bool
	}
	rows := map[string]row{
		"a second before Retry-After": {opts: one, script: script{list, list, 59 * time.Second, list}, broken: []fake.Rule{early}},
		"after Retry-After, from a whole second on": {
			opts: one, script: script{600 * time.Millisecond, list, list, 59_400 * time.Millisecond, list},
		},
		"early, although a later 429 asked for less": {script: script{header, short, list, list, 2 * time.Second, list}, broken: twice},
		"early after a request that was given up before it arrived": {
			script: script{slowRefusal, givenUp(list), givenUp(list), header, list, list}, broken: []fake.Rule{early},
		},
		"after a fault's Unix time": {script: script{
			fake.Fault{Status: 429, RetryAfter: "946684830"}, list, 30 * time.Second, list,
		}},
		"a ban without a Retry-After":            {opts: noWait, script: script{list, list, list}, broken: []fake.Rule{provoked}, bans: true},
		"a ban for 429s that were lost":          {opts: ban, script: script{list, lost, list, list}, bans: true},
		"a ban for lost 429s, long after a 429":  {opts: ban, script: script{list, list, time.Minute, list, lost, list, list}, bans: true},
		"a 429 too late for its client":          {opts: one, script: script{list, slow, givenUp(list), list}},
		"a create after a look at the catalogue": {script: script{fake.Fault{Status: 500}, rex, list, rex}},
		"the same body for something else":       {script: script{fake.Fault{Status: 502}, rex, sameBody}},
		"a create given up":                      {script: script{hour, givenUp(rex), rex}, broken: []fake.Rule{repeated}},
		// The client may have sent the second request before it heard of the 429.
		"another goroutine, early a second after the 429": {
			script: script{wait, elsewhere{list}, elsewhere{list}, elsewhere{list}, time.Second, elsewhere{list}}, broken: []fake.Rule{early},
		},
		"another goroutine that leads to a ban at once": {
			opts: ban, script: script{elsewhere{list}, elsewhere{list}, elsewhere{list}}, bans: true,
		},
		"another goroutine just after a second 429": {script: script{wait, list, 30 * time.Second, wait, list, elsewhere{list}}},
		"a goroutine that was served while another one waited for its 429": {
			script: script{slow429, elsewhere{list}, list, time.Second / 5, list},
		},
		"the goroutine that got the 429, early at once": {script: script{list, elsewhere{wait, list, list}}, broken: []fake.Rule{early}},
	}
	for name, f := range map[string]fake.Fault{
		"was reset":       {Status: 429, RetryAfter: "30", Wire: fake.WireReset},
		"became a 503":    {AfterCommit: true, Status: 503, RetryAfter: "30"},
		"got an odd time": {AfterCommit: true, Status: 429, RetryAfter: "soon"},
		"lost its time":   {AfterCommit: true, Header: http.Header{"retry-after": nil}},
	} {
		rows["a 429 that "+name] = row{opts: one, script: script{list, f, list, list}}
		rows["early after a true 429 that follows one that "+name] = row{opts: one, script: script{list, f, list, list, list}, broken: []fake.Rule{early}}
	}
	for name, c := range rows {
		inBubble(t, name, func(t *testing.T, srv server) {
			srv.play(t, c.script...)
			assert.Equal(t, c.broken, srv.rules())
			assert.Equal(t, c.bans, !srv.Usage(srv.APIKey()).BannedUntil.IsZero())
		}, c.opts...)
	}
	inBubble(t, "each of several goroutines is early a second after the 429", func(t *testing.T, srv server) {
		srv.Inject(fake.Fault{Status: 429, RetryAfter: "60", Times: fake.Forever})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() { srv.play(t, list, time.Second/2, list, time.Second/2, list, time.Second/4, list) })
		}
		wg.Wait()
		assert.Equal(t, slices.Repeat([]fake.Rule{early}, 16), srv.rules(), "the third and fourth of each")
	}, fake.WithLatency(time.Millisecond))
	throughEveryEntryPoint(t, "a kept connection is early at once", func(t *testing.T, srv server) {
		srv.client.Transport.(*http.Transport).DisableKeepAlives = false
		srv.play(t, list, fake.Fault{Status: 429, RetryAfter: "30"}, list, list)
		srv.client.CloseIdleConnections()
		assert.Equal(t, []fake.Rule{early}, srv.rules())
	})
	inBubble(t, "each rule says what happened", func(t *testing.T, srv server) {
		srv.play(t, list, list, list, 2*time.Hour, fake.Fault{Status: 500}, rex, rex, 2*time.Minute, request{path: "/pets/1"})
		assert.Equal(t, "[early-retry (section 8.3): a request came 1m0s before the Retry-After of its key had passed, request #3"+
			" ban-provoked (section 8.3): the request led to a ban: the API key is banned until"+
			" 2000-01-01T01:00:00Z (section 8.3), request #3"+
			" repeated-create (section 4.2): the same createPet as request #4, whose outcome was unknown to the client, request #5"+
			" deprecated-operation (section 4.3): getPet is removed on 5 December 2030; listPets takes its place, request #6]",
			fmt.Sprint(srv.Violations()))
	}, ban...)
}

// The fake and the client each have a list of unknown outcomes. This test compares the lists.
func TestViolationsAfterEachOutcome(t *testing.T) {
	var faults []fake.Fault
	for _, w := range fake.Wires() {
		faults = append(faults, fake.Fault{Wire: w})
	}
	for status := 200; status < 600; status++ {
		if status != http.StatusCreated { // a service sends 201 only for a pet that it added
			faults = append(faults, fake.Fault{Status: status, RetryAfter: "30"})
		}
	}
	rex := petstore.NewPet{Name: "Rex", CategoryID: 1}
	once := petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1})
	inBubble(t, "report a repeated create if the client calls its outcome unknown", func(t *testing.T, srv server) {
		for _, f := range faults {
			srv.Reset()
			srv.Inject(f)
			_, err := srv.Client(once).CreatePet(t.Context(), rex)
			synctest.Wait() // until the server has seen that the client gave up
			unknown := errors.Is(err, petstore.ErrOutcomeUnknown)
			_, err = srv.Client(once).CreatePet(t.Context(), rex)
			require.NoError(t, err)
			assert.Equal(t, unknown, slices.Contains(srv.rules(), fake.RuleRepeatedCreate), f)
			assert.Equal(t, f.Status == http.StatusTooManyRequests, slices.Contains(srv.rules(), fake.RuleEarlyRetry), f)
		}
	})
}
