package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
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
}

func newBench(t *testing.T, server *fake.Server, rows ...string) *bench {
	t.Helper()
	b := &bench{T: t, server: server, path: filepath.Join(t.TempDir(), "pets.csv")}
	b.write(b.path, header+"\n"+strings.Join(rows, "\n"))
	return b
}

func (b *bench) write(path, text string) {
	b.Helper()
	require.NoError(b, os.WriteFile(path, []byte(text), 0o600))
}

// pets returns n rows. The pet of row 1 is Pet 1, and so on.
func pets(n int) (rows []string) {
	for i := range n {
		rows = append(rows, fmt.Sprintf("Pet %d,%d,%s", i+1, i%5, []string{"available", "pending", "sold", ""}[i%4]))
	}
	return rows
}

func (b *bench) run(ctx context.Context) (out string, err error) {
	var printed strings.Builder
	err = importFile(ctx, b.path, func(opts ...petstore.Option) (*petstore.Client, error) {
		return b.server.Client(opts...), nil
	}, &printed)
	return printed.String(), err
}

// journal returns the outcomes by the name of the pet; each pet of the tests has a name of its own.
func (b *bench) journal() map[string]string {
	b.Helper()
	j, err := openJournal(b.path + ".journal")
	require.NoError(b, err)
	require.NoError(b, j.file.Close())
	outcomes := map[string]string{}
	for row, known := range j.known {
		require.Len(b, known, 1, row)
		name, _, _ := strings.Cut(row, ",")
		outcomes[name] = known[0]
	}
	return outcomes
}

// assertNothingLostOrRepeated checks the whole promise of an import that is over. The service has
// received a row if its request arrived completely and was not refused with a 401 or 429.
func (b *bench) assertNothingLostOrRepeated(rows int) {
	b.Helper()
	received, added := map[string]int{}, map[string]int{}
	for _, r := range b.server.RequestsOf(petstore.OpCreatePet) {
		var pet petstore.NewPet
		refused := r.StatusCode == http.StatusUnauthorized || r.StatusCode == http.StatusTooManyRequests
		if !refused && json.Unmarshal(r.Body, &pet) == nil {
			received[pet.Name]++
		}
	}
	for _, pet := range b.server.Pets() {
		added[pet.Name]++
	}
	outcomes := b.journal()
	assert.Len(b, outcomes, rows)
	for name, outcome := range outcomes {
		assert.LessOrEqual(b, received[name], 1, name)
		assert.Contains(b, []string{created, rejected, undecided}, outcome)
		assert.Equal(b, added[name] == 1 || outcome == undecided && added[name] == 0, outcome != rejected, name)
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
		{Status: http.StatusBadRequest},
		{Status: http.StatusTooManyRequests, RetryAfter: "0.1", Chance: chance / 10},
	} {
		f.Operation, f.Times, f.Chance = petstore.OpCreatePet, fake.Forever, cmp.Or(f.Chance, chance)
		server.Inject(f)
	}
}

func TestImport_wrongRow(t *testing.T) {
	wrong, err := os.ReadFile("testdata/wrongrow.csv")
	require.NoError(t, err)
	for text, reason := range map[string]string{
		string(wrong):                         `row 2 is no pet, nothing was sent: ["Max" "1" "asleep"]`,
		"":                                    "no table that begins with name,categoryId,status",
		"name;categoryId;status\nRex;1;sold":  "no table that begins with",
		header + "\nRex,1,sold\n,1,sold":      "row 2 is no pet",
		header + "\nRex,9223372036854775808,": "row 1 is no pet",
		header + "\nR\xe9x,1,":                "row 1 is no pet",
		header + "\nRex,1":                    "wrong number of fields",
		header + "\n\"B,2,\nC,3,\nD\",4,":     "row 1 is no pet",
		header + "\n\"B,2,\nC,3,":             `extraneous or missing " in quoted-field`,
	} {
		b := newBench(t, fake.NewTestServer(t))
		b.write(b.path, text)
		_, err := b.run(t.Context())
		assert.ErrorContains(t, err, reason)
		assert.NoFileExists(t, b.path+".journal")
		assert.Empty(t, b.server.Requests())
		b.write(b.path, "\xef\xbb\xbf"+header+"\r\nRex,1,available\r\nMax,1,sold\r\n") // mended in a spreadsheet
		out, err := b.run(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "2 created, 0 rejected, 0 undecided, 0 left\n", out)
	}
}

