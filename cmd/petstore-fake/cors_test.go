package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCORS(t *testing.T) {
	t.Parallel()
	const page = "http://localhost:3000"
	ask := func(i testInstance, path, origin string) *httptest.ResponseRecorder {
		r := request(t, http.MethodOptions, path, "")
		r.Header.Set("Origin", origin)
		r.Header.Set("Access-Control-Request-Method", http.MethodPost)
		r.Header.Set("Access-Control-Request-Headers", "authorization,content-type")
		return i.send(r)
	}
	list := func(i testInstance, origin string) http.Header {
		r := request(t, http.MethodGet, "/v1/pets", "")
		r.Header.Set("Authorization", "Bearer fake-api-key")
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		w := i.send(r)
		require.Equal(t, http.StatusOK, w.Code)
		return w.Header()
	}

	t.Run("only pages of the origin may call", func(t *testing.T) {
		t.Parallel()
		assert.Empty(t, list(newTestInstance(t), page).Get("Access-Control-Allow-Origin"), "without the flag")
		i := newTestInstance(t, "-cors", "https://a.test,"+page)
		for _, origin := range []string{"", "null", "https://evil.test", page + "0"} {
			assert.Empty(t, list(i, origin).Get("Access-Control-Allow-Origin"), origin)
		}
		h := list(i, page)
		assert.Equal(t, page, h.Get("Access-Control-Allow-Origin"))
		assert.Equal(t, "Origin", h.Get("Vary"))
		for _, name := range []string{"X-RateLimit-Remaining", "Retry-After", "Date"} {
			assert.Contains(t, h.Get("Access-Control-Expose-Headers"), name)
		}
	})
	t.Run("the preflight of another origin is reported as that", func(t *testing.T) {
		t.Parallel()
		for _, args := range [][]string{nil, {"-cors", "https://a.test"}} {
			i := newTestInstance(t, args...)
			w := ask(i, "/v1/pets", page)
			assert.Len(t, i.srv.Requests(), 1)
			assert.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
			assert.Contains(t, w.Body.String(), `origin \"http://localhost:3000\" is not allowed`)
			assert.NotContains(t, w.Body.String(), "Authorization")
		}
	})
	t.Run("a preflight is answered and does not count", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t, "-cors", page)
		h := ask(i, "/v1/pets", page).Header()
		assert.Equal(t, page, h.Get("Access-Control-Allow-Origin"))
		assert.Contains(t, h.Get("Access-Control-Allow-Methods"), "POST")
		assert.Contains(t, h.Get("Access-Control-Allow-Headers"), "Authorization")
		assert.Empty(t, h.Get("Access-Control-Allow-Credentials"))
		assert.Empty(t, i.srv.Requests())
	})
	t.Run("every origin may call the service, and none the admin routes", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t, "-cors", "*")
		assert.Equal(t, "*", list(i, "null").Get("Access-Control-Allow-Origin"))
		assert.Empty(t, ask(i, "/_fake/reset", page).Header().Get("Access-Control-Allow-Origin"))
	})
}
