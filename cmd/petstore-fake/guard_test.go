package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	// A page of another site sends a request with its own Origin. A page whose name was rebound to
	// a loopback address sends that name as Host, and an Origin that fits it.
	t.Run("refuses pages of other sites", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			method, host, origin, site string
			want                       int
		}{
			{"GET", "127.0.0.1:4010", "", "", 200},
			{"GET", "127.0.0.1:4010", "", "none", 200},
			{"GET", "127.0.0.1:4010", "", "cross-site", 200}, // a link that somebody followed
			{"GET", "127.0.0.1:4010", "http://" + "127.0.0.1:4010", "same-origin", 200},
			{"GET", "localhost:4010", "http://localhost:4010", "", 200},
			{"GET", "fake.localhost", "", "", 200},
			{"GET", "[::1]:4010", "http://[::1]:4010", "", 200},
			{"GET", "127.0.0.1", "", "", 200},

			{"GET", "evil.test:4010", "", "", 403},
			{"GET", "evil.test:4010", "http://evil.test:4010", "same-origin", 403},
			{"GET", "127.0.0.1.evil.test", "", "", 403},
			{"GET", "evil-localhost", "", "", 403},
			{"GET", "192.0.2.1:4010", "", "", 403},
			{"GET", "", "", "", 403},
			{"GET", "127.0.0.1:4010", "https://evil.test", "cross-site", 403},
			{"GET", "127.0.0.1:4010", "http://127.0.0.1:3000", "same-site", 403},
			{"GET", "127.0.0.1:4010", "http://127.0.0.1", "", 403},
			{"GET", "127.0.0.1:4010", "null", "", 403},

			{"POST", "127.0.0.1:4010", "", "", 204},
			{"POST", "127.0.0.1:4010", "http://" + "127.0.0.1:4010", "same-origin", 204},
			{"POST", "127.0.0.1:4010", "", "cross-site", 403},
			{"POST", "127.0.0.1:4010", "", "same-site", 403},
			{"POST", "127.0.0.1:4010", "https://evil.test", "", 403},
			{"POST", "evil.test:4010", "http://evil.test:4010", "same-origin", 403},
		} {
			t.Run(strings.TrimSpace(c.method+" "+c.host+" "+c.origin+" "+c.site), func(t *testing.T) {
				path := "/_fake/"
				if c.method == http.MethodPost {
					path = "/_fake/reset"
				}
				r := request(t, c.method, path, "")
				r.Host = c.host
				if c.origin != "" {
					r.Header.Set("Origin", c.origin)
				}
				if c.site != "" {
					r.Header.Set("Sec-Fetch-Site", c.site)
				}
				w := i.send(r)
				assert.Equal(t, c.want, w.Code, "%+v: %s", c, w.Body)
				if w.Code == http.StatusForbidden {
					assert.Contains(t, w.Body.String(), `{"error":"`)
				}
			})
		}
	})
	// What a page asks for besides following a link has no Origin in a browser that asks without
	// CORS: an image, a script, a frame, a prefetch. It would take a stream, and time of the
	// program's.
	t.Run("refuses parts of other pages", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			site, mode, dest string
			want             int
		}{
			{"cross-site", "no-cors", "image", 403},
			{"same-site", "no-cors", "script", 403},
			{"cross-site", "cors", "empty", 403},
			{"cross-site", "websocket", "websocket", 403},
			{"cross-site", "navigate", "iframe", 403},
			{"same-site", "navigate", "object", 403},
			{"cross-site", "navigate", "document", 200},
			{"same-origin", "cors", "empty", 200},
			{"same-origin", "no-cors", "image", 200},
			{"none", "navigate", "document", 200},
			{"", "", "", 200},
		} {
			t.Run(c.site+" "+c.mode+" "+c.dest, func(t *testing.T) {
				for _, path := range []string{"/_fake/", "/_fake/events", "/_fake/requests", "/_fake/har"} {
					r := request(t, http.MethodGet, path, "")
					r.Header.Set("Accept", "text/html")
					r.Header.Set("Sec-Fetch-Site", c.site)
					r.Header.Set("Sec-Fetch-Mode", c.mode)
					r.Header.Set("Sec-Fetch-Dest", c.dest)
					assert.Equal(t, c.want, i.send(r).Code, "%+v %s", c, path)
				}
			})
		}
	})
	t.Run("grants no access to other origins", func(t *testing.T) {
		t.Parallel()
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
		t.Parallel()
		named := newTestInstance(t, "-addr", "docker.test:4010", "-public=Fake.test,other")
		plain := newTestInstance(t, "-addr", ":4010", "-public")
		for host, want := range map[string][2]int{
			"127.0.0.1:4010":   {200, 200},
			"192.0.2.1:4010":   {200, 200},
			"[2001:db8::1]:80": {200, 200},
			"fake.test:4010":   {200, 403},
			"FAKE.TEST":        {200, 403},
			"other":            {200, 403},
			"docker.test":      {200, 403},
			"evil.test":        {403, 403},
			"":                 {403, 403},
		} {
			t.Run(host, func(t *testing.T) {
				for n, i := range []testInstance{named, plain} {
					r := request(t, http.MethodGet, "/_fake/", "")
					r.Host = host
					assert.Equal(t, want[n], i.send(r).Code, "%s, instance %d", host, n)
				}
			})
		}
	})
	t.Run("lets any host name call the service and the health check", func(t *testing.T) {
		t.Parallel()
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
