package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/loopback"
)

func TestHealthcheck(t *testing.T) {
	t.Parallel()
	t.Run("a program that serves", func(t *testing.T) {
		t.Parallel()
		r := start(t, "-fault", "status=500,delay=1h,times=forever")
		status, stdout, stderr := runOnce(t, map[string]string{
			"PETSTORE_FAKE_ADDR": r.host, "PETSTORE_FAKE_SEED": "no-such-file.json", // not its business
		}, "-healthcheck")
		assert.Equal(t, exitOK, status)
		assert.Empty(t, stdout+stderr)
	})
	t.Run("no such program", func(t *testing.T) {
		t.Parallel()
		nobody, other := loopback.Listen(t), loopback.Listen(t)
		require.NoError(t, nobody.Close())
		hs := newServer(http.NotFoundHandler(), newOutput())
		go func() { _ = hs.Serve(other) }()
		t.Cleanup(func() { assert.NoError(t, hs.Close()) })
		for _, c := range []struct {
			flag, value string
			status      int
			want        string
		}{
			{"-addr", nobody.Addr().String(), exitFailed, "no response from " + nobody.Addr().String()},
			{"-addr", other.Addr().String(), exitFailed, "status 404"},
			{"-addr", "127.0.0.1:0", exitUsage, "-addr"},
		} {
			status, _, stderr := runOnce(t, nil, "-healthcheck", c.flag, c.value)
			assert.Equal(t, c.status, status, c.want)
			assert.Contains(t, stderr, c.want)
		}
	})
}

func TestHealthRoute(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	for _, host := range []string{"127.0.0.1:4010", "petstore:4010", "192.0.2.1"} { // as orchestrators call it
		r := request(t, http.MethodGet, "/_fake/health", "")
		r.Host = host
		w := i.send(r)
		assert.Equal(t, http.StatusOK, w.Code, host)
		assert.Contains(t, w.Body.String(), `"status":"ok"`)
	}
	r := request(t, http.MethodGet, "/_fake/health", "")
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
