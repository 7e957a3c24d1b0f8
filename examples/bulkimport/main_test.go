package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/testkit"
)

// TestMain runs the program instead of the tests if a test has started this binary, to kill it.
func TestMain(m *testing.M) {
	if os.Getenv("BULKIMPORT_TEST_PROGRAM") != "" {
		main()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

const secret = "a-key-that-is-in-no-file"

// start starts the program.
func (h *harness) start(out io.Writer) *exec.Cmd {
	h.Helper()
	self, err := os.Executable()
	require.NoError(h, err)
	cmd := exec.CommandContext(h.Context(), self, h.path)
	cmd.Env = append(os.Environ(), "BULKIMPORT_TEST_PROGRAM=1",
		"PETSTORE_BASE_URL="+h.server.URL(), "PETSTORE_API_KEY="+secret, "PETSTORE_API_KEY_FILE=")
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(h, cmd.Start())
	return cmd
}

// TestProgram_killed kills an import of 300 rows 25 times, while the service fails in every way,
// and then lets it go on until no row is left. It does all this BULKIMPORT_ROUNDS times.
func TestProgram_killed(t *testing.T) {
	testkit.Loopback(t)
	const rows, kills = 300, 25
	rounds, _ := strconv.Atoi(os.Getenv("BULKIMPORT_ROUNDS"))
	for range max(rounds, 1) {
		server := fake.NewTestServer(t, fake.WithSeed(rand.Uint64()), fake.WithKey(secret, fake.Plan{}))
		h := newHarness(t, server, pets(rows)...)
		for _, f := range []fake.Fault{
			{Status: 400}, {Status: 429, RetryAfter: "0.1"}, {Status: 503}, {Status: 502, AfterCommit: true},
			{Wire: fake.WireReset, AfterCommit: true}, {Wire: fake.WireTruncate, AfterCommit: true},
		} {
			f.Times, f.Chance = fake.Forever, 0.004
			server.Inject(f)
		}
		var out strings.Builder
		for range kills {
			cmd := h.start(&out)
			ctx, cancel := context.WithTimeout(t.Context(), rand.N(300*time.Millisecond))
			_ = server.WaitForRequests(ctx, len(server.Requests())+rand.IntN(2*rows/kills))
			cancel()
			_ = cmd.Process.Kill() // before, while or after a request is sent
			_ = cmd.Wait()
		}
		for runs := 0; h.start(&out).Wait() != nil && runs < 50; runs++ {
		}
		assert.Contains(t, out.String(), " undecided, 0 left\n")
		added := map[string]int{} // by row
		for _, pet := range server.Pets() {
			added[fmt.Sprintf("%s,%d,%s", pet.Name, pet.CategoryID, pet.Status)]++
		}
		assert.Len(t, h.outcomes(), rows)
		for row, outcome := range h.outcomes() {
			assert.Contains(t, map[string][]int{created: {1}, rejected: {0}, undecided: {0, 1}}[outcome], added[row], row)
		}
		journal, err := os.ReadFile(h.path + ".journal")
		require.NoError(t, err)
		assert.NotContains(t, string(journal)+out.String(), secret)
	}
}
