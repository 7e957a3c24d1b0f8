package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// These tests import into the fake, in virtual time, and look at what the service got and what the
// files say.

// bench is an input in a folder of its own, and the service that it goes to.
type bench struct {
	*testing.T
	server *fake.Server
	input  string
	out    strings.Builder
	// patience is that of the next runs, and summary that of the last run.
	patience time.Duration
	now      bool
	summary  summary
}

// newBench writes an input of n pets with names of their own, Pet 1 in line 2, and so on.
func newBench(t *testing.T, server *fake.Server, n int) *bench {
	t.Helper()
	var text strings.Builder
	text.WriteString("name,categoryId,status\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&text, "Pet %d,%d,%s\n", i, i%5, []string{"available", "pending", "sold", ""}[i%4])
	}
	return newBenchOf(t, server, text.String())
}

func newBenchOf(t *testing.T, server *fake.Server, text string) *bench {
	t.Helper()
	b := &bench{T: t, server: server, input: filepath.Join(t.TempDir(), "pets.csv"), patience: 5 * time.Minute}
	require.NoError(t, os.WriteFile(b.input, []byte(text), 0o600))
	return b
}

func (b *bench) run(ctx context.Context) error {
	b.Helper()
	begun, err := b.begin(ctx)
	assert.True(b, begun)
	return err
}

// begin runs the program's job as perform does, and reports whether anything was begun.
func (b *bench) begin(ctx context.Context) (bool, error) {
	b.Helper()
	j, err := b.job(ctx, serviceOf(b.server))
	if err != nil {
		return false, err
	}
	b.summary = summary{}
	return true, j.run(ctx, &b.summary, &b.out, &b.out)
}

func (b *bench) job(ctx context.Context, to service) (*job, error) {
	b.Helper()
	in, err := readInput(b.input)
	require.NoError(b, err)
	j, err := newJob(ctx, in, to, options{patience: b.patience, now: b.now})
	if err == nil {
		j.journal.db.NoSync = true // no test switches the machine off
	}
	return j, err
}

func serviceOf(server *fake.Server) service {
	connect := func(opts ...petstore.Option) (*petstore.Client, error) { return server.Client(opts...), nil }
	return service{"the test's", connect, nil}
}

// advice returns what the program says about the end of a run.
func advice(err error) string {
	s := summary{Exit: exitStopped}
	s.explain(err)
	return s.Error
}

// states returns what the journal says of each row, by the number in the name of its pet.
func (b *bench) states() map[int]event {
	b.Helper()
	db, err := bbolt.Open(b.input+".journal", 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Nanosecond})
	require.NoError(b, err)
	defer func() { assert.NoError(b, db.Close()) }()
	states := map[int]event{}
	require.NoError(b, db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(rowsBucket)).ForEach(func(key, text []byte) error {
			line, err := strconv.Atoi(string(key))
			var e entry
			err = errors.Join(err, json.Unmarshal(text, &e))
			states[line-1] = e.Event
			return err
		})
	}))
	return states
}

// count returns how many rows the journal ends with in a state.
func (b *bench) count(want event) int {
	n := 0
	for _, state := range b.states() {
		if state == want {
			n++
		}
	}
	return n
}

// report returns the rows of a report, without its head.
func (b *bench) report(suffix string) [][]string {
	b.Helper()
	f, err := os.Open(b.input + suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(b, err)
	defer f.Close()
	table, err := csv.NewReader(f).ReadAll()
	require.NoError(b, err)
	return table[1:]
}

// sent returns how often the service got each pet, by the number in its name.
func (b *bench) sent() map[int]int {
	b.Helper()
	return sentTo(b.T, b.server)
}

func sentTo(t *testing.T, server *fake.Server) map[int]int {
	t.Helper()
	times := map[int]int{}
	for _, r := range server.Requests() {
		if r.Operation != petstore.OpCreatePet || r.StatusCode == http.StatusTooManyRequests {
			continue
		}
		var pet petstore.NewPet
		require.NoError(t, json.Unmarshal(r.Body, &pet))
		times[petNumber(t, pet.Name)]++
	}
	return times
}

func petNumber(t *testing.T, name string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimPrefix(name, "Pet "))
	require.NoError(t, err)
	return n
}

