package main

import (
	"bytes"
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
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	out    output
}

// output is what a program has printed.
type output struct {
	mu sync.Mutex
	strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Builder.Write(p)
}

// newBench writes an input of n pets with names of their own, Pet 1 in line 2, and so on.
func newBench(t *testing.T, server *fake.Server, n int) *bench {
	t.Helper()
	var text strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&text, "Pet %d,%d,%s\n", i, i%5, []string{"available", "pending", "sold", ""}[i%4])
	}
	return newBenchOf(t, server, header+text.String())
}

const header = "name,categoryId,status\n"

func newBenchOf(t *testing.T, server *fake.Server, text string) *bench {
	t.Helper()
	b := &bench{T: t, server: server, input: filepath.Join(t.TempDir(), "pets.csv")}
	require.NoError(t, os.WriteFile(b.input, []byte(text), 0o600))
	return b
}

// run runs the program's job as runFile does.
func (b *bench) run(ctx context.Context) error {
	b.Helper()
	return b.job(ctx).run(ctx)
}

func (b *bench) service() service {
	connect := func(opts ...petstore.Option) (*petstore.Client, error) { return b.server.Client(opts...), nil }
	return service{"the test's", connect}
}

func (b *bench) job(ctx context.Context) *job {
	b.Helper()
	in, err := readInput(b.input)
	require.NoError(b, err)
	j, err := newJob(ctx, in, b.service(), false, &b.out)
	require.NoError(b, err)
	j.journal.sync = func() error { return nil } // no test switches the machine off
	return j
}

// journal returns what the journal says now.
func (b *bench) journal() *journal {
	b.Helper()
	text, err := os.ReadFile(b.input + ".journal")
	require.NoError(b, err)
	j := newJournal(nil)
	_, err = j.replay(text)
	require.NoError(b, err)
	return j
}

// count returns how many rows the journal ends with in a state.
func (b *bench) count(want event) int { return b.journal().number(want) }

// report returns the rows of a report, without its head.
func (b *bench) report(suffix string) [][]string {
	b.Helper()
	text, err := os.ReadFile(b.input + suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(b, err)
	table, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	require.NoError(b, err)
	return table[1:]
}

// sent returns how often the service got each pet, by the number in its name: neither those that it
// rejected with a 401 or 429, nor those that a kill has cut off in their bodies.
func (b *bench) sent() map[int]int {
	b.Helper()
	times := map[int]int{}
	for _, r := range b.server.RequestsOf(petstore.OpCreatePet) {
		refused := r.StatusCode == http.StatusUnauthorized || r.StatusCode == http.StatusTooManyRequests
		if !refused && json.Valid(r.Body) {
			var pet petstore.NewPet
			require.NoError(b, json.Unmarshal(r.Body, &pet))
			times[b.number(pet.Name)]++
		}
	}
	return times
}

func (b *bench) number(name string) int {
	b.Helper()
	n, err := strconv.Atoi(strings.TrimPrefix(name, "Pet "))
	require.NoError(b, err)
	return n
}

// assertNothingLostOrRepeated holds the whole contract of an import that is over.
func (b *bench) assertNothingLostOrRepeated(rows int) {
	b.Helper()
	assert.Len(b, b.journal().rows, rows)
	for pet, times := range b.sent() {
		assert.Equalf(b, 1, times, "requests to add Pet %d", pet)
	}
	there := map[int]bool{}
	for _, pet := range b.server.Pets() {
		there[b.number(pet.Name)] = true
	}
	assert.Len(b, b.server.Pets(), len(there), "a pet is there twice")
	for line, e := range b.journal().rows {
		switch pet := line - 1; e.Event {
		case created:
			assert.Truef(b, there[pet], "Pet %d is created and not there", pet)
		case rejected:
			assert.Falsef(b, there[pet], "Pet %d is rejected and there", pet)
		case unknown:
		default:
			b.Errorf("Pet %d is left %s", pet, e.Event)
		}
	}
	assert.Len(b, b.report(undecidedReport), b.count(unknown))
	assert.Len(b, b.report(rejectedReport), b.count(rejected))
}

func TestImport(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"loses and repeats nothing if its journal fails":                 importWithFailingJournal,
		"keeps the pace of the plan, and sends one create ahead":         importAtPace,
		"does not accept the success of another pet":                     importWithWrongSuccesses,
		"takes no success for the end of an outage that began later":     importWithLateSuccesses,
		"keeps to the limit that an earlier run has used up":             importRestarted,
		"does not count a waiting row as sent":                           importWaits,
		"finishes the requests in flight when it is interrupted":         interruptImport,
		"stops at once when it is interrupted during a wait":             interruptWait,
		"refuses a second import of the same file":                       importConcurrently,
		"reports the rows that the service refuses, which can be mended": reportImported,
		"writes no report through a link that somebody has planted":      reportPlanted,
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
	for name, fault := range outages() {
		t.Run("leaves few rows undecided in an outage/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { importInOutage(t, fault) })
		})
	}
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

// importWithFailingJournal ends the journal before or after each of its entries: as a disk that is
// full does, or a program that is killed between two of them.
func importWithFailingJournal(t *testing.T) {
	for last := range 40 {
		b := newBench(t, fake.NewTestServer(t, fake.WithLatency(time.Millisecond)), 10)
		injectChaos(b.server, 0.05)
		j := b.job(t.Context())
		writes := 0
		j.journal.sync = func() error {
			if writes++; writes <= last/2 {
				return nil
			}
			if last%2 == 0 { // the entry did not arrive as a whole
				info, err := j.journal.file.Stat()
				require.NoError(t, errors.Join(err, j.journal.file.Truncate(info.Size()-7)))
			}
			return errors.New("no space left")
		}
		err := j.run(t.Context())
		for runs := 0; err != nil && runs < 20; runs++ {
			err = b.run(t.Context())
		}
		require.NoError(t, err)
		b.assertNothingLostOrRepeated(10)
	}
}

// adds matches the requests that add some pets of newBench.
func adds(t *testing.T, first, last int) func(*http.Request) bool {
	return func(r *http.Request) bool {
		var pet petstore.NewPet
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&pet))
		n, err := strconv.Atoi(strings.TrimPrefix(pet.Name, "Pet "))
		return assert.NoError(t, err) && first <= n && n <= last
	}
}

