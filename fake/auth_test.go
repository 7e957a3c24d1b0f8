package fake_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/fake"
)

func TestAuth(t *testing.T) {
	throughEveryEntryPoint(t, "the response to a request without a valid key says why",
		nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
			key := srv.APIKey()
			for _, c := range []struct {
				name   string
				auth   []string
				reason string
			}{
				{"missing", nil, "the Authorization header is missing"},
				{"basic", []string{"Basic " + key}, "not of the Bearer scheme"},
				{"key alone", []string{key}, "not of the Bearer scheme"},
				{"empty", []string{"Bearer "}, "has no key after Bearer"},
				{"scheme alone", []string{"Bearer"}, "has no key after Bearer"},
				{"unknown", []string{"Bearer wrong-key"}, "not known to the server"},
				{"prefix", []string{"Bearer " + key[:5]}, "not known to the server"},
				{"more", []string{"Bearer " + key + " x"}, "not known to the server"},
				{"other case", []string{"Bearer FAKE-API-KEY"}, "not known to the server"},
				{"twice", []string{"Bearer " + key, "Bearer " + key}, "more than one Authorization header"},
			} {
				r := d.send(t, request{method: "NOSUCH", path: "/pets", auth: "-", header: http.Header{"Authorization": c.auth}})
				assert.Equal(t, http.StatusUnauthorized, r.status, c.name)
				assert.Contains(t, r.body, c.reason, c.name)
				assert.Contains(t, r.body, `(section 5)","status":401}`)
				assert.NotContains(t, r.body, "wrong-key")
			}
			assert.Zero(t, srv.Usage(key).Day)
		})
	t.Run("keys are added and revoked", func(t *testing.T) {
		srv, d := open(t)
		with := request{path: "/pets", auth: "Bearer late-key"}
		assert.Equal(t, http.StatusUnauthorized, d.send(t, with).status)
		srv.AddKey("late-key", fake.PlanFree)
		assert.Equal(t, http.StatusOK, d.send(t, with).status)
		srv.RevokeKey("late-key")
		assert.Equal(t, http.StatusUnauthorized, d.send(t, with).status)
		srv.AddKey("late-key", fake.PlanPro)
		assert.Equal(t, "299", d.send(t, with).header.Get("X-RateLimit-Remaining"))
		assert.Equal(t, http.StatusUnauthorized, d.send(t, request{path: "/pets", auth: "Bearer unknown"}).status)
	})
}