// assertNothingLostOrRepeated holds the whole contract of an import that is over.
func (b *bench) assertNothingLostOrRepeated(rows int) {
	b.Helper()
	states := b.states()
	assert.Len(b, states, rows)
	for pet, times := range b.sent() {
		assert.Equalf(b, 1, times, "requests to add Pet %d", pet)
	}
	there := map[int]bool{}
	for _, pet := range b.server.Pets() {
		there[petNumber(b.T, pet.Name)] = true
	}
	assert.Len(b, b.server.Pets(), len(there), "a pet is there twice")
	for pet, state := range states {
		switch state {
		case created:
			assert.Truef(b, there[pet], "Pet %d is created and not there", pet)
		case rejected:
			assert.Falsef(b, there[pet], "Pet %d is rejected and there", pet)
		case unknown:
		default:
			b.Errorf("Pet %d is left %s", pet, state)
		}
	}
	assert.Len(b, b.report(".undecided.csv"), b.count(unknown))
	assert.Len(b, b.report(".rejected.csv"), b.count(rejected))
}

// inBubble returns a test that runs in virtual time.
func inBubble(test func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) {
		synctest.Test(t, test)
	}
}

func TestImport(t *testing.T) {
	t.Run("adds the pets of the sample", inBubble(importSample))
	t.Run("loses and repeats nothing in chaos", inBubble(importInChaos))
	t.Run("sends one create ahead of the others", inBubble(importCarefully))
	t.Run("does not accept the success of another pet", inBubble(importWithWrongSuccesses))
	t.Run("keeps to the limit that an earlier run has used up", inBubble(importRestarted))
	t.Run("sends one request during a ban, however often it is restarted", inBubble(importDuringBan))
	t.Run("stops when the day's quota is used up", inBubble(importBeyondDay))
	t.Run("does not count a waiting row as sent", inBubble(importWaits))
	t.Run("finishes the requests in flight when it is interrupted", inBubble(interruptImport))
	t.Run("stops at once when it is interrupted during a wait", inBubble(interruptWait))
	t.Run("stops at once when it is interrupted in an outage", inBubble(interruptOutage))
	t.Run("refuses a second import of the same file", inBubble(importConcurrently))
	t.Run("stops when its journal is removed", inBubble(importWithoutJournal))
}

func TestReport(t *testing.T) {
	t.Run("shows whether listPets has the pet of an undecided row", inBubble(reportUndecided))
	t.Run("cannot tell if listPets shows 100 pets", inBubble(reportFullList))
	t.Run("does not show the pet of another row", inBubble(reportEqualRows))
	t.Run("has the rows that the service refuses, with reasons", inBubble(reportRejected))
	t.Run("is written when the import is interrupted", inBubble(reportInterrupted))
	t.Run("is removed when there are no such rows", inBubble(reportNothing))
	t.Run("can be imported once corrected", inBubble(reportImported))
}

func importSample(t *testing.T) {
	server := fake.NewTestServer(t, fake.WithStrict("zero-category"), fake.WithBan(1, time.Hour), fake.WithPlan(fake.PlanPro))
	sample, err := os.ReadFile("pets.csv")
	require.NoError(t, err)
	b := newBenchOf(t, server, string(sample))
	start := time.Now()
	require.NoError(t, b.run(t.Context()))
	assert.Len(t, server.Pets(), 497)
	assert.Zero(t, server.Usage(server.APIKey()).Limited)
	assert.InDelta(t, time.Minute, time.Since(start), float64(2*time.Second), "one window was waited for")
	assert.Contains(t, b.out.String(), "500 rows: 497 created, 0 undecided, 3 rejected, 0 left\n")
	assert.Empty(t, b.report(".undecided.csv"))
	assert.Equal(t, [][]string{
		{"Tweety", "bird", "available", "59", `categoryId "bird" is not a 64-bit integer`},
		{"", "2", "sold", "235", "petstore: createPet: Name: is empty"},
		{"Sleepy", "3", "asleep", "403", `petstore: createPet: Status: "asleep" is none of available, pending, sold`},
	}, b.report(".rejected.csv"))
}