// outages are the ways in which a service is down, or refuses the key.
func outages() map[string]fake.Fault {
	return map[string]fake.Fault{
		"401":                  {Status: http.StatusUnauthorized},
		"503":                  {Status: http.StatusServiceUnavailable},
		"reset":                {Wire: fake.WireReset},
		"stall":                {Wire: fake.WireStall},
		"refused":              {Wire: fake.WireRefuse},
		"redirect":             {Status: http.StatusFound, Header: http.Header{"Location": {"/login"}}},
		"redirect, after that": {Status: http.StatusSeeOther, AfterCommit: true},
		"one response for all": {Status: http.StatusCreated, Body: []byte(`{"id":1,"name":"Pet 1","categoryId":1}`)},
	}
}

func importInOutage(t *testing.T, fault fake.Fault) {
	server := fake.NewTestServer(t, fake.WithLatency(time.Millisecond))
	fault.Skip, fault.Times = 20, fake.Forever
	failing := server.Inject(fault)
	b := newBench(t, server, 100)
	require.Error(t, b.run(t.Context()))
	require.Error(t, b.run(t.Context()))
	assert.LessOrEqual(t, b.count(unknown), steady+2*outage)
	failing.Remove()
	require.NoError(t, b.run(t.Context()))
	b.assertNothingLostOrRepeated(100)
}

// importWithLateSuccesses has requests succeed that were sent before the outage was known.
func importWithLateSuccesses(t *testing.T) {
	server := fake.NewTestServer(t)
	server.Inject(fake.Fault{Match: adds(t, 2, 2), Status: http.StatusServiceUnavailable})
	server.Inject(fake.Fault{Match: adds(t, 3, 1+steady), Times: fake.Forever, Delay: time.Second})
	server.Inject(fake.Fault{Match: adds(t, 2+steady, 100), Times: fake.Forever, Status: http.StatusServiceUnavailable})
	b := newBench(t, server, 100)
	require.ErrorIs(t, b.run(t.Context()), petstore.ErrOutcomeUnknown)
	assert.Equal(t, outage, b.count(unknown))
	assert.Equal(t, steady, b.count(created))
}

func importWithWrongSuccesses(t *testing.T) {
	const rows = 40
	server := fake.NewTestServer(t, fake.WithLatency(time.Second))
	for n, body := range map[int]string{ // so far apart that no three are confirmed in a row
		3:  `{"id":1,"name":"Pet 3","categoryId":3}`,
		13: `{"id":113,"name":"Pet 4","categoryId":3,"status":"pending"}`,
		23: `{"id":123,"name":"Pet 23","categoryId":9}`,
		33: `{"id":133,"name":"Pet 33","categoryId":3,"status":"sold"}`,
	} {
		server.Inject(fake.Fault{Match: adds(t, n, n), Status: http.StatusCreated, Body: []byte(body)})
	}
	b := newBench(t, server, rows)
	require.NoError(t, b.run(t.Context()))
	assert.Contains(t, b.out.String(), "40 rows: 36 created, 4 undecided, 0 rejected, 0 left\n")
	assert.Equal(t, []string{"Pet 3", "3", "", "4", "the service has confirmed another pet: 1"},
		b.report(undecidedReport)[0][:5])
	b.assertNothingLostOrRepeated(rows)
}

