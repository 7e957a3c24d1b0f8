package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/faketest"
)

// bench is an input in a folder of its own, and the service that it goes to.
type bench struct {
	*testing.T
	server *fake.Server
	path   string
	out    strings.Builder // what imports have printed
}

// newBench writes an input of n rows. The pet of row 1 is Pet 1, and so on.
func newBench(t *testing.T, server *fake.Server, n int) *bench {
	t.Helper()
	b := &bench{T: t, server: server, path: filepath.Join(t.TempDir(), "pets.csv")}
	text := header
	for i := 1; i <= n; i++ {
		text += fmt.Sprintf("\nPet %d,%d,%s", i, i%5, []string{"available", "pending", "sold", ""}[i%4])
	}
	require.NoError(t, os.WriteFile(b.path, []byte(text), 0o600))
	return b
}

func (b *bench) connect(opts ...petstore.Option) (*petstore.Client, error) {
	return b.server.Client(opts...), nil
}

// run imports the input as importFile does, but for fsync: no test switches the machine off.
func (b *bench) run(ctx context.Context) (int, error) {
	j := &job{out: &b.out}
	if err := j.begin(ctx, b.path, b.connect); err != nil {
		return exitUsage, err
	}
	defer j.journal.file.Close()
	j.journal.sync = func() error { return nil }
	err := j.addPets(ctx)
	return j.report(), err
}

// rows returns the state of each row, as the journal has it. One that is being sent is undecided.
func (b *bench) rows() map[int]string {
	b.Helper()
	text, err := os.ReadFile(b.path + ".journal")
	require.NoError(b, err)
	j := &journal{rows: map[int]string{}, ids: map[int64]bool{}}
	_, err = j.replay(string(text), string(text[:min(len(text), len(seal("")))]))
	require.NoError(b, err)
	delete(j.rows, 0)
	return j.rows
}

// count returns how many rows are in a state.
func (b *bench) count(state string) (n int) {
	b.Helper()
	for _, s := range b.rows() {
		if s == state {
			n++
		}
	}
	return n
}

// assertNothingLostOrRepeated checks the whole promise of an import that is over. A row counts as
// received by the service if its request arrived completely and was not rejected with a 401 or 429.
func (b *bench) assertNothingLostOrRepeated(rows int) {
	b.Helper()
	received := map[string]int{}
	for _, r := range b.server.RequestsOf(petstore.OpCreatePet) {
		var pet petstore.NewPet
		rejects := r.StatusCode == http.StatusUnauthorized || r.StatusCode == http.StatusTooManyRequests
		if !rejects && json.Unmarshal(r.Body, &pet) == nil {
			received[pet.Name]++
		}
	}
	added := map[string]int{}
	for _, pet := range b.server.Pets() {
		added[pet.Name]++
	}
	states := b.rows()
	assert.Len(b, states, rows)
	for row, state := range states {
		name := fmt.Sprint("Pet ", row)
		assert.LessOrEqual(b, received[name], 1, "requests for %s", name)
		assert.LessOrEqual(b, added[name], 1, name)
		switch state {
		case created:
			assert.Equal(b, 1, added[name], "%s is created", name)
		case rejected:
			assert.Zero(b, added[name], "%s is rejected", name)
		case undecided:
		default:
			b.Errorf("%s is left %s", name, state)
		}
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
		{Status: http.StatusCreated, Body: []byte(`{"id":1,"name":"Pet 1","categoryId":1}`)}, // the response to another row
		{Status: http.StatusBadRequest},
		{Status: http.StatusTooManyRequests, RetryAfter: "0.1", Chance: chance / 10},
	} {
		f.Operation, f.Times, f.Chance = petstore.OpCreatePet, fake.Forever, cmp.Or(f.Chance, chance)
		server.Inject(f)
	}
}

// TestImport_journalFails ends the journal before or within each of its records, as happens when a
// disk is full or a program is killed.
func TestImport_journalFails(t *testing.T) {
	for last := range 40 {
		faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
			b := newBench(t, server, 10)
			injectChaos(server, 0.02)
			j := &job{out: io.Discard}
			require.NoError(t, j.begin(t.Context(), b.path, b.connect))
			writes := 0
			j.journal.sync = func() error {
				if writes++; writes <= last/2 {
					return nil
				} else if last%2 == 0 { // the record did not arrive as a whole
					info, err := j.journal.file.Stat()
					require.NoError(t, errors.Join(err, j.journal.file.Truncate(info.Size()-7)))
				}
				return errors.New("no space left")
			}
			require.Error(t, j.addPets(t.Context()), "the disk is full, or two creates in a row have failed")
			require.NoError(t, j.journal.file.Close())
			status := exitLeft
			for runs := 0; status == exitLeft && runs < 20; runs++ {
				status, _ = b.run(t.Context())
			}
			b.assertNothingLostOrRepeated(10)
		}, fake.WithSeed(uint64(last)))
	}
}

