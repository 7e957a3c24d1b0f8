package bench_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/bench/internal/canned"
	"github.com/petstore/petstore-go/bench/internal/peer"
	"github.com/petstore/petstore-go/fake"
)

// serverKind is the environment variable that makes this test program a server of that kind.
const serverKind = "BENCH_SERVER"

func TestMain(m *testing.M) {
	if kind := os.Getenv(serverKind); kind != "" {
		if err := serve(kind); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// server is a server in a process of its own, so that its CPU time is not the client's.
type server struct {
	baseURL string
	stdin   io.Writer
	stdout  *bufio.Reader
}

// startServer starts this program again, as a server that ends with tb.
func startServer(tb testing.TB, kind string) *server {
	tb.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), os.Args[0])
	cmd.Env = append(os.Environ(), serverKind+"="+kind)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(tb, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(tb, err)
	require.NoError(tb, cmd.Start())
	tb.Cleanup(func() {
		require.NoError(tb, stdin.Close())
		require.NoError(tb, cmd.Wait())
	})
	s := &server{stdin: stdin, stdout: bufio.NewReader(stdout)}
	s.baseURL = s.line(tb)
	return s
}

// cpuTime asks the server for the CPU time that it has used, in nanoseconds.
func (s *server) cpuTime(tb testing.TB) int64 {
	tb.Helper()
	_, err := io.WriteString(s.stdin, "\n")
	require.NoError(tb, err)
	n, err := strconv.ParseInt(s.line(tb), 10, 64)
	require.NoError(tb, err)
	return n
}

func (s *server) line(tb testing.TB) string {
	tb.Helper()
	line, err := s.stdout.ReadString('\n')
	require.NoError(tb, err)
	return strings.TrimSpace(line)
}

// serve is the server's side. It prints its base URL, then its CPU time for each line that it
// reads, and ends with its standard input.
func serve(kind string) error {
	var baseURL string
	switch kind {
	case "fake":
		srv := fake.NewServer(fake.WithPlan(fake.Enterprise(0, 0)), fake.WithKey(peer.APIKey, fake.Enterprise(0, 0)),
			fake.WithPets(newPets(100)...))
		defer srv.Close()
		baseURL = srv.URL()
	case "canned":
		listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		srv := &http.Server{Handler: canned.NewHandler(), ReadHeaderTimeout: time.Minute}
		defer func() { _ = srv.Close() }()
		go func() { _ = srv.Serve(listener) }()
		baseURL = "http://" + listener.Addr().String() + "/v1"
	default:
		return fmt.Errorf("no such server: %s", kind)
	}
	fmt.Println(baseURL)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(cpuTime())
	}
	return lines.Err()
}

func newPets(n int) []petstore.NewPet {
	var pets []petstore.NewPet
	for _, p := range canned.Pets(n) {
		pets = append(pets, petstore.NewPet{Name: p.Name, CategoryID: p.CategoryID, Status: p.Status})
	}
	return pets
}

// BenchmarkServer measures the CPU time that the fake needs for a list of 20 over TCP, beside a
// handler of net/http that writes a constant response of the same size. Both serve 64 connections,
// each in a process of its own; the client's share would hide the difference.
func BenchmarkServer(b *testing.B) {
	for _, kind := range []string{"canned", "fake"} {
		b.Run("kind="+kind, func(b *testing.B) {
			s := startServer(b, kind)
			transport := &http.Transport{MaxIdleConnsPerHost: goroutines}
			defer transport.CloseIdleConnections()
			fromMany(func() { s.list(b, transport) }) // makes the connections
			b.SetParallelism(max(1, goroutines/runtime.GOMAXPROCS(0)))
			b.ResetTimer()
			before := s.cpuTime(b)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					s.list(b, transport)
				}
			})
			b.ReportMetric(float64(s.cpuTime(b)-before)/float64(b.N), "server-cpu-ns/op")
		})
	}
}

func (s *server) list(b *testing.B, transport http.RoundTripper) {
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, s.baseURL+"/pets?limit=20", nil)
	if err != nil {
		b.Error(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+peer.APIKey)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		b.Error(err)
		return
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		b.Error(resp.Status, err)
	}
}
