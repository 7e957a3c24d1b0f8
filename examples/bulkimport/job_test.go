package main

import (
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

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// These tests import into the fake, in virtual time, and look at what the service got and what the files say.

// bench is an input in a folder of its own, and the service that it goes to.
type bench struct {
	*testing.T
	server *fake.Server
	input  string
	out    strings.Builder
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
	b := &bench{T: t, server: server, input: filepath.Join(t.TempDir(), "pets.csv")}
	require.NoError(t, os.WriteFile(b.input, []byte(text), 0o600))
	return b
}

func (b *bench) run(ctx context.Context) error {
	b.Helper()
	begun, err := b.begin(ctx)
	assert.True(b, begun)
	return err
}

func (b *bench) begin(ctx context.Context) (bool, error) {
	return newJob(b.input, "").run(ctx, serviceOf(b.server), &b.out, &b.out)
}

func serviceOf(server *fake.Server) service {
	connect := func(opts ...petstore.Option) (*petstore.Client, error) { return server.Client(opts...), nil }
	return service{"the test's", connect, nil}
}

// states returns what the journal says of each row, by the number in the name of its pet.
func (b *bench) states() map[int]event {
	b.Helper()
	states := map[int]event{}
	for _, line := range b.lines(".journal")[1:] {
		var e struct {
			Line  int
			Event event
		}
		require.NoError(b, json.Unmarshal([]byte(line), &e))
		states[e.Line-1] = e.Event
	}
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

func (b *bench) lines(suffix string) []string {
	b.Helper()
	content, err := os.ReadFile(b.input + suffix)
	require.NoError(b, err)
	return strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
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
		if r.Operation != fake.OpCreatePet || r.StatusCode == http.StatusTooManyRequests {
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

func TestTheSampleIsImportedAtThePaceOfTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithStrict(), fake.WithBan(1, time.Hour), fake.WithPlan(fake.PlanPro))
		sample, err := os.ReadFile("pets.csv")
		require.NoError(t, err)
		b := newBenchOf(t, server, string(sample))
		start := time.Now()
		require.NoError(t, b.run(t.Context()))
		assert.Len(t, server.Pets(), 497)
		assert.Zero(t, server.Usage(server.APIKey()).Limited)
		assert.InDelta(t, time.Minute, time.Since(start), float64(2*time.Second), "one window was waited for")
		assert.Contains(t, b.out.String(), "500 rows: 497 created, 0 undecided, 3 rejected, 0 left\n")
		assert.Contains(t, b.out.String(), "of which 1m0s waiting for the rate limit\n")
		assert.Empty(t, b.report(".undecided.csv"))
		assert.Equal(t, [][]string{
			{"59", `categoryId "bird" is not a 64-bit integer`, "Tweety,bird,available"},
			{"235", "petstore: createPet: Name: is empty", ",2,sold"},
			{"403", `petstore: createPet: Status: "asleep" is none of available, pending, sold`, "Sleepy,3,asleep"},
		}, b.report(".rejected.csv"))
	})
}

func TestWhatIsAddedIsWhatStandsInTheRowAlsoIfTwoAreAlike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithStrict())
		b := newBenchOf(t, server, "name,categoryId,status\n小白,0,\n小白,0,\n\" \"\"x\"\", y\n\",-7,sold\n")
		require.NoError(t, b.run(t.Context()))
		var got []petstore.NewPet
		for _, p := range server.Pets() {
			got = append(got, petstore.NewPet{Name: p.Name, CategoryID: p.CategoryID, Status: p.Status})
		}
		assert.ElementsMatch(t, []petstore.NewPet{
			{Name: "小白"}, {Name: "小白"}, {Name: " \"x\", y\n", CategoryID: -7, Status: "sold"},
		}, got)
	})
}

func TestASecondRunHasNothingLeftToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t)
		b := newBench(t, server, 20)
		require.NoError(t, b.run(t.Context()))
		require.NoError(t, b.run(t.Context()))
		assert.Contains(t, b.out.String(), "20 of 20 rows were done before")
		server.AssertRequests(t, fake.OpCreatePet, 20)
	})
}

func TestInChaosNothingIsLostAndNothingRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(3) {
			server := fake.NewTestServer(t, fake.WithSeed(seed), fake.WithLatency(20*time.Millisecond))
			injectChaos(server)
			b := newBench(t, server, 500)
			for range 3 { // ten undecided in a row are possible
				if err := b.run(t.Context()); err != nil {
					assert.ErrorContains(t, err, "10 creates in a row")
				}
			}
			b.assertNothingLostOrRepeated(500)
			assert.Positive(t, b.count(unknown))
		}
	})
}

func TestACreateOfUnknownOutcomeIsLeftToAPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithPets(petstore.NewPet{Name: "Pet 2", CategoryID: 9, Status: "sold"}))
		server.Inject(fake.Fault{Operation: fake.OpCreatePet, Match: adds(t, 2), AfterCommit: true, Wire: fake.WireReset})
		server.Inject(fake.Fault{Operation: fake.OpCreatePet, Match: adds(t, 3), Status: http.StatusServiceUnavailable})
		b := newBench(t, server, 12)
		require.NoError(t, b.run(t.Context()))
		b.assertUndecided(map[string]string{"3": "seen: id ", "4": "not seen: it is not among the 12 pets"})
		assert.Contains(t, b.out.String(), "12 rows: 10 created, 2 undecided, 0 rejected, 0 left\n")
		assert.Contains(t, b.out.String(), "undecided, for a person to look at: "+b.input+".undecided.csv\n")
	})
}

// adds matches the request that adds a pet of newBench.
func adds(t *testing.T, number int) func(*http.Request) bool {
	return func(r *http.Request) bool {
		var pet petstore.NewPet
		return assert.NoError(t, json.NewDecoder(r.Body).Decode(&pet)) && pet.Name == fmt.Sprintf("Pet %d", number)
	}
}

func (b *bench) assertUndecided(told map[string]string) {
	b.Helper()
	rows := b.report(".undecided.csv")
	assert.Len(b, rows, len(told))
	for _, r := range rows {
		assert.Containsf(b, r[6], told[r[0]], "line %s", r[0])
	}
}

func TestOf100PetsInTheListNothingCanBeTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t)
		for range 100 {
			server.AddPet(petstore.NewPet{Name: "Other", Status: "sold"})
		}
		server.Inject(fake.Fault{Operation: fake.OpCreatePet, Wire: fake.WireClose, AfterCommit: true})
		server.Inject(fake.Fault{Operation: fake.OpCreatePet, Wire: fake.WireClose})
		b := newBenchOf(t, server, "name,categoryId,status\nRex,1,sold\nRex,1,sold\n")
		require.NoError(t, b.run(t.Context()))
		const told = "cannot tell: listPets shows 100 pets and there may be more; 2 undecided rows are alike"
		b.assertUndecided(map[string]string{"2": told, "3": told})
	})
}

func TestAPetThatAnotherRowHasAddedIsNotTakenForTheUndecidedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t)
		server.Inject(fake.Fault{Operation: fake.OpCreatePet, Wire: fake.WireReset})
		b := newBenchOf(t, server, "name,categoryId,status\nRex,1,\nRex,1,\n")
		require.NoError(t, b.run(t.Context()))
		require.Len(t, server.Pets(), 1)
		require.Len(t, b.report(".undecided.csv"), 1)
		assert.Equal(t, "not seen: it is not among the 1 pets that listPets shows", b.report(".undecided.csv")[0][6])
	})
}

func TestARowThatTheServiceRefusesIsRejectedWithItsMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t)
		for i, status := range []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity} {
			server.Inject(fake.Fault{
				Operation: fake.OpCreatePet, Match: adds(t, i+2), Status: status, Message: "no\nsuch category",
			})
		}
		b := newBench(t, server, 10)
		require.NoError(t, b.run(t.Context()))
		rows := b.report(".rejected.csv")
		require.Len(t, rows, 3)
		assert.Equal(t, "3", rows[0][0])
		assert.Contains(t, rows[0][1], "400")
		assert.Contains(t, rows[0][1], "such category")
		assert.Equal(t, "Pet 2,2,sold", rows[0][2])
		b.assertNothingLostOrRepeated(10)
	})
}

