package bench_test

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/bench/internal/canned"
	"github.com/petstore/petstore-go/bench/internal/peer"
)

// TestConnections counts the connections that a server sees when clients with their own transports
// make 1,500 calls over https from 64 goroutines: one for each goroutine is the least. How many more
// there are depends on the machine, and so they are compared.
func TestConnections(t *testing.T) {
	trustTestServers(t)
	opened := map[string]int64{}
	for i := range 2 {
		var connections atomic.Int64
		srv := httptest.NewUnstartedServer(canned.NewHandler())
		srv.Config.ErrorLog = log.New(io.Discard, "", 0) // connections that were dialed and not needed
		srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				connections.Add(1)
			}
		}
		srv.StartTLS() // without HTTP/2
		client := newClients(t, peer.Target{BaseURL: srv.URL + "/v1"})[i]
		err := fromMany(goroutines, 1500, func() error {
			_, err := client.Call(t.Context(), canned.List20)
			return err
		})
		srv.Close()
		require.NoError(t, err)
		opened[client.Name] = connections.Load()
	}
	t.Log(opened)
	assert.Less(t, 2*opened["petstore-go"], opened["net/http"])
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
