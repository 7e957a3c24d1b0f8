package bench_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/bench/internal/canned"
	"github.com/petstore/petstore-go/bench/internal/peer"
)

// The scenarios that connections are counted in. One call in a hundred meets what goes wrong.
const (
	allWell   = "all-well"
	status503 = "503"
	cancelled = "cancelled"
	oneIn     = 100
)

// BenchmarkConnections counts the connections that a server sees when clients with their own
// transports make 3,000 calls from 64 goroutines: that is one op. The CPU time is that of client
// and server.
func BenchmarkConnections(b *testing.B) {
	trustTestServers(b)
	calls := 3000
	if testing.Short() {
		calls = 3 * oneIn
	}
	for _, scheme := range []string{"http", "https"} {
		for _, scenario := range []string{allWell, status503, cancelled} {
			for _, p := range peer.WithOwnTransport() {
				b.Run(fmt.Sprintf("scheme=%s/scenario=%s/client=%s", scheme, scenario, p.Name), func(b *testing.B) {
					var opened, cpu int64
					for b.Loop() {
						o, c := countConnections(b, p, scheme, scenario, calls)
						opened, cpu = opened+o, cpu+c
					}
					b.ReportMetric(float64(opened)/float64(b.N), "connections")
					b.ReportMetric(float64(cpu)/float64(b.N*calls), "cpu-ns/call")
				})
			}
		}
	}
}

// trustTestServers makes this process trust the certificate of net/http/httptest. It must be called
// before the process looks at any certificate.
func trustTestServers(b *testing.B) {
	b.Helper()
	srv := httptest.NewTLSServer(nil)
	defer srv.Close()
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	name := filepath.Join(b.TempDir(), "roots.pem")
	require.NoError(b, os.WriteFile(name, text, 0o600))
	b.Setenv("SSL_CERT_FILE", name)
}

func countConnections(b *testing.B, p peer.Peer, scheme, scenario string, calls int) (opened, cpu int64) {
	b.Helper()
	s := newCountingServer(scheme, scenario)
	defer s.Close()
	client, err := p.New(peer.Target{BaseURL: s.URL + "/v1"})
	require.NoError(b, err)
	before := cpuTime()
	require.NoError(b, s.callFromMany(b.Context(), client, int64(calls)))
	return s.opened.Load(), cpuTime() - before
}

// countingServer counts its connections, and lets some requests fail.
type countingServer struct {
	*httptest.Server

	scenario  string
	responses http.Handler
	opened    atomic.Int64
	requests  atomic.Int64
	alone     sync.Mutex                         // held by the call that is to be cancelled
	cancel    atomic.Pointer[context.CancelFunc] // of that call
}

func newCountingServer(scheme, scenario string) *countingServer {
	s := &countingServer{scenario: scenario, responses: canned.NewHandler()}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // connections that were dialed and not needed
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.opened.Add(1)
		}
	}
	if scheme == "https" {
		s.StartTLS() // without HTTP/2
	} else {
		s.Start()
	}
	return s
}

// ServeHTTP gives the usual response, but 503 to every hundredth request if that is the scenario.
// It gives none to a call that is to be cancelled: it cancels it.
func (s *countingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, fmt.Sprintf("/%d", canned.MissingID)):
		(*s.cancel.Load())()
		<-r.Context().Done()
	case s.scenario == status503 && s.requests.Add(1)%oneIn == 0:
		canned.SetRateLimit(w.Header())
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"code":"unavailable","message":"try again","status":503}`))
	default:
		s.responses.ServeHTTP(w, r)
	}
}

// callFromMany makes n calls from 64 goroutines. It returns the first error, apart from the 503s
// that a client without retries sees.
func (s *countingServer) callFromMany(ctx context.Context, client peer.Client, n int64) error {
	var taken atomic.Int64
	failures := make(chan error, n)
	fromMany(func() {
		for i := taken.Add(1); i <= n; i = taken.Add(1) {
			if err := s.call(ctx, client, i); err != nil {
				failures <- err
			}
		}
	})
	close(failures)
	if s.scenario == status503 && int64(len(failures)) <= n/oneIn+1 {
		return nil
	}
	return <-failures
}

func (s *countingServer) call(ctx context.Context, client peer.Client, i int64) error {
	if s.scenario != cancelled || i%oneIn != 0 {
		_, err := client.Call(ctx, canned.List20)
		return err
	}
	s.alone.Lock()
	defer s.alone.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.cancel.Store(&cancel)
	if _, err := client.Call(ctx, canned.NotFound); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("a cancelled call returned %w", err)
	}
	return nil
}

// BenchmarkWrites counts how often the clients write to a socket for one request, through
// net/http's transport. req is left out: it has one of its own that takes no other connections.
func BenchmarkWrites(b *testing.B) {
	s := startServer(b, "canned")
	for _, op := range []canned.Operation{canned.List20, canned.Create} {
		for _, p := range peer.Peers() {
			if p.Name == "req" {
				continue
			}
			b.Run(fmt.Sprintf("op=%s/client=%s", op, p.Name), func(b *testing.B) {
				transport, written := countingTransport()
				defer transport.CloseIdleConnections()
				c, err := p.New(peer.Target{BaseURL: s.baseURL, Transport: transport})
				require.NoError(b, err)
				for b.Loop() {
					client{c, p.Name}.call(b, op)
				}
				b.ReportMetric(float64(written.Load())/float64(b.N), "writes/op")
			})
		}
	}
}

func countingTransport() (*http.Transport, *atomic.Int64) {
	written, dialer := new(atomic.Int64), new(net.Dialer)
	return &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, addr)
		return &countingConn{conn, written}, err
	}}, written
}

// countingConn hides that a TCP connection can do more than write, so that every write is seen.
type countingConn struct {
	net.Conn

	written *atomic.Int64
}

func (c *countingConn) Write(p []byte) (int, error) {
	c.written.Add(1)
	return c.Conn.Write(p)
}