func TestAnAnswerThatIsNotAboutTheRowStopsTheImportAndLeavesTheRows(t *testing.T) {
	for name, fault := range map[string]fake.Fault{
		"unauthorized":  {Status: http.StatusUnauthorized},
		"forbidden":     {Status: http.StatusForbidden},
		"not found":     {Status: http.StatusNotFound},
		"redirect":      {Status: http.StatusFound, Header: http.Header{"Location": {"/login"}}},
		"unimplemented": {Status: http.StatusNotImplemented},
		"refused":       {Wire: fake.WireRefuse},
		"day over":      {Status: http.StatusTooManyRequests, RetryAfter: "36000"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := fake.NewTestServer(t, fake.WithLatency(time.Millisecond))
				fault.Operation, fault.Skip, fault.Times = fake.OpCreatePet, 20, fake.Forever
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

func TestAServiceThatIsDownMakesFewRowsUndecided(t *testing.T) {
	for name, fault := range map[string]fake.Fault{
		"503":   {Status: http.StatusServiceUnavailable},
		"reset": {Wire: fake.WireReset},
		"stall": {Wire: fake.WireStall},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := fake.NewTestServer(t)
				fault.Skip, fault.Times = 20, fake.Forever
				failing := server.Inject(fault)
				b := newBench(t, server, 100)
				start := time.Now()
				err := b.run(t.Context())
				assert.LessOrEqual(t, time.Since(start), 140*time.Second, "four time-outs of an attempt, and 20 s for lists")
				assert.ErrorContains(t, err, "10 creates in a row came to an unknown outcome")
				assert.GreaterOrEqual(t, b.count(unknown), tooManyUndecided)
				assert.Less(t, b.count(unknown), tooManyUndecided+2*workers, "those on their way come on top")
				assert.Contains(t, b.report(".undecided.csv")[0][6], "listPets could not be asked: ")
				failing.Remove()
				require.NoError(t, b.run(t.Context()))
				b.assertNothingLostOrRepeated(100)
				assert.NotContains(t, b.report(".undecided.csv")[0][6], "could not be asked")
			})
		})
	}
}

func TestTheEndOfTheDaysQuotaIsToldWithTheTimeToGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithStrict(), fake.WithPlan(fake.Enterprise(100, 150)))
		b := newBench(t, server, 200)
		err := b.run(t.Context())
		limited, ok := errors.AsType[*petstore.RateLimitError](err)
		require.True(t, ok)
		assert.Contains(t, advice(err), "the rate limit (day) lets nothing through: run it again after "+
			limited.RetryAt.Format(time.RFC1123)+" to go on")
		assert.InDelta(t, 150-workers/2, b.count(created), workers/2, "who is refused first stops the others")
		assert.Zero(t, b.count(unknown))
		time.Sleep(time.Until(limited.RetryAt))
		require.NoError(t, b.run(t.Context()))
		assert.Equal(t, 200, b.count(created))
		b.assertNothingLostOrRepeated(200)
	})
}

func TestABanStopsTheImport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t)
		server.BanKey(server.APIKey(), 48*time.Hour)
		b := newBench(t, server, 30)
		err := b.run(t.Context())
		assert.Contains(t, advice(err), "run it again after "+time.Now().Add(48*time.Hour).Format(time.RFC1123))
		assert.Contains(t, b.out.String(), "0 created, 0 undecided, 0 rejected, 30 left\n")
		server.AssertRequests(t, "", 1)
	})
}

func TestARowThatWaitsForTheLimitIsNotUndecidedWhenTheProgramDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree))
		server.Inject(fake.Fault{Operation: fake.OpCreatePet, Skip: 9, Status: 429, RetryAfter: "20"})
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
	})
}

func TestAnInterruptSendsNoMoreAndWaitsForTheAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithLatency(3*time.Second))
		b := newBench(t, server, 100)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, cancel)
		assert.ErrorIs(t, b.run(ctx), context.Canceled)
		assert.Zero(t, b.count(unknown))
		assert.Equal(t, len(server.Pets()), b.count(created))
		assert.Less(t, b.count(created), 100)
		assert.Contains(t, b.out.String(), "stops after the last answers")
		assert.Regexp(t, `of 100 rows, .*, waits for answers: 8\n`, b.out.String())
		require.NoError(t, b.run(t.Context()))
		b.assertNothingLostOrRepeated(100)
		assert.Equal(t, 100, b.count(created))
	})
}