// injectChaos injects all that can go wrong with a create, each with a chance.
func injectChaos(server *fake.Server, chance float64) {
	for _, f := range []fake.Fault{
		{Wire: fake.WireReset},
		{Wire: fake.WireReset, AfterCommit: true},
		{Wire: fake.WireTruncate, AfterCommit: true},
		{Wire: fake.WireGarbage, AfterCommit: true},
		{Status: http.StatusServiceUnavailable},
		{Status: http.StatusBadGateway, AfterCommit: true},
		{Status: http.StatusSeeOther, AfterCommit: true, Header: http.Header{"Location": {"/pets"}}},
		{Status: http.StatusFound},
		{Status: http.StatusCreated, Body: []byte(`{"id":1,"name":"Pet 1","categoryId":1}`)}, // of another
		{Status: http.StatusBadRequest},
		{Status: http.StatusTooManyRequests, RetryAfter: "0.1", Chance: chance / 10},
	} {
		f.Operation, f.Times = petstore.OpCreatePet, fake.Forever
		f.Chance = cmp.Or(f.Chance, chance)
		server.Inject(f)
	}
}

func importInChaos(t *testing.T) {
	for seed := range uint64(3) {
		server := fake.NewTestServer(t, fake.WithSeed(seed), fake.WithLatency(20*time.Millisecond))
		injectChaos(server, 0.01)
		b := newBench(t, server, 500)
		for range 3 {
			if err := b.run(t.Context()); err != nil {
				assert.ErrorContains(t, err, "no create was confirmed")
			}
		}
		b.assertNothingLostOrRepeated(500)
		assert.Positive(t, b.count(unknown))
	}
}

func reportUndecided(t *testing.T) {
	server := fake.NewTestServer(t, fake.WithPets(petstore.NewPet{Name: "Pet 2", CategoryID: 9, Status: "sold"}))
	server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Match: adds(t, 2), AfterCommit: true, Wire: fake.WireReset})
	server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Match: adds(t, 3), Status: http.StatusServiceUnavailable})
	b := newBench(t, server, 12)
	require.NoError(t, b.run(t.Context()))
	b.assertUndecided(map[string]string{"3": "seen: id ", "4": "not seen: it is not among the 12 pets"})
	assert.Contains(t, b.out.String(), "12 rows: 10 created, 2 undecided, 0 rejected, 0 left\n")
	assert.Contains(t, b.out.String(), "undecided, for a person to look at: "+b.input+".undecided.csv\n")
}

// adds matches the request that adds a pet of newBench.
func adds(t *testing.T, number int) func(*http.Request) bool {
	return func(r *http.Request) bool {
		var pet petstore.NewPet
		return assert.NoError(t, json.NewDecoder(r.Body).Decode(&pet)) && pet.Name == fmt.Sprintf("Pet %d", number)
	}
}

func (b *bench) assertUndecided(want map[string]string) {
	b.Helper()
	rows := b.report(".undecided.csv")
	assert.Len(b, rows, len(want))
	for _, r := range rows {
		assert.Containsf(b, r[6], want[r[0]], "line %s", r[0])
	}
}

func reportFullList(t *testing.T) {
	server := fake.NewTestServer(t)
	for range 100 {
		server.AddPet(petstore.NewPet{Name: "Other", Status: "sold"})
	}
	server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Wire: fake.WireClose, AfterCommit: true})
	server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Wire: fake.WireClose})
	b := newBenchOf(t, server, "name,categoryId,status\nRex,1,sold\nRex,1,sold\n")
	require.NoError(t, b.run(t.Context()))
	const full = "cannot tell: listPets shows 100 pets and there may be more"
	b.assertUndecided(map[string]string{"2": full, "3": full})
}

