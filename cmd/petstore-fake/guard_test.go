package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGuard(t *testing.T) {
	i := newTestInstance(t)
	// A page of another site sends a request with its own Origin. A page whose name was rebound to
	// a loopback address sends that name as Host, and an Origin that fits it. What a page asks for
	// besides following a link has no Origin in a browser that asks without CORS: an image, a
	// script, a frame, a prefetch. It would take a stream, and time of the program's.
	t.Run("refuses pages of other sites", func(t *testing.T) {
		const own = "127.0.0.1:4010"
		for _, c := range []struct {
			method, host, origin, site, mode, dest string
			want                                   int
		}{
			{"GET", own, "", "", "", "", 200},
			{"GET", own, "", "cross-site", "", "", 200}, // a link that somebody followed
			{"GET", own, "http://" + own, "same-origin", "", "", 200},
			{"GET", "localhost:4010", "http://localhost:4010", "", "", "", 200},
			{"GET", "[::1]:4010", "http://[::1]:4010", "", "", "", 200},
			{"GET", "127.0.0.1", "", "", "", "", 200},
			{"GET", own, "", "cross-site", "navigate", "document", 200},
			{"GET", own, "", "same-origin", "cors", "empty", 200},
			{"GET", own, "", "none", "navigate", "document", 200},

			{"GET", "evil.test:4010", "", "", "", "", 403},
			{"GET", "evil.test:4010", "http://evil.test:4010", "same-origin", "", "", 403},
			{"GET", "127.0.0.1.evil.test", "", "", "", "", 403},
			{"GET", "192.0.2.1:4010", "", "", "", "", 403},
			{"GET", "", "", "", "", "", 403},
			{"GET", own, "https://evil.test", "cross-site", "", "", 403},
			{"GET", own, "http://127.0.0.1:3000", "same-site", "", "", 403},
			{"GET", own, "http://127.0.0.1", "", "", "", 403},
			{"GET", own, "null", "", "", "", 403},
			{"GET", own, "", "cross-site", "no-cors", "image", 403},
			{"GET", own, "", "cross-site", "cors", "empty", 403},
			{"GET", own, "", "cross-site", "websocket", "websocket", 403},
			{"GET", own, "", "same-site", "navigate", "iframe", 403},

			{"GET", own, "http://" + own + " https://evil.test", "", "", "", 403}, // two headers
			{"GET", own, "", "same-origin cross-site", "", "", 403},
			{"POST", own, "", "", "", "", 204},
			{"POST", own, "http://" + own, "same-origin", "", "", 204},
			{"POST", own, "", "cross-site", "", "", 403},
			{"POST", own, "", "same-site", "", "", 403},
			{"POST", own, "https://evil.test", "", "", "", 403},
			{"POST", "evil.test:4010", "http://evil.test:4010", "same-origin", "", "", 403},
		} {
			paths := []string{"/_fake/", "/_fake/events", "/_fake/requests", "/_fake/har"}
			if c.method == http.MethodPost {
				paths = []string{"/_fake/reset"}
			}
			for _, path := range paths {
				r := request(t, c.method, path, "")
				r.Host = c.host
				for name, v := range map[string]string{
					"Accept": "text/html", "Origin": c.origin,
					"Sec-Fetch-Site": c.site, "Sec-Fetch-Mode": c.mode, "Sec-Fetch-Dest": c.dest,
				} {
					for one := range strings.FieldsSeq(v) {
						r.Header.Add(name, one)
					}
				}
				w := i.send(r)
				assert.Equal(t, c.want, w.Code, "%+v %s: %.200s", c, path, w.Body)
				if w.Code == http.StatusForbidden {
					assert.Contains(t, w.Body.String(), `{"error":"`)
				}
			}
		}
	})
	t.Run("grants no access to other origins", func(t *testing.T) {
		r := request(t, http.MethodOptions, "/_fake/reset", "")
		r.Header.Set("Origin", "https://evil.test")
		r.Header.Set("Access-Control-Request-Method", "POST")
		w := i.send(r)
		assert.Equal(t, http.StatusForbidden, w.Code)
		assert.Empty(t, w.Header().Values("Access-Control-Allow-Origin"))

		w = i.call(http.MethodGet, "/_fake/requests", "")
		assert.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
		assert.Equal(t, "same-origin", w.Header().Get("Cross-Origin-Resource-Policy"))
		assert.Equal(t, "same-origin", w.Header().Get("Cross-Origin-Opener-Policy"))
		assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	})
	t.Run("allows addresses and names of a public program", func(t *testing.T) {
		named := newTestInstance(t, "-addr", "docker.test:4010", "-public=Fake.test,other")
		plain := newTestInstance(t, "-addr", ":4010", "-public")
		for host, want := range map[string][2]int{
			"127.0.0.1:4010":   {200, 200},
			"192.0.2.1:4010":   {200, 200},
			"[2001:db8::1]:80": {200, 200},
			"fake.test:4010":   {200, 403},
			"FAKE.TEST":        {200, 403},
			"docker.test":      {200, 403},
			"evil.test":        {403, 403},
			"":                 {403, 403},
		} {
			for n, i := range []testInstance{named, plain} {
				r := request(t, http.MethodGet, "/_fake/", "")
				r.Host = host
				assert.Equal(t, want[n], i.send(r).Code, "%s, instance %d", host, n)
			}
		}
	})
	t.Run("lets any host name call the service and the health check", func(t *testing.T) {
		for _, path := range []string{"/v1/pets", "/_fake/health"} {
			r := request(t, http.MethodGet, path, "")
			r.Host = "api.example.test" // as orchestrators call it
			r.Header.Set("Authorization", "Bearer fake-api-key")
			assert.Equal(t, http.StatusOK, i.send(r).Code)
		}
		r := request(t, http.MethodGet, "/_fake/health", "")
		r.Header.Set("Origin", "https://evil.test")
		assert.Equal(t, http.StatusForbidden, i.send(r).Code)
	})
}
