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
	"github.com/petstore/petstore-go/fake"
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

// leastRightsSuffice tries a client with the least rights.
func leastRightsSuffice(t *testing.T, server *redisServer) {
	t.Helper()
	server.do(t, leastRights(t)...)
	rdb := redis.NewClient(&redis.Options{
		Addr: server.address, TLSConfig: server.tls, Username: "petstore", Password: "secret",
	})
	t.Cleanup(func() { _ = rdb.Close() })
	useUp(t, rdb, "the fleet's key")
	assert.ErrorContains(t, rdb.Get(t.Context(), "other").Err(), "NOPERM")
	assert.ErrorContains(t, rdb.FlushAll(t.Context()).Err(), "NOPERM")
}

// useUp uses up a window, is refused, and has the key reopened.
func useUp(t *testing.T, rdb redis.UniversalClient, name string) {
	t.Helper()
	limiter, err := petstoreredis.NewLimiter(rdb, name)
	require.NoError(t, err)
	service := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(5, 0)))
	client := service.Client(petstore.WithLimiter(limiter), petstore.WithMaxWait(0))
	for range 5 {
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
	}
	_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.ErrorIs(t, err, petstore.ErrRateLimited)
	client.ReopenLimit()
	require.NoError(t, limiter.Flush(t.Context()))
	stats := limiter.Stats()
	assert.Zero(t, stats.Fallbacks)
	assert.Zero(t, stats.Repairs)
}

// newTLSRedisServer starts a Redis that speaks TLS only, and only with clients that have its own
// certificate.
func newTLSRedisServer(t *testing.T) *redisServer {
	t.Helper()
	s, dir := makeRedisServer(t), t.TempDir()
	own := newCertificate(t)
	key, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	require.NoError(t, err)
	write := func(name, kind string, data []byte) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600))
		return file
	}
	cert := write("cert.pem", "CERTIFICATE", own.Certificate[0])
	pool := x509.NewCertPool()
	pool.AddCert(own.Leaf)
	s.tls = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool, Certificates: []tls.Certificate{own}}
	s.args = []string{
		"--port", "0", "--tls-port", s.port(t), "--bind", "127.0.0.1", "--save", "", "--dir", dir,
		"--tls-auth-clients", "yes",
		"--tls-ca-cert-file", cert, "--tls-cert-file", cert, "--tls-key-file", write("key.pem", "PRIVATE KEY", key),
	}
	s.start(t)
	return s
}

// newCertificate returns one that signs itself, for both ends of a connection to loopback.
func newCertificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redis"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(raw)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key, Leaf: leaf}
}