func reportEqualRows(t *testing.T) {
	server := fake.NewTestServer(t)
	server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Wire: fake.WireReset})
	b := newBenchOf(t, server, "name,categoryId,status\nRex,1,\nRex,1,\n")
	require.NoError(t, b.run(t.Context()))
	require.Len(t, server.Pets(), 1)
	require.Len(t, b.report(".undecided.csv"), 1)
	assert.Equal(t, "not seen: it is not among the 1 pets that listPets shows", b.report(".undecided.csv")[0][6])
}

func reportRejected(t *testing.T) {
	server := fake.NewTestServer(t)
	for i, status := range []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity} {
		server.Inject(fake.Fault{
			Operation: petstore.OpCreatePet, Match: adds(t, i+2), Status: status, Message: "no\nsuch category",
		})
	}
	b := newBench(t, server, 10)
	require.NoError(t, b.run(t.Context()))
	rows := b.report(".rejected.csv")
	require.Len(t, rows, 3)
	assert.Equal(t, []string{"Pet 2", "2", "sold", "3"}, rows[0][:4])
	assert.Contains(t, rows[0][4], "400")
	assert.Contains(t, rows[0][4], "such category")
	b.assertNothingLostOrRepeated(10)
}

func TestImport_stoppedByResponse(t *testing.T) {
	for name, fault := range map[string]fake.Fault{
		"unauthorized":  {Status: http.StatusUnauthorized},
		"forbidden":     {Status: http.StatusForbidden},
		"not found":     {Status: http.StatusNotFound},
		"unimplemented": {Status: http.StatusNotImplemented},
		"refused":       {Wire: fake.WireRefuse}, // for longer than the import is patient
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := fake.NewTestServer(t, fake.WithLatency(time.Millisecond))
				fault.Operation, fault.Skip, fault.Times = petstore.OpCreatePet, 20, fake.Forever
				failing := server.Inject(fault)
				b := newBench(t, server, 100)
				require.Error(t, b.run(t.Context()))
				assert.Contains(t, b.out.String(), "100 rows: 20 created, 0 undecided, 0 rejected, 80 left\n")
				failing.Remove()
				time.Sleep(10 * time.Hour)
				require.NoError(t, b.run(t.Context()))
				assert.Equal(t, 100, b.count(created))
				assert.Len(t, server.Pets(), 100)
			})
		})
	}
}

// outages are the ways in which a service is down.
func outages() map[string]fake.Fault {
	return map[string]fake.Fault{
		"503":                  {Status: http.StatusServiceUnavailable},
		"reset":                {Wire: fake.WireReset},
		"stall":                {Wire: fake.WireStall},
		"refused":              {Wire: fake.WireRefuse},
		"creates only":         {Operation: petstore.OpCreatePet, Status: http.StatusInternalServerError},
		"redirect":             {Operation: petstore.OpCreatePet, Status: http.StatusFound, Header: http.Header{"Location": {"/login"}}},
		"redirect, after that": {Operation: petstore.OpCreatePet, Status: http.StatusSeeOther, AfterCommit: true},
		"one response for all": {Operation: petstore.OpCreatePet, Status: http.StatusCreated, Body: []byte(`{"id":1,"name":"Pet 1","categoryId":1}`)},
	}
}

