package fake_test

import (
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/golden"
	"github.com/petstore/petstore-go/internal/loopback"
)

const answerMark = "=== answer ===\n"

// Each file in testdata/exchanges holds a request and its response as they are on the wire, but for
// the CR before each line feed.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/exchanges/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			question, _, ok := strings.Cut(string(text), answerMark)
			require.True(t, ok)
			srv := goldenServer(t)
			got := strings.ReplaceAll(exchangeRaw(t, srv.URL(), onWire(question)), "\r\n", "\n")
			golden.Assert(t, file, question+answerMark+got+"\n")
		})
	}
}

func goldenServer(t *testing.T) *fake.Server {
	now := time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)
	srv := fake.NewTestServer(t,
		fake.WithClock(func() time.Time { return now }),
		fake.WithPlan(fake.PlanFree),
		fake.WithKey("used-up-key", fake.Plan{PerMinute: 1}),
		fake.WithPets(
			petstore.NewPet{Name: "Rex", CategoryID: 1, Status: petstore.PetStatusAvailable},
			petstore.NewPet{Name: "Tom", CategoryID: 2},
			petstore.NewPet{Name: "Leo", CategoryID: 1, Status: petstore.PetStatusAvailable},
		))
	viaMemory(t, srv).send(t, request{path: "/pets", auth: "Bearer used-up-key"})
	return srv
}

// onWire turns the line ends of a header into those of HTTP and leaves the body alone.
func onWire(text string) string {
	header, body, _ := strings.Cut(text, "\n\n")
	return strings.ReplaceAll(header, "\n", "\r\n") + "\r\n\r\n" + strings.TrimSuffix(body, "\n")
}

// exchangeRaw sends bytes to a port and returns everything that comes back until the connection
// ends.
func exchangeRaw(t *testing.T, base, text string) string {
	t.Helper()
	conn := dialRaw(t, base)
	_, err := io.WriteString(conn, text)
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	return string(answer)
}

func dialRaw(t *testing.T, base string) net.Conn {
	t.Helper()
	loopback.Host(t)
	u, err := url.Parse(base)
	require.NoError(t, err)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", u.Host)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return conn
}

func TestHTTPClientRespondsLikeASocket(t *testing.T) {
	for _, q := range []request{{path: "/pets"}, create("Rex"), {path: "/pets/1"}, {path: "/none", auth: "-"}} {
		memory := viaMemory(t, goldenServer(t)).send(t, q)
		loopback := viaURL(t, goldenServer(t)).send(t, q)
		assert.Equal(t, loopback, memory)
	}
}