func importAtPace(t *testing.T) {
	const minutes, latency = 2, 50 * time.Millisecond
	plan := fake.PlanBusiness
	server := fake.NewTestServer(t, fake.WithPlan(plan), fake.WithLatency(latency))
	b := newBench(t, server, (minutes+1)*plan.PerMinute)
	time.AfterFunc(latency*9/10, func() { assert.Len(t, server.Requests(), 1) })
	start := time.Now()
	require.NoError(t, b.run(t.Context()))
	least := minutes*time.Minute + time.Duration(plan.PerMinute)*latency/time.Duration(steady)
	assert.Less(t, float64(time.Since(start)), 1.03*float64(least))
	assert.Zero(t, server.Usage(server.APIKey()).Limited)
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

func importWaits(t *testing.T) {
	server := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree))
	server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Skip: 9, Status: 429, RetryAfter: "20"})
	b := newBench(t, server, 100)
	for _, d := range []time.Duration{10 * time.Second, 30 * time.Second} { // after the 429, and in the first window
		time.AfterFunc(d, func() { assert.Zero(t, b.count(sending)) })
	}
	require.NoError(t, b.run(t.Context()))
}

func interruptImport(t *testing.T) {
	server := fake.NewTestServer(t, fake.WithLatency(3*time.Second))
	b := newBench(t, server, 100)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Second, cancel)
	assert.ErrorIs(t, b.run(ctx), context.Canceled)
	assert.Zero(t, b.count(unknown)+b.count(sending))
	assert.Len(t, server.Pets(), b.count(created))
	assert.Less(t, b.count(created), 100)
	assert.Contains(t, b.out.String(), "\nstopping after the requests in flight")
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
	assert.Equal(t, 1, strings.Count(b.out.String(), "\nthe rate limit is used up until "))
}

func importConcurrently(t *testing.T) {
	b := newBench(t, fake.NewTestServer(t, fake.WithLatency(time.Second)), 20)
	time.AfterFunc(time.Second, func() {
		in, err := readInput(b.input)
		assert.NoError(t, err)
		_, err = newJob(t.Context(), in, b.service(), false, &b.out)
		assert.ErrorContains(t, err, "journal "+b.input+".journal: another import is running")
	})
	require.NoError(t, b.run(t.Context()))
	b.assertNothingLostOrRepeated(20)
}

func reportImported(t *testing.T) {
	server := fake.NewTestServer(t)
	refusal := server.Inject(fake.Fault{
		Operation: petstore.OpCreatePet, Status: http.StatusBadRequest, Message: "no\nsuch category", Times: fake.Forever,
	})
	pets := []string{
		"=1+1,-7,sold", "\"a \"\"b\"\", c\",3,", "-,4,pending", "'=x,1,", "@me,2,", "＝1,5,", "＠x,6,", "\tx,7,",
	}
	b := newBenchOf(t, server, header+strings.Join(pets, "\n")+"\nBo,x,\nRex\n")
	require.NoError(t, b.run(t.Context()))
	refusal.Remove()
	mended, err := os.ReadFile(b.input + rejectedReport)
	require.NoError(t, err)
	assert.Contains(t, string(mended), "such category")
	assert.NotRegexp(t, `(?m)(^|,)"?[=+\-@＝＋－＠\t\r]`, string(mended), "no cell is a formula")
	require.NoError(t, os.Remove(b.input+".journal"))
	require.NoError(t, os.WriteFile(b.input, []byte(header), 0o600))
	require.NoError(t, b.run(t.Context()))
	assert.Nil(t, b.report(rejectedReport), "there is none without rows")
	again := newBenchOf(t, server, string(mended))
	require.NoError(t, again.run(t.Context()))
	assert.Equal(t, len(pets), again.count(created))
	assert.Equal(t, 2, again.count(rejected), "what is no pet is none the second time")
	var got []string
	for _, p := range server.Pets() {
		got = append(got, p.Name)
	}
	assert.ElementsMatch(t, []string{"=1+1", "a \"b\", c", "-", "'=x", "@me", "＝1", "＠x", "\tx"}, got)
}

// reportPlanted has a link in place of a report that the import writes.
func reportPlanted(t *testing.T) {
	b := newBenchOf(t, fake.NewTestServer(t), header+"Rex,x,\n")
	victim := filepath.Join(t.TempDir(), "victim")
	require.NoError(t, os.WriteFile(victim, nil, 0o600))
	require.NoError(t, os.Symlink(victim, b.input+rejectedReport))
	require.NoError(t, b.run(t.Context()))
	assert.Len(t, b.report(rejectedReport), 1)
	text, err := os.ReadFile(victim)
	require.NoError(t, err)
	assert.Empty(t, text)
}
