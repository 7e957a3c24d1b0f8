package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// guarded sends a request with headers in the form Name:value, and returns its status.
func (i testInstance) guarded(method, path, host string, headers ...string) int {
	r := request(i.t, method, path, "")
	r.Host = host
	for _, text := range headers {
		name, value, _ := strings.Cut(text, ":")
		r.Header.Add(name, value)
	}
	w := i.send(r)
	assert.Empty(i.t, w.Header().Values("Access-Control-Allow-Origin"))
	return w.Code
}

// A page of another site sends a request with its own Origin. A page whose name was rebound to a
// loopback address sends that name as Host, and an Origin that fits it.
func TestGuard_otherSites(t *testing.T) {
	i := newTestInstance(t)
	const own = "127.0.0.1:4010"
	for _, c := range []struct {
		status  int
		host    string
		headers []string
	}{
		{204, own, nil},
		{204, own, []string{"Origin:http://127.0.0.1:4010", "Sec-Fetch-Site:same-origin"}},
		{204, "[::1]:4010", []string{"Origin:http://[::1]:4010"}},
		{403, own, []string{"Sec-Fetch-Site:cross-site"}},
		{403, own, []string{"Origin:http://127.0.0.1:3000", "Sec-Fetch-Site:same-site"}},
		{403, "evil.test:4010", []string{"Origin:http://evil.test:4010", "Sec-Fetch-Site:same-origin"}},
		{403, "127.0.0.1.evil.test", nil},
		{403, "192.0.2.1:4010", nil},
		{403, "", nil},
	} {
		assert.Equal(t, c.status, i.guarded("POST", "/_fake/reset", c.host, c.headers...), "%s %s", c.host, c.headers)
	}
	assert.Equal(t, 403, i.guarded("GET", "/%5Ffake/requests", "evil.test"))
	assert.Equal(t, 404, i.guarded("OPTIONS", "/_fake/reset", own, "Access-Control-Request-Method:POST"))
	assert.Equal(t, 401, i.guarded("GET", "/v1/pets", "evil.test"), "the service, which misses a key")
	assert.Equal(t, 200, i.guarded("GET", "/_fake/health", "evil.test"), "orchestrators call it by any name")
	h := i.call("", http.MethodGet, "/_fake/requests", "").Header()
	assert.Equal(t, []string{"nosniff", "same-origin", "no-store"},
		[]string{h.Get("X-Content-Type-Options"), h.Get("Cross-Origin-Resource-Policy"), h.Get("Cache-Control")})
}

func TestGuard_public(t *testing.T) {
	named := newTestInstance(t, "-addr", "docker.test:4010", "-public=Fake.test,other")
	plain := newTestInstance(t, "-addr", ":4010", "-public")
	for host, want := range map[string][2]int{
		"127.0.0.1:4010": {200, 200}, "[2001:db8::1]:80": {200, 200}, "FAKE.test:4010": {200, 403},
		"docker.test": {200, 403}, "evil.test": {403, 403}, "": {403, 403},
	} {
		got := [2]int{named.guarded("GET", "/_fake/", host), plain.guarded("GET", "/_fake/", host)}
		assert.Equal(t, want, got, host)
	}
}
