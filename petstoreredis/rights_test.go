package petstoreredis_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/petstoreredis"
)

// leastRights returns what docs/scaling.md says that a user of Redis needs, without name and
// password.
func leastRights(t *testing.T) []any {
	t.Helper()
	text, err := os.ReadFile("../docs/scaling.md")
	require.NoError(t, err)
	_, rights, ok := strings.Cut(string(text), "user petstore on >PASSWORD ")
	require.True(t, ok, "the document does not say it")
	rights, _, _ = strings.Cut(rights, "```")
	words := []any{"acl", "setuser", "petstore", "on", ">secret"}
	for word := range strings.FieldsSeq(rights) {
		words = append(words, word)
	}
	return words
}

var calledByScript = regexp.MustCompile(`redis\.p?call\('(\w+)'`)

func TestOnRedisLeastRights(t *testing.T) {
	t.Parallel()
	t.Run("are what the script calls, and how it is run", func(t *testing.T) {
		files, err := filepath.Glob("script/*.lua")
		require.NoError(t, err)
		called := []string{"+eval", "+evalsha", "+hello"}
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, match := range calledByScript.FindAllStringSubmatch(string(text), -1) {
				called = append(called, "+"+strings.ToLower(match[1]))
			}
		}
		var rights []string
		for _, word := range leastRights(t) {
			if text, _ := word.(string); strings.HasPrefix(text, "+") {
				rights = append(rights, text)
			}
		}
		slices.Sort(called)
		assert.ElementsMatch(t, slices.Compact(called), rights)
	})
	t.Run("suffice", func(t *testing.T) { leastRightsSuffice(t, newRedisServer(t)) })
	t.Run("suffice over TLS with client certificates", func(t *testing.T) {
		server := newTLSRedisServer(t)
		leastRightsSuffice(t, server)
		stranger := server.tls.Clone()
		stranger.Certificates = nil
		rdb := redis.NewClient(&redis.Options{Addr: server.address, TLSConfig: stranger, MaxRetries: -1})
		t.Cleanup(func() { _ = rdb.Close() })
		assert.Error(t, rdb.Ping(t.Context()).Err(), "without a certificate")
	})
}

// leastRightsSuffice uses up a window, is refused, and has the key reopened.
func leastRightsSuffice(t *testing.T, server *redisServer) {
	t.Helper()
	service := newService(t, 5)
	server.do(t, leastRights(t)...)
	rdb := redis.NewClient(&redis.Options{
		Addr: server.address, TLSConfig: server.tls, Username: "petstore", Password: "secret",
	})
	t.Cleanup(func() { _ = rdb.Close() })
	limiter, err := petstoreredis.NewLimiter(rdb, "the fleet's key")
	require.NoError(t, err)
	client := service.Client(petstore.WithLimiter(limiter), petstore.WithMaxWait(0))
	for range 5 {
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
	}
	_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.ErrorIs(t, err, petstore.ErrRateLimited)
	client.Reopen()
	require.NoError(t, limiter.Flush(t.Context()))
	stats := limiter.Stats()
	assert.Zero(t, stats.Fallbacks)
	assert.Zero(t, stats.Repairs)
	assert.ErrorContains(t, rdb.Get(t.Context(), "other").Err(), "NOPERM")
	assert.ErrorContains(t, rdb.FlushAll(t.Context()).Err(), "NOPERM")
}

// newTLSRedisServer starts a Redis that speaks TLS only, and only with clients whose certificate is
// of the same authority as its own.
func newTLSRedisServer(t *testing.T) *redisServer {
	t.Helper()
	a, dir := newAuthority(t), t.TempDir()
	write := func(name string, blocks ...*pem.Block) string {
		file := filepath.Join(dir, name)
		var text []byte
		for _, b := range blocks {
			text = append(text, pem.EncodeToMemory(b)...)
		}
		require.NoError(t, os.WriteFile(file, text, 0o600))
		return file
	}
	own, key := a.issue(t, "redis"), &pem.Block{Type: "PRIVATE KEY"}
	var err error
	key.Bytes, err = x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	require.NoError(t, err)

	s := makeRedisServer(t)
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	s.tls = &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: pool, Certificates: []tls.Certificate{a.issue(t, "petstore")},
	}
	s.args = []string{
		"--port", "0", "--tls-port", s.port(t), "--bind", "127.0.0.1", "--save", "", "--dir", dir,
		"--tls-auth-clients", "yes",
		"--tls-ca-cert-file", write("ca.pem", &pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}),
		"--tls-cert-file", write("cert.pem", &pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]}),
		"--tls-key-file", write("key.pem", key),
	}
	s.start(t)
	return s
}

// authority issues certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of this test"},
		NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(raw)
	require.NoError(t, err)
	return authority{cert, key}
}

// issue returns a certificate for either end of a connection to loopback.
func (a authority) issue(t *testing.T, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: a.cert.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}