func TestImport_outage(t *testing.T) {
	for name, fault := range outages() {
		t.Run(name+" during an import", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := fake.NewTestServer(t, fake.WithLatency(time.Millisecond))
				fault.Skip, fault.Times = 20, fake.Forever
				failing := server.Inject(fault)
				b := newBench(t, server, 100)
				start := time.Now()
				assert.ErrorContains(t, b.run(t.Context()), "no create was confirmed for 5m0s, the next try is at ")
				assert.LessOrEqual(t, time.Since(start), 10*time.Minute)
				assert.LessOrEqual(t, b.count(unknown), int(steady)+8, "those in flight, and six at growing intervals")
				failing.Remove()
				require.NoError(t, b.run(t.Context()))
				b.assertNothingLostOrRepeated(100)
			})
		})
		t.Run(name+" over twenty restarts", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := fake.NewTestServer(t, fake.WithLatency(time.Millisecond))
				fault.Skip, fault.Times = 0, fake.Forever
				failing := server.Inject(fault)
				b := newBench(t, server, 100)
				b.patience = 10 * time.Second
				for range 20 {
					require.Error(t, b.run(t.Context()))
				}
				assert.LessOrEqual(t, b.summary.Undecided, 24, "of twenty restarts within minutes")
				failing.Remove()
				b.now = true
				require.NoError(t, b.run(t.Context()))
				b.assertNothingLostOrRepeated(100)
			})
		})
		t.Run(name+" for two minutes", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := fake.NewTestServer(t, fake.WithLatency(time.Millisecond))
				fault.Skip, fault.Times = 20, fake.Forever
				time.AfterFunc(2*time.Minute, server.Inject(fault).Remove)
				b := newBench(t, server, 100)
				require.NoError(t, b.run(t.Context()))
				assert.Contains(t, b.out.String(), "no response, looks again at ")
				b.assertNothingLostOrRepeated(100)
			})
		})
	}
}

func importCarefully(t *testing.T) {
	server := fake.NewTestServer(t)
	server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Delay: time.Second})
	b := newBench(t, server, 20)
	time.AfterFunc(900*time.Millisecond, func() { server.AssertRequests(t, petstore.OpCreatePet, 1) })
	require.NoError(t, b.run(t.Context()))
}

func importWithWrongSuccesses(t *testing.T) {
	server := fake.NewTestServer(t)
	for n, body := range map[int]string{
		3: `{"id":1,"name":"Pet 3","categoryId":3}`,
		5: `{"id":105,"name":"Pet 4","categoryId":0}`,
		7: `{"id":107,"name":"Pet 7","categoryId":9}`,
		9: `{"id":109,"name":"Pet 9","categoryId":4,"status":"sold"}`,
	} {
		server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Match: adds(t, n), Status: http.StatusCreated, Body: []byte(body)})
	}
	b := newBench(t, server, 12)
	require.NoError(t, b.run(t.Context()))
	b.assertUndecided(map[string]string{"4": "not seen", "6": "not seen", "8": "not seen", "10": "not seen"})
	assert.Contains(t, b.report(".undecided.csv")[0][5], "another row has added pet 1")
	b.assertNothingLostOrRepeated(12)
}

func TestImport_pace(t *testing.T) {
	for _, plan := range []fake.Plan{fake.PlanFree, fake.PlanPro, fake.PlanBusiness} {
		t.Run(plan.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const minutes, latency = 2, 50 * time.Millisecond
				server := fake.NewTestServer(t, fake.WithPlan(plan), fake.WithLatency(latency))
				b := newBench(t, server, (minutes+1)*plan.PerMinute)
				start := time.Now()
				require.NoError(t, b.run(t.Context()))
				least := minutes*time.Minute + time.Duration(plan.PerMinute)*latency/time.Duration(steady)
				t.Logf("%.3f of the plan's limit", float64(least)/float64(time.Since(start)))
				assert.Less(t, float64(time.Since(start)), 1.03*float64(least))
				assert.Zero(t, server.Usage(server.APIKey()).Limited)
			})
		})
	}
}

func importRestarted(t *testing.T) {
	server := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree), fake.WithBan(3, time.Hour))
	b := newBench(t, server, 100)
	for range 12 {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		require.Error(t, b.run(ctx))
		cancel()
	}
	require.NoError(t, b.run(t.Context()))
	assert.LessOrEqual(t, server.Usage(server.APIKey()).Limited, 1)
	b.assertNothingLostOrRepeated(100)
	assert.Equal(t, 100, b.count(created))
}