func TestAnInterruptEndsAWaitForTheLimitAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree))
		b := newBench(t, server, 100)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Second, cancel)
		start := time.Now()
		assert.ErrorIs(t, b.run(ctx), context.Canceled)
		assert.Equal(t, 20*time.Second, time.Since(start))
		assert.Contains(t, b.out.String(), "100 rows: 60 created, 0 undecided, 0 rejected, 40 left\n20s, of which 20s waiting")
		assert.Contains(t, b.out.String(), "60 of 100 rows, ")
		assert.Contains(t, b.out.String(), " for 60 more\n")
	})
}

func TestTheWaitForTheCatalogueIsShownAndAnInterruptEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(10, 0)))
		server.Inject(fake.Fault{Operation: fake.OpCreatePet, AfterCommit: true, Wire: fake.WireReset})
		b := newBench(t, server, 10)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Second, cancel)
		start := time.Now()
		require.NoError(t, b.run(ctx), "no row is left")
		assert.Equal(t, 20*time.Second, time.Since(start))
		assert.Regexp(t, ` 10 of 10 rows, .*, waits until \d\d:\d\d:\d\d for 10 more\n`, b.out.String())
		assert.Contains(t, b.out.String(), "20s, of which 20s waiting for the rate limit\n")
		assert.Contains(t, b.report(".undecided.csv")[0][6], "listPets could not be asked: ")
		require.NoError(t, b.run(t.Context()))
		assert.Contains(t, b.report(".undecided.csv")[0][6], "seen: id ")
	})
}

func TestAReportThatHasNothingToReportIsNotThatOfAnEarlierImport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t)
		server.Inject(fake.Fault{Operation: fake.OpCreatePet, Wire: fake.WireReset})
		server.Inject(fake.Fault{Operation: fake.OpCreatePet, Status: http.StatusBadRequest})
		b := newBench(t, server, 5)
		require.NoError(t, b.run(t.Context()))
		assert.Len(t, b.report(".undecided.csv"), 1)
		assert.Len(t, b.report(".rejected.csv"), 1)
		require.NoError(t, os.Remove(b.input+".journal"))
		require.NoError(t, b.run(t.Context()))
		assert.Empty(t, b.report(".undecided.csv"))
		assert.Empty(t, b.report(".rejected.csv"))
	})
}

func TestAnImportSaysWhereThePetsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, fake.NewTestServer(t), 1)
		require.NoError(t, b.run(t.Context()))
		assert.Contains(t, b.out.String(), "importing "+b.input+" into the test's\n")
	})
}

func TestTwoImportsDoNotShareAJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithLatency(time.Second))
		b := newBench(t, server, 20)
		second := &bench{T: t, server: server, input: b.input}
		time.AfterFunc(time.Second, func() {
			begun, err := second.begin(t.Context())
			assert.False(t, begun)
			assert.ErrorContains(t, err, "another import of "+b.input+" is running")
		})
		require.NoError(t, b.run(t.Context()))
		b.assertNothingLostOrRepeated(20)
	})
}

func TestNoFileHasTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const key = "do-not-write-me-down"
		server := fake.NewTestServer(t, fake.WithKey(key, fake.PlanBusiness))
		injectChaos(server)
		server.Inject(fake.Fault{Operation: fake.OpCreatePet, Skip: 30, Status: 400, Message: "bad key " + key})
		b := newBench(t, server, 200)
		connect := func(opts ...petstore.Option) (*petstore.Client, error) {
			return petstore.NewClient("https://host/v1", key, append(opts, petstore.WithHTTPClient(server.HTTPClient()))...)
		}
		_, err := newJob(b.input, "").run(t.Context(), service{"https://host/v1", connect, nil}, &b.out, &b.out)
		require.NoError(t, err)
		files, err := filepath.Glob(b.input + "*")
		require.NoError(t, err)
		assert.Len(t, files, 5)
		for _, file := range files {
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.NotContains(t, string(content), key, file)
		}
		assert.NotContains(t, b.out.String(), key)
	})
}
