package fake_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/testkit"
)

// Each file in testdata/exchanges holds a request and its response as they are on the wire, without
// the CR before each line feed.
func TestGolden(t *testing.T) {
	const mark = "=== response ===\n"
	files, err := filepath.Glob("testdata/exchanges/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		inBubble(t, strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T, srv server) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			question, _, _ := strings.Cut(string(text), mark)
			header, body, _ := strings.Cut(strings.TrimSuffix(question, "\n"), "\n\n")
			srv.Advance(time.Until(time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)))
			srv.SetUsage("used-up-key", 1, 1)
			conn := srv.dial(t)
			_, err = io.WriteString(conn, strings.ReplaceAll(header, "\n", "\r\n")+"\r\n\r\n"+body)
			require.NoError(t, err)
			answer, err := io.ReadAll(conn)
			require.NoError(t, err)
			require.NoError(t, conn.Close())
			testkit.AssertGolden(t, file, question+mark+strings.ReplaceAll(string(answer), "\r\n", "\n")+"\n")
		}, fake.WithPlan(fake.PlanFree), fake.WithKey("used-up-key", fake.Plan{PerMinute: 1}), fake.WithPets(
			petstore.NewPet{Name: "Rex", CategoryID: 1, Status: petstore.PetStatusAvailable},
			petstore.NewPet{Name: "Tom", CategoryID: 2},
			petstore.NewPet{Name: "Leo", CategoryID: 1, Status: petstore.PetStatusAvailable},
		))
	}
}

func TestReset(t *testing.T) {
	inBubble(t, "puts everything back", func(t *testing.T, srv server) {
		state := func() string {
			usage, second := srv.Usage("own-default-key"), srv.Usage("second-key")
			return fmt.Sprint(time.Until(srv.Now()), srv.Keys(), srv.Pets(), srv.Requests(), srv.Violations(),
				len(srv.Injections()), srv.Injections()[0].Applied(), usage.Plan, usage.Minute, usage.BannedUntil, second.Revoked)
		}
		first := state()
		for range 2 {
			begun := time.Now()
			assert.Equal(t, 503, srv.list(t).status, "the fault applies again")
			assert.Equal(t, 1, srv.last(t).Seq)
			srv.send(t, request{path: "/pets/1", auth: "Bearer own-default-key"})
			assert.Equal(t, 2*time.Second, time.Since(begun), "the latency is that of the options")
			srv.AddKey("third-key", fake.PlanFree)
			srv.RevokeKey("second-key")
			srv.SetPlan("own-default-key", fake.PlanPro)
			srv.BanKey("own-default-key", time.Hour)
			srv.AddPet(petstore.NewPet{Name: "Max"})
			srv.Inject(fake.Fault{Status: 500})
			srv.Advance(time.Hour)
			srv.SetLatency(time.Minute)
			srv.Reset()
			assert.Equal(t, first, state())
		}
		srv.list(t)
	}, fake.WithAPIKey("own-default-key"), fake.WithPlan(fake.PlanFree), fake.WithKey("second-key", fake.PlanPro),
		fake.WithPets(petstore.NewPet{Name: "Rex", CategoryID: 1}), fake.WithLatency(time.Second),
		fake.WithFaults(fake.Fault{Status: 503}))
}
