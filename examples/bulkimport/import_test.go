package main

import (
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
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/faketest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness has a file of pets, and the service into which a test imports them.
type harness struct {
	*testing.T
	server *fake.Server
	path   string
}

func newHarness(t *testing.T, server *fake.Server, rows ...string) *harness {
	t.Helper()
	h := &harness{T: t, server: server, path: filepath.Join(t.TempDir(), "pets.csv")}
	h.write(h.path, header+"\n"+strings.Join(rows, "\n"))
	return h
}

func (h *harness) write(path, text string) {
	h.Helper()
	require.NoError(h, os.WriteFile(path, []byte(text), 0o600))
}

// pets returns n rows. The pet of row 1 is Pet 1, and so on.
func pets(n int) (rows []string) {
	for i := range n {
		rows = append(rows, fmt.Sprintf("Pet %d,%d,%s", i+1, i%5, []string{"available", "pending", "sold", ""}[i%4]))
	}
	return rows
}

func (h *harness) run(ctx context.Context) (out string, err error) {
	var printed strings.Builder
	err = importFile(ctx, h.path, func(opts ...petstore.Option) (*petstore.Client, error) {
		return h.server.Client(opts...), nil
	}, &printed)
	return printed.String(), err
}

func (h *harness) journal() string {
	h.Helper()
	text, err := os.ReadFile(h.path + ".journal")
	require.NoError(h, err)
	return string(text)
}

func TestImport_wrongRow(t *testing.T) {
	for text, reason := range map[string]string{
		header + "\nRex,1,sold\nMax,1,asleep": `row 2 is no pet, nothing was sent: ["Max" "1" "asleep"]`,
		"":                                    "no table that begins with name,categoryId,status",
		"name;categoryId;status\nRex;1;sold":  "no table that begins with",
		header + "\nRex,1,sold\n,1,sold":      "row 2 is no pet",
		header + "\nRex,9223372036854775808,": "row 1 is no pet",
		header + "\nR\xe9x,1,":                "row 1 is no pet",
		header + "\nRex,1":                    "wrong number of fields",
		header + "\n\"B,2,\nC,3,\nD\",4,":     "row 1 is no pet",
		header + "\n\"B,2,\nC,3,":             `extraneous or missing " in quoted-field`,
	} {
		h := newHarness(t, fake.NewTestServer(t))
		h.write(h.path, text)
		_, err := h.run(t.Context())
		assert.ErrorContains(t, err, reason)
		assert.NoFileExists(t, h.path+".journal")
		assert.Empty(t, h.server.Requests())
		h.write(h.path, "\xef\xbb\xbf"+header+"\r\nRex,1,available\r\nMax,1,sold\r\n") // as spreadsheets write it
		out, err := h.run(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "2 created, 0 rejected, 0 undecided, 0 left\n", out)
	}
}

// TestImport_changedFile imports three rows, of which the service rejects one. Then it corrects the
// rejected row, and adds two rows; one of them equals an old row. The next run sends only the
// corrected row and the added rows.
func TestImport_changedFile(t *testing.T) {
	h := newHarness(t, fake.NewTestServer(t), "Rex,1,", "Max,2,", "Mia,3,")
	h.server.Inject(fake.Fault{Skip: 1, Status: http.StatusBadRequest})
	out, err := h.run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "2 created, 1 rejected, 0 undecided, 0 left\n", out)
	h.write(h.path, header+"\nNala,1,\nRex,1,\nRex,1,\nMax,3,\nMia,3,")
	for range 2 {
		out, err = h.run(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "5 created, 0 rejected, 0 undecided, 0 left\n", out)
	}
	var names []string
	for _, pet := range h.server.Pets() {
		names = append(names, pet.Name)
	}
	assert.Equal(t, []string{"Rex", "Mia", "Nala", "Rex", "Max"}, names)
}

// TestImport_killed cuts a journal at each byte, as a SIGKILL may do. The next run does not send a
// row again if the journal has the whole text of the row and the tab after it.
func TestImport_killed(t *testing.T) {
	h := newHarness(t, fake.NewTestServer(t), pets(3)...)
	_, err := h.run(t.Context())
	require.NoError(t, err)
	whole := h.journal()
	for cut := range len(whole) + 1 {
		h.server.Reset()
		h.write(h.path+".journal", whole[:cut])
		for range 2 {
			_, err := h.run(t.Context())
			require.NoError(t, err)
		}
		assert.Len(t, h.server.Requests(), 3-strings.Count(whole[:cut], "\t"), "%q", whole[:cut])
		assert.Equal(t, 3, strings.Count(h.journal(), "\n"), "each row has an outcome")
	}
	h.write(h.path+".journal", "notes\n"+whole)
	_, err = h.run(t.Context())
	assert.ErrorContains(t, err, `is damaged: "notes\n"`)
}

// TestImport_begunLine reads the journal whenever a request arrives. At that moment, only the row
// that is being sent has no outcome, so a SIGKILL would leave only this row undecided.
func TestImport_begunLine(t *testing.T) {
	faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
		h := newHarness(t, server, pets(6)...)
		server.Inject(fake.Fault{Times: fake.Forever, Delay: time.Second, Match: func(r *http.Request) bool {
			var pet petstore.NewPet
			assert.NoError(t, json.NewDecoder(r.Body).Decode(&pet))
			lines := strings.SplitAfter(h.journal(), "\n")
			assert.Regexp(t, "^"+pet.Name+`,.*\t$`, lines[len(lines)-1])
			return pet.Name != "Pet 2" && pet.Name != "Pet 3"
		}})
		server.Inject(fake.Fault{Status: http.StatusBadRequest})
		server.Inject(fake.Fault{Status: http.StatusTooManyRequests})
		_, err := h.run(t.Context())
		require.NoError(t, err)
		assert.Len(t, server.Requests(), 7)
	})
}

// TestImport_stop ends an import while it waits for the rate limit, while it waits after a failure,
// or while it sends a request. No row may be lost or sent twice.
func TestImport_stop(t *testing.T) {
	for name, fault := range map[string]fake.Fault{
		"limit":   {Delay: time.Nanosecond},
		"429":     {Skip: 5, Status: http.StatusTooManyRequests, RetryAfter: "60"},
		"long":    {Skip: 5, Status: http.StatusTooManyRequests, RetryAfter: "3600"},
		"slow":    {Skip: 5, Delay: 10 * time.Second},
		"refused": {Skip: 5, Wire: fake.WireRefuse, Times: fake.Forever},
		"key":     {Skip: 5, Status: http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
				h := newHarness(t, server, pets(100)...)
				server.Inject(fault)
				ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
				defer stop()
				_, err := h.run(ctx)
				require.Error(t, err)
				assert.NotContains(t, h.journal(), undecided, "nothing was being sent")
				server.Reset()
				server.Inject(fake.Fault{Delay: time.Hour, Times: 1})
				_, err = h.run(t.Context())
				require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
				server.Inject(fake.Fault{Status: http.StatusTooManyRequests, RetryAfter: "1"})
				out, err := h.run(t.Context())
				require.NoError(t, err)
				assert.Equal(t, "99 created, 0 rejected, 1 undecided, 0 left\n", out)
				assert.Equal(t, 100, strings.Count(h.journal(), "\t"), "a line is begun once")
			}, fake.WithPlan(fake.PlanFree))
		})
	}
}
