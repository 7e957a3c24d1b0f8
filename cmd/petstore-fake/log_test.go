package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/fake"
)

func TestLog(t *testing.T) {
	t.Run("has a line for each request of the service", func(t *testing.T) {
		i := newTestInstance(t, "-log", "json")
		i.call(fake.DefaultAPIKey, "POST", "/v1/pets", `{"name":"Rex","categoryId":1}`)
		i.call("unheard-of", "GET", "/v1/pets/1", "")
		i.call(fake.DefaultAPIKey, "GET", "/pets?limit=1", "")
		var want string
		for seq, rest := range []string{
			`"createPet","path":"/v1/pets","status":201,"duration_ms":[\d.e-]+,"key":1`,
			`"getPet","path":"","status":401,"duration_ms":[\d.e-]+,"key":0`, `"","path":"/pets","status":404,"duration_ms":[\d.e-]+,"key":1`,
		} {
			want += fmt.Sprintf(`{"time":"2[^"]+","level":"INFO","msg":"request","seq":%d,"operation":%s}`+"\n", seq+1, rest)
		}
		assert.Regexp(t, "^"+want+"$", i.stderr.String())
	})
	t.Run("hides keys everywhere", func(t *testing.T) {
		i := newTestInstance(t, "-key", "operator-secret", "-log", "text")
		i.call("", "POST", "/_fake/keys", "operator-secret-2")
		for _, key := range []string{"operator-secret", "operator-secret-2", "somebody-elses"} {
			for _, path := range []string{"/v1/pets?key=" + key, "/v1/pets/" + key, "/v1/pets?" + key + "=1", "/" + key + "/v1", "/v1/pets?a=%20;" + key} {
				r := request(t, http.MethodGet, path, "")
				r.Header.Set("X-Api-Key", key)
				i.send(r)
				r.Header.Set("Authorization", "Bearer "+key)
				i.send(r)
			}
		}
		i.call("operator-secret", "operator-secret", "/v1/pets", "")
		log := i.stderr.String()
		assert.Equal(t, 3*5*2+1, strings.Count(log, "\n"))
		for _, key := range []string{"operator-secret", "]-2", "somebody-elses", fake.DefaultAPIKey} {
			assert.NotContains(t, log, key)
		}
	})
	t.Run("shows what a fault did to the connection", func(t *testing.T) {
		for wire, status := range map[string]string{"reset": "0", "close": "0", "garbage": "0", "truncate": "200", "login-page": "200"} {
			r := start(t, "-log", "text", "-fault", "wire="+wire)
			_, _, _ = call(t, r.host, "GET", "/v1/pets", "")
			assert.Contains(t, <-r.output.wrote, "level=INFO msg=request seq=1 operation=listPets path=/v1/pets status="+status+" ", wire)
		}
	})
}