func importDuringBan(t *testing.T) {
	server := fake.NewTestServer(t)
	banned := server.Inject(fake.Fault{Status: 429, RetryAfter: "3600", Times: fake.Forever})
	b := newBench(t, server, 10)
	for range 5 {
		assert.Regexp(t, `rate limited \(ban\) until .*: run it again after `, advice(b.run(t.Context())))
	}
	server.AssertRequests(t, "", 1)
	b.now = true
	require.Error(t, b.run(t.Context()))
	server.AssertRequests(t, "", 2)
	b.now = false
	banned.Remove()
	time.Sleep(time.Hour)
	require.NoError(t, b.run(t.Context()))
}

func importBeyondDay(t *testing.T) {
	server := fake.NewTestServer(t, fake.WithStrict("zero-category"), fake.WithPlan(fake.Enterprise(100, 150)))
	b := newBench(t, server, 200)
	err := b.run(t.Context())
	limited, ok := errors.AsType[*petstore.RateLimitError](err)
	require.True(t, ok)
	assert.Contains(t, advice(err), "petstore: createPet: rate limited (day) until ")
	assert.Contains(t, advice(err), ": run it again after "+limited.RetryAt.Format(time.RFC1123)+", or with -now for another key or plan")
	assert.InDelta(t, 150-int(steady)/2, b.count(created), float64(steady/2), "who is refused first stops the others")
	assert.Zero(t, b.count(unknown))
	time.Sleep(time.Until(limited.RetryAt))
	require.NoError(t, b.run(t.Context()))
	assert.Equal(t, 200, b.count(created))
	b.assertNothingLostOrRepeated(200)
}

func importWaits(t *testing.T) {
	server := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree))
	server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Skip: 9, Status: 429, RetryAfter: "20"})
	b := newBench(t, server, 100)
	later := newBench(t, server, 100)
	for _, d := range []time.Duration{10 * time.Second, 30 * time.Second} { // after the 429, and in the first window
		time.AfterFunc(d, func() {
			journal, err := os.ReadFile(b.input + ".journal")
			assert.NoError(t, err)
			assert.NoError(t, os.WriteFile(later.input+".journal", journal, 0o600))
			assert.NotEmpty(t, later.states())
			assert.Zero(t, later.count(sending))
		})
	}
	require.NoError(t, b.run(t.Context()))
}

func interruptImport(t *testing.T) {
	server := fake.NewTestServer(t, fake.WithLatency(3*time.Second))
	b := newBench(t, server, 100)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Second, cancel)
	assert.ErrorIs(t, b.run(ctx), context.Canceled)
	assert.Zero(t, b.count(unknown))
	assert.Equal(t, len(server.Pets()), b.count(created))
	assert.Less(t, b.count(created), 100)
	assert.Contains(t, b.out.String(), "of 100 rows, stopping, again to stop at once, 8 in flight\n")
	require.NoError(t, b.run(t.Context()))
	b.assertNothingLostOrRepeated(100)
	assert.Equal(t, 100, b.count(created))
}

func interruptWait(t *testing.T) {
	server := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree))
	b := newBench(t, server, 100)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Second, cancel)
	start := time.Now()
	assert.ErrorIs(t, b.run(ctx), context.Canceled)
	assert.Equal(t, 20*time.Second, time.Since(start))
	assert.Contains(t, b.out.String(), "100 rows: 60 created, 0 undecided, 0 rejected, 40 left\n")
	assert.Regexp(t, `60 of 100 rows, waits until \d\d:\d\d:\d\d for the next 60\n`, b.out.String())
}

func interruptOutage(t *testing.T) {
	server := fake.NewTestServer(t, fake.WithLatency(37*time.Millisecond))
	server.Inject(fake.Fault{Skip: 100, Times: fake.Forever, Wire: fake.WireRefuse})
	b := newBench(t, server, 200)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Minute, cancel)
	start := time.Now()
	assert.ErrorIs(t, b.run(ctx), context.Canceled)
	assert.LessOrEqual(t, time.Since(start), time.Minute+grace)
	assert.Regexp(t, `^importing .* into the test's\n\d\d of 200 rows\n`, b.out.String())
	assert.Regexp(t, `\n100 of 200 rows, no response, looks again at [\d:]+\n`, b.out.String())
	assert.Contains(t, b.out.String(), "\n200 rows: 100 created, 0 undecided, 0 rejected, 100 left\n")
}