func TestImport_outage(t *testing.T) {
	for name, fault := range map[string]fake.Fault{
		"401":                  {Status: http.StatusUnauthorized},
		"503":                  {Status: http.StatusServiceUnavailable},
		"reset":                {Wire: fake.WireReset},
		"stall":                {Wire: fake.WireStall},
		"refused":              {Wire: fake.WireRefuse},
		"redirect":             {Status: http.StatusSeeOther, AfterCommit: true},
		"one response for all": {Status: http.StatusCreated, Body: []byte(`{"id":1,"name":"Pet 1","categoryId":1}`)},
	} {
		t.Run("leaves few rows undecided/"+name, func(t *testing.T) {
			faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
				fault.Skip, fault.Times = 20, fake.Forever
				b := newBench(t, server, 50)
				failing := server.Inject(fault)
				for range 3 {
					status, err := b.run(t.Context())
					assert.Equal(t, exitLeft, status)
					require.Error(t, err)
				}
				most := 2 + 1 + 1 // of the first run and of two more
				if fault.Status == http.StatusUnauthorized || fault.Wire == fake.WireRefuse {
					most = 0 // the service has carried out nothing
				}
				assert.LessOrEqual(t, b.count(undecided), most)
				failing.Remove()
				_, err := b.run(t.Context())
				require.NoError(t, err)
				b.assertNothingLostOrRepeated(50)
				assert.GreaterOrEqual(t, b.count(created), 46)
			})
		})
	}
}

// TestImport_badRows has rows that the service refuses, or confirms with the response to another
// row.
func TestImport_badRows(t *testing.T) {
	faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
		b := newBench(t, server, 20)
		text, err := os.ReadFile(b.path)
		require.NoError(t, errors.Join(err, os.WriteFile(b.path, append(text, "\n,1,"...), 0o600))) // without a name
		for row, fault := range map[int]fake.Fault{
			1:  {Status: http.StatusBadRequest, Message: "no\nsuch category"},
			4:  {Status: http.StatusCreated, Body: []byte(`{"id":1,"name":"Pet 4","categoryId":4,"status":"available"}`)}, // as Pet 2
			9:  {Status: http.StatusCreated, Body: []byte(`{"id":113,"name":"Pet 4","categoryId":4,"status":"pending"}`)},
			13: {Status: http.StatusCreated, Body: []byte(`{"id":123,"name":"Pet 13","categoryId":9,"status":"pending"}`)},
			18: {Status: http.StatusCreated, Body: []byte(`{"id":133,"name":"Pet 18","categoryId":3,"status":"available"}`)},
		} {
			fault.Match = func(r *http.Request) bool {
				sent, err := io.ReadAll(r.Body)
				return assert.NoError(t, err) && strings.Contains(string(sent), strconv.Quote(fmt.Sprint("Pet ", row)))
			}
			server.Inject(fault)
		}
		for range 2 { // the second time, nothing is sent
			status, err := b.run(t.Context())
			require.NoError(t, err)
			assert.Equal(t, exitDone, status)
		}
		assert.Len(t, server.Requests(), 20)
		assert.Contains(t, b.out.String(), `row 1: petstore: createPet: 400 invalid_request: "no\nsuch category"`)
		assert.Contains(t, b.out.String(), "row 4: the service has confirmed another pet\n")
		assert.Contains(t, b.out.String(), "row 4 is undecided: \"Pet 4\"\n")
		assert.Contains(t, b.out.String(), "\n15 created, 2 rejected, 4 undecided, 0 left\n")
		b.assertNothingLostOrRepeated(21)
	})
}

