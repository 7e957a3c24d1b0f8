package bench_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/bench/internal/canned"
	"github.com/petstore/petstore-go/bench/internal/peer"
	"github.com/petstore/petstore-go/bench/internal/rounds"
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

// cpuTime asks the server for the CPU time that it has used.
func (s *server) cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	_, err := io.WriteString(s.stdin, "\n")
	require.NoError(tb, err)
	n, err := strconv.ParseInt(s.line(tb), 10, 64)
	require.NoError(tb, err)
	return time.Duration(n)
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
	if kind == "fake" {
		var pets []petstore.NewPet
		for _, p := range canned.Pets(100) {
			pets = append(pets, petstore.NewPet{Name: p.Name, CategoryID: p.CategoryID, Status: p.Status})
		}
		srv := fake.NewServer(fake.WithKey(peer.APIKey, fake.Enterprise(0, 0)), fake.WithPets(pets...))
		defer srv.Close()
		fmt.Println(srv.URL())
	} else {
		listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		srv := &http.Server{Handler: canned.NewHandler(), ReadHeaderTimeout: time.Minute}
		defer func() { _ = srv.Close() }()
		go func() { _ = srv.Serve(listener) }()
		fmt.Printf("http://%s/v1\n", listener.Addr())
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(rounds.CPU().Nanoseconds())
	}
	return lines.Err()
}

// serverContender makes lists of 20 over 64 connections to a server of that kind, and has the CPU
// time of the server alone: the client's share would hide the difference.
func serverContender(t *testing.T, kind string) rounds.Contender {
	t.Helper()
	s := startServer(t, kind)
	transport := &http.Transport{MaxIdleConnsPerHost: goroutines}
	t.Cleanup(transport.CloseIdleConnections)
	cpu := func() time.Duration { return s.cpuTime(t) }
	return newContender(t, kind, cpu, goroutines, func() error { return list(t, transport, s.baseURL) })
}

// list asks for a list of 20, as far as a server sees it.
func list(t *testing.T, transport http.RoundTripper, baseURL string) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, baseURL+"/pets?limit=20", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+peer.APIKey)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}