func reportInterrupted(t *testing.T) {
	server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(10, 0)))
	server.Inject(fake.Fault{Operation: petstore.OpCreatePet, AfterCommit: true, Wire: fake.WireReset})
	b := newBench(t, server, 10)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Second, cancel)
	start := time.Now()
	require.NoError(t, b.run(ctx), "no row is left")
	assert.Equal(t, 20*time.Second, time.Since(start))
	assert.Regexp(t, `10 of 10 rows, waits until \d\d:\d\d:\d\d for the next 10\n`, b.out.String())
	assert.Contains(t, b.report(".undecided.csv")[0][6], "listPets failed: ")
	require.NoError(t, b.run(t.Context()))
	assert.Contains(t, b.report(".undecided.csv")[0][6], "seen: id ")
}

func reportNothing(t *testing.T) {
	server := fake.NewTestServer(t)
	server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Wire: fake.WireReset})
	server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Status: http.StatusBadRequest})
	b := newBench(t, server, 5)
	require.NoError(t, b.run(t.Context()))
	assert.Len(t, b.report(".undecided.csv"), 1)
	assert.Len(t, b.report(".rejected.csv"), 1)
	require.NoError(t, os.Remove(b.input+".journal"))
	require.NoError(t, b.run(t.Context()))
	assert.Empty(t, b.report(".undecided.csv"))
	assert.Empty(t, b.report(".rejected.csv"))
}

func importConcurrently(t *testing.T) {
	server := fake.NewTestServer(t, fake.WithLatency(time.Second))
	b := newBench(t, server, 20)
	second := &bench{T: t, server: server, input: b.input, patience: b.patience}
	time.AfterFunc(time.Second, func() {
		begun, err := second.begin(t.Context())
		assert.False(t, begun)
		assert.ErrorContains(t, err, "another import is running: it has locked "+b.input+".journal")
	})
	require.NoError(t, b.run(t.Context()))
	b.assertNothingLostOrRepeated(20)
}

func importWithoutJournal(t *testing.T) {
	server := fake.NewTestServer(t, fake.WithLatency(time.Second))
	b := newBench(t, server, 100)
	time.AfterFunc(10*time.Second, func() { assert.NoError(t, os.Remove(b.input+".journal")) })
	start := time.Now()
	assert.ErrorContains(t, b.run(t.Context()), "the journal cannot be written")
	assert.LessOrEqual(t, time.Since(start), 16*time.Second, "the lists for the report included")
}

func reportImported(t *testing.T) {
	server := fake.NewTestServer(t)
	refusal := server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Status: http.StatusBadRequest, Times: fake.Forever})
	pets := []string{"=1+1,-7,sold", "'=x,1,", "@me,2,", "\"a \"\"b\"\",\nc\",3,", "-,4,pending"}
	b := newBenchOf(t, server, "name,categoryId,status\n"+strings.Join(pets, "\n")+"\nBo,x,\nRex\n")
	require.NoError(t, b.run(t.Context()))
	refusal.Remove()
	mended, err := os.ReadFile(b.input + ".rejected.csv")
	require.NoError(t, err)
	assert.Contains(t, string(mended), "\n'=1+1,-7,sold,2,")
	for _, line := range strings.Split(string(mended), "\n")[1:] {
		assert.NotRegexp(t, `(^|,)"?[=@]`, line)
	}
	again := newBenchOf(t, server, string(mended))
	require.NoError(t, again.run(t.Context()))
	assert.Equal(t, 5, again.summary.Created)
	assert.Equal(t, 2, again.summary.Rejected, "what is no pet is none the second time")
	var got []string
	for _, p := range server.Pets() {
		got = append(got, p.Name)
	}
	assert.ElementsMatch(t, []string{"=1+1", "'=x", "@me", "a \"b\",\nc", "-"}, got)
}