// TestImport_changedFile has a row that the service rejects. It is mended, rows are inserted before
// it, and one is there twice: the next run sends only what is new.
func TestImport_changedFile(t *testing.T) {
	b := newBench(t, fake.NewTestServer(t), "Rex,1,", "Max,2,", "Mia,3,")
	b.server.Inject(fake.Fault{Skip: 1, Status: http.StatusBadRequest})
	out, err := b.run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "2 created, 1 rejected, 0 undecided, 0 left\n", out)
	b.write(b.path, header+"\nNala,1,\nRex,1,\nRex,1,\nMax,3,\nMia,3,")
	for range 2 {
		out, err = b.run(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "5 created, 0 rejected, 0 undecided, 0 left\n", out)
	}
	var names []string
	for _, pet := range b.server.Pets() {
		names = append(names, pet.Name)
	}
	assert.Equal(t, []string{"Rex", "Mia", "Nala", "Rex", "Max"}, names)
}

// TestImport_cutJournal cuts a journal at each byte, as a kill does. A row of which the journal has
// more than the name is not sent again.
func TestImport_cutJournal(t *testing.T) {
	b := newBench(t, fake.NewTestServer(t), pets(3)...)
	_, err := b.run(t.Context())
	require.NoError(t, err)
	whole, err := os.ReadFile(b.path + ".journal")
	require.NoError(t, err)
	for cut := range len(whole) + 1 {
		b.server.Reset()
		b.write(b.path+".journal", string(whole[:cut]))
		for range 2 {
			_, err := b.run(t.Context())
			require.NoError(t, err)
		}
		assert.Len(t, b.server.Requests(), 3-strings.Count(string(whole[:cut]), "\t"), "%q", whole[:cut])
		assert.Len(t, b.journal(), 3)
	}
	b.write(b.path+".journal", "notes\n"+string(whole))
	_, err = b.run(t.Context())
	assert.ErrorContains(t, err, `is damaged: "notes\n"`)
}

// TestImport_stop ends an import in a wait for the rate limit, after a 429, and in a request.
func TestImport_stop(t *testing.T) {
	for name, faults := range map[string][]fake.Fault{
		"limit":   nil,
		"429":     {{Skip: 5, Status: http.StatusTooManyRequests, RetryAfter: "60"}},
		"long":    {{Skip: 5, Status: http.StatusTooManyRequests, RetryAfter: "3600"}},
		"slow":    {{Skip: 5, Delay: 10 * time.Second}},
		"refused": {{Skip: 5, Wire: fake.WireRefuse, Times: fake.Forever}},
		"key":     {{Skip: 5, Status: http.StatusUnauthorized}},
	} {
		t.Run(name, func(t *testing.T) {
			faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
				b := newBench(t, server, pets(100)...)
				for _, f := range faults {
					server.Inject(f)
				}
				ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
				defer stop()
				_, err := b.run(ctx)
				require.Error(t, err)
				assert.NotContains(t, b.journal(), undecided, "nothing was being sent")
				server.Reset()
				server.Inject(fake.Fault{Delay: time.Hour, Times: 1})
				_, err = b.run(t.Context())
				require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
				out, err := b.run(t.Context())
				require.NoError(t, err)
				assert.Equal(t, "99 created, 0 rejected, 1 undecided, 0 left\n", out)
			}, fake.WithPlan(fake.PlanFree))
		})
	}
}