// TestImport_rateLimit restarts an import again and again while it has to wait. At first the client
// waits; after a 429 that is too long for the client, the import waits.
func TestImport_rateLimit(t *testing.T) {
	for _, wait := range []time.Duration{20 * time.Second, time.Hour} {
		faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
			b := newBench(t, server, 100)
			server.Inject(fake.Fault{Skip: 9, Status: http.StatusTooManyRequests, RetryAfter: fmt.Sprint(wait.Seconds())})
			for _, d := range []time.Duration{2 * time.Second, 30 * time.Second} { // after the 429, and in the first window
				time.AfterFunc(d, func() { assert.Zero(t, b.count(undecided), "a row that waits is not being sent") })
			}
			for range 12 {
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				_, err := b.run(ctx)
				cancel()
				require.Error(t, err, "it ends although it waits")
			}
			assert.Less(t, time.Since(server.Requests()[0].Time), 37*time.Second)
			assert.Contains(t, b.out.String(), "s for the rate limit\n")
			_, err := b.run(t.Context())
			require.NoError(t, err)
			assert.Greater(t, time.Since(server.Requests()[0].Time), wait)
			assert.LessOrEqual(t, server.Usage(server.APIKey()).Limited, 1, "restarts keep to the limit")
			b.assertNothingLostOrRepeated(100)
			assert.Equal(t, 100, b.count(created))
		}, fake.WithPlan(fake.PlanFree), fake.WithBan(3, time.Hour))
	}
}

func TestImport_stop(t *testing.T) {
	faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
		b := newBench(t, server, 10)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		status, err := b.run(ctx)
		require.ErrorIs(t, err, petstore.ErrStopped)
		assert.Equal(t, exitLeft, status)
		assert.Equal(t, 4, b.count(created), "the fourth was in flight")
		assert.Zero(t, b.count(undecided))
		_, err = b.run(t.Context())
		require.NoError(t, err)
		b.assertNothingLostOrRepeated(10)
	}, fake.WithLatency(3*time.Second))
}

// TestImport_refused begins imports that must not begin.
func TestImport_refused(t *testing.T) {
	server := fake.NewTestServer(t)
	for text, reason := range map[string]string{
		"":                                    "it does not begin with name,categoryId,status",
		"name;categoryId;status\nRex;1;sold":  "it does not begin with",
		"\xff\xfen\x00a\x00":                  "it does not begin with",
		header + "\nRex,1,sold\nMax,dog,":     `row 2 is no pet: ["Max" "dog" ""]`,
		header + "\nRex,9223372036854775808,": "row 1 is no pet",
		header + "\nRex,1":                    "wrong number of fields",
		header + "\n\"B,2,\nC,3,\nD\",4,":     "row 1 is no pet",
		header + "\nB,2,\"sold\nC,3,sold\"":   "row 1 is no pet",
		header + "\n\"B,2,\nC,3,":             `extraneous or missing " in quoted-field`,
	} {
		b := newBench(t, server, 0)
		require.NoError(t, os.WriteFile(b.path, []byte(text), 0o600))
		status, err := b.run(t.Context())
		assert.Equal(t, exitUsage, status)
		assert.ErrorContains(t, err, reason)
		assert.ErrorContains(t, err, b.path)
		assert.NoFileExists(t, b.path+".journal")
	}
	b := newBench(t, server, 10)
	running := &job{out: io.Discard}
	require.NoError(t, running.begin(t.Context(), b.path, b.connect))
	link := b.path + ".link"
	require.NoError(t, os.Symlink(b.path, link))
	_, err := importFile(t.Context(), link, b.connect, io.Discard)
	assert.ErrorContains(t, err, "journal "+b.path+".journal: another import is running")
	require.NoError(t, running.journal.file.Close())
	_, err = b.run(t.Context())
	require.NoError(t, err)
	t.Setenv("PETSTORE_BASE_URL", "https://another.example.com/v1")
	t.Setenv("PETSTORE_API_KEY", "key")
	_, err = importFile(t.Context(), b.path, petstore.NewClientFromEnv, io.Discard)
	assert.ErrorContains(t, err, "it is about another service")
	require.NoError(t, os.WriteFile(b.path, []byte("\xef\xbb\xbf"+header+"\r\nRex,1,sold\r\n"), 0o600))
	_, err = b.run(t.Context())
	assert.ErrorContains(t, err, "the file has changed", "and can be read, with the mark of a spreadsheet")
	b.path = filepath.Dir(b.path)
	_, err = b.run(t.Context())
	assert.ErrorContains(t, err, "is not a regular file")
}
