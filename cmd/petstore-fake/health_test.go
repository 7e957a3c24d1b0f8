package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/admintest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/loopback"
)

func TestHealthcheck(t *testing.T) {
	t.Parallel()
	t.Run("a program that serves", func(t *testing.T) {
		t.Parallel()
		r := start(t, "-addr", loopback.Host(t)+":0", "-fault", "status=500,times=forever", "-latency", "1h")
		addr := loopback.Host(t) + ":" + strings.TrimSpace(r.stdout)
		status, stdout, stderr := runOnce(t, map[string]string{
			"PETSTORE_FAKE_ADDR": addr, "PETSTORE_FAKE_SEED": "no-such-file.json", // not its business
		}, "-healthcheck")
		assert.Equal(t, exitOK, status)
		assert.Empty(t, stdout+stderr)
	})
	t.Run("nothing listens", func(t *testing.T) {
		t.Parallel()
		l := loopback.Listen(t)
		require.NoError(t, l.Close())
		status, _, stderr := runOnce(t, nil, "-healthcheck", "-addr", l.Addr().String())
		assert.Equal(t, exitFailed, status)
		assert.Contains(t, stderr, "no response from "+l.Addr().String())
	})
	t.Run("no port", func(t *testing.T) {
		t.Parallel()
		status, _, stderr := runOnce(t, nil, "-healthcheck", "-addr", "127.0.0.1:0")
		assert.Equal(t, exitUsage, status)
		assert.Contains(t, stderr, "-addr")
	})
	t.Run("something else listens", func(t *testing.T) {
		t.Parallel()
		l := loopback.Listen(t)
		hs := newServer(http.NotFoundHandler(), newOutput())
		go func() { _ = hs.Serve(l) }()
		t.Cleanup(func() { assert.NoError(t, hs.Close()) })
		status, _, stderr := runOnce(t, nil, "-healthcheck", "-addr", l.Addr().String())
		assert.Equal(t, exitFailed, status)
		assert.Contains(t, stderr, "status 404")
	})
	t.Run("a file that is no certificate", func(t *testing.T) {
		t.Parallel()
		status, _, stderr := runOnce(t, nil, "-healthcheck", "-tls", writeFile(t, "{}"))
		assert.Equal(t, exitFailed, status)
		assert.Contains(t, stderr, "no certificate")
	})
}

func TestHealthRoute(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	for _, host := range []string{admintest.Host, "petstore:4010", "192.0.2.1"} { // as orchestrators call it
		r := admintest.Request(t, http.MethodGet, "/_fake/health", "")
		r.Host = host
		w := i.send(r)
		assert.Equal(t, http.StatusOK, w.Code, host)
		assert.Contains(t, w.Body.String(), `"status":"ok"`)
	}
	r := admintest.Request(t, http.MethodGet, "/_fake/health", "")
	r.Header.Set("Origin", "https://evil.test")
	assert.Equal(t, http.StatusForbidden, i.send(r).Code)
}

func TestLocalHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"": "127.0.0.1:99", "0.0.0.0": "127.0.0.1:99", "::": "127.0.0.1:99", "::1": "[::1]:99",
		"localhost": "localhost:99", "192.0.2.1": "192.0.2.1:99",
	} {
		assert.Equal(t, want, localHost(host, 99), host)
	}
}
