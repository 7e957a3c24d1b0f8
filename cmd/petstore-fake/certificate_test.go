package main

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
)

// trusting returns a client that trusts the CA of a file.
func trusting(t *testing.T, file string) *http.Client {
	t.Helper()
	pool, err := readCA(file)
	require.NoError(t, err)
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ca.pem")
	r := start(t, "-tls", file, "-fault", "wire=reset,operation=listPets,times=2")
	assert.Contains(t, r.stderr, "https://"+r.host+"/v1")
	assert.Contains(t, r.stderr, "curl --cacert '"+file+"'")
	c := trusting(t, file)

	t.Run("a reset is a reset", func(t *testing.T) {
		req := requestTo(t, r.host, "GET", "/v1/pets", "")
		req.URL.Scheme = "https"
		for range 2 { // on a new connection, and on one that carried a request
			_, _, err := do(c, req)
			require.Error(t, err)
			if runtime.GOOS != "windows" { // which has an error number of its own
				assert.ErrorIs(t, err, syscall.ECONNRESET)
			}
		}
	})
	t.Run("the SDK trusts the CA", func(t *testing.T) {
		client, err := petstore.NewClient("https://"+r.host+"/v1", "fake-api-key", petstore.WithHTTPClient(c))
		require.NoError(t, err)
		_, err = client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 1})
		require.NoError(t, err)
	})
	t.Run("plain http is refused", func(t *testing.T) {
		status, _, err := get(t, keepingClient(t), r.host)
		require.NoError(t, err)
		assert.Equal(t, http.StatusBadRequest, status)
	})
	t.Run("the health check trusts the CA", func(t *testing.T) {
		status, _, stderr := runOnce(t, nil, "-healthcheck", "-addr", r.host, "-tls", file)
		assert.Equal(t, exitOK, status, stderr)
	})
	assert.Equal(t, exitOK, r.stop())
}

func TestMakeCertificate(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ca.pem")
	c, err := makeCertificate([]string{"localhost", "petstore", "192.0.2.1", "::1", "localhost"}, file)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(c.Certificate[0])
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"localhost", "petstore"}, leaf.DNSNames)
	assert.Len(t, leaf.IPAddresses, 2)
	ca, err := x509.ParseCertificate(c.Certificate[1])
	require.NoError(t, err)
	assert.NotEmpty(t, ca.SubjectKeyId)
	assert.Equal(t, ca.SubjectKeyId, leaf.AuthorityKeyId, "without it, strict clients trust no chain")
	_, err = makeCertificate(nil, filepath.Join(t.TempDir(), "no", "folder", "ca.pem"))
	assert.ErrorContains(t, err, "cannot be written")
}
