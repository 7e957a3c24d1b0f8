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

	"github.com/stretchr/testify/assert"
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

// TestConnections counts the connections that a server sees when clients with their own transports
// make 1,500 calls over https from 64 goroutines: one for each goroutine is the least. How many more
// there are depends on the machine, and so they are compared.
func TestConnections(t *testing.T) {
	trustTestServers(t)
	for _, scenario := range []string{allWell, status503, cancelled} {
		t.Run(scenario, func(t *testing.T) {
			opened := map[string]int64{}
			for i := range 2 {
				s := newCountingServer(scenario)
				t.Cleanup(s.Close)
				client := newClients(t, peer.Target{BaseURL: s.URL + "/v1"})[i]
				require.NoError(t, s.callFromMany(t.Context(), client, 1500))
				opened[client.Name] = s.opened.Load()
			}
			t.Log(opened)
			assert.Less(t, 2*opened["petstore-go"], opened["net/http"])
		})
	}
}

// trustTestServers makes this process trust the certificate of net/http/httptest. It must be called
// before the process looks at any certificate.
func trustTestServers(t *testing.T) {
	t.Helper()
	srv := httptest.NewTLSServer(nil)
	defer srv.Close()
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	name := filepath.Join(t.TempDir(), "roots.pem")
	require.NoError(t, os.WriteFile(name, text, 0o600))
	t.Setenv("SSL_CERT_FILE", name)
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

func newCountingServer(scenario string) *countingServer {
	s := &countingServer{scenario: scenario, responses: canned.NewHandler()}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // connections that were dialed and not needed
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.opened.Add(1)
		}
	}
	s.StartTLS() // without HTTP/2
	return s
}

// ServeHTTP gives the usual response, but 503 to every hundredth request if that is the scenario.
// It gives none to a call that is to be cancelled: it cancels it.
func (s *countingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, fmt.Sprintf("/%d", canned.NotFound.ID)):
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

// callFromMany makes n calls from 64 goroutines. A 503 is no error: a client without retries sees it.
func (s *countingServer) callFromMany(ctx context.Context, client peer.Client, n int) error {
	var taken atomic.Int64
	return fromMany(goroutines, n, func() error {
		if s.scenario == cancelled && taken.Add(1)%oneIn == 0 {
			return s.callAndCancel(ctx, client)
		}
		if _, err := client.Call(ctx, canned.List20); s.scenario != status503 {
			return err
		}
		return nil
	})
}

func (s *countingServer) callAndCancel(ctx context.Context, client peer.Client) error {
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
