package main

import (
	"context"
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
func (b *bench) start(out io.Writer) *exec.Cmd {
	b.Helper()
	self, err := os.Executable()
	require.NoError(b, err)
	cmd := exec.CommandContext(b.Context(), self, b.path)
	cmd.Env = append(os.Environ(), "BULKIMPORT_TEST_PROGRAM=1",
		"PETSTORE_BASE_URL="+b.server.URL(), "PETSTORE_API_KEY="+secret, "PETSTORE_API_KEY_FILE=")
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(b, cmd.Start())
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
		b := newBench(t, server, pets(rows)...)
		injectChaos(b.server, 0.003)
		var out strings.Builder
		for range kills {
			cmd := b.start(&out)
			ctx, cancel := context.WithTimeout(t.Context(), rand.N(300*time.Millisecond))
			_ = b.server.WaitForRequests(ctx, len(b.server.Requests())+rand.IntN(2*rows/kills))
			cancel()
			_ = cmd.Process.Kill() // before, while or after a request is sent
			_ = cmd.Wait()
		}
		runs := 0
		for ; b.start(&out).Wait() != nil && runs < 50; runs++ {
		}
		assert.Contains(t, out.String(), " undecided, 0 left\n")
		b.assertNothingLostOrRepeated(rows)
		t.Logf("%d more runs, then %s", runs, out.String()[strings.LastIndex(strings.TrimSpace(out.String()), "\n")+1:])
		journal, err := os.ReadFile(b.path + ".journal")
		require.NoError(t, err)
		assert.NotContains(t, string(journal)+out.String(), secret)
	}
}
