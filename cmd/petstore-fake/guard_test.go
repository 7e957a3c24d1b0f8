package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// sendText sends an admin request: METHOD HOST, and headers in the form Name:value.
func (i testInstance) sendText(path, text string) int {
	i.t.Helper()
	words := strings.Split(text, " ")
	r := request(i.t, words[0], path, "")
	r.Host = words[1]
	for _, word := range words[2:] {
		name, value, _ := strings.Cut(word, ":")
		r.Header.Add(name, value)
	}
	w := i.send(r)
	assert.Empty(i.t, w.Header().Values("Access-Control-Allow-Origin"))
	return w.Code
}

// A page of another site sends a request with its own Origin. A page whose name was rebound to a
// loopback address sends that name as Host, and an Origin that fits it. Requests for the images,
// scripts, frames and prefetches of a page have no Origin, unless the page asks for CORS. They are
// refused, too, since they would take the program's time.
func TestGuard_otherSites(t *testing.T) {
	i := newTestInstance(t)
	for text, want := range map[string]int{
		"GET 127.0.0.1:4010":                           200,
		"GET 127.0.0.1:4010 Sec-Fetch-Site:cross-site": 200, // a link that somebody followed
		"GET 127.0.0.1:4010 Sec-Fetch-Site:cross-site Sec-Fetch-Mode:navigate Sec-Fetch-Dest:document": 200,
		"GET 127.0.0.1:4010 Origin:http://127.0.0.1:4010 Sec-Fetch-Site:same-origin":                   200,
		"GET 127.0.0.1:4010 Sec-Fetch-Site:same-origin Sec-Fetch-Mode:cors Sec-Fetch-Dest:empty":       200,
		"GET localhost:4010 Origin:http://localhost:4010":                                              200,
		"GET [::1]:4010 Origin:http://[::1]:4010":                                                      200,
		"GET evil.test:4010": 403,
		"GET evil.test:4010 Origin:http://evil.test:4010 Sec-Fetch-Site:same-origin": 403,
		"GET 127.0.0.1.evil.test": 403,
		"GET 192.0.2.1:4010":      403,
		"GET ":                    403,
		"GET 127.0.0.1:4010 Origin:https://evil.test Sec-Fetch-Site:cross-site":                     403,
		"GET 127.0.0.1:4010 Origin:http://127.0.0.1:3000 Sec-Fetch-Site:same-site":                  403,
		"GET 127.0.0.1:4010 Origin:null":                                                            403,
		"GET 127.0.0.1:4010 Sec-Fetch-Site:cross-site Sec-Fetch-Mode:no-cors Sec-Fetch-Dest:image":  403,
		"GET 127.0.0.1:4010 Sec-Fetch-Site:same-site Sec-Fetch-Mode:navigate Sec-Fetch-Dest:iframe": 403,
		"GET 127.0.0.1:4010 Origin:http://127.0.0.1:4010 Origin:https://evil.test":                  403,
		"GET 127.0.0.1:4010 Sec-Fetch-Site:same-origin Sec-Fetch-Site:cross-site":                   403,
		"POST 127.0.0.1:4010": 204,
		"POST 127.0.0.1:4010 Origin:http://127.0.0.1:4010 Sec-Fetch-Site:same-origin":        204,
		"POST 127.0.0.1:4010 Sec-Fetch-Site:cross-site":                                      403,
		"POST 127.0.0.1:4010 Origin:https://evil.test":                                       403,
		"POST evil.test:4010 Origin:http://evil.test:4010 Sec-Fetch-Site:same-origin":        403,
		"OPTIONS 127.0.0.1:4010 Origin:https://evil.test Access-Control-Request-Method:POST": 403,
	} {
		path := "/_fake/reset"
		if strings.HasPrefix(text, "GET") {
			path = "/_fake/requests"
		}
		assert.Equal(t, want, i.sendText(path, text), text)
	}
	h := i.call("", http.MethodGet, "/_fake/requests", "").Header()
	assert.Equal(t, []string{"nosniff", "same-origin", "no-store"},
		[]string{h.Get("X-Content-Type-Options"), h.Get("Cross-Origin-Resource-Policy"), h.Get("Cache-Control")})
}

func TestGuard_public(t *testing.T) {
	named := newTestInstance(t, "-addr", "docker.test:4010", "-public=Fake.test,other")
	plain := newTestInstance(t, "-addr", ":4010", "-public")
	for host, want := range map[string][2]int{
		"127.0.0.1:4010": {200, 200}, "192.0.2.1:4010": {200, 200}, "[2001:db8::1]:80": {200, 200}, "fake.test:4010": {200, 403},
		"FAKE.TEST": {200, 403}, "docker.test": {200, 403}, "evil.test": {403, 403}, "": {403, 403},
	} {
		assert.Equal(t, want[0], named.sendText("/_fake/", "GET "+host), host)
		assert.Equal(t, want[1], plain.sendText("/_fake/", "GET "+host), host)
	}
}

// Orchestrators call the service and the health check by any host name.
func TestGuard_anyHost(t *testing.T) {
	i := newTestInstance(t)
	assert.Equal(t, http.StatusUnauthorized, i.sendText("/v1/pets", "GET api.example.test"), "the service, which misses a key")
	assert.Equal(t, http.StatusOK, i.sendText("/_fake/health", "GET api.example.test"))
	assert.Equal(t, http.StatusForbidden, i.sendText("/_fake/health", "GET api.example.test Origin:https://evil.test"))
}
