package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLog(t *testing.T) {
	t.Run("has a line for each request of the service", func(t *testing.T) {
		i := newTestInstance(t, "-log", "json")
		i.call(theKey, "POST", "/v1/pets", `{"name":"Rex","categoryId":1}`)
		i.call("unheard-of", "GET", "/v1/pets/1", "")
		i.call(theKey, "GET", "/pets?limit=1", "")
		var want string
		for seq, rest := range []string{
			`"createPet","path":"/v1/pets","status":201,"duration_ms":[\d.e-]+,"key":1`,
			`"getPet","path":"","status":401,"duration_ms":[\d.e-]+,"key":0`, `"","path":"/pets","status":404,"duration_ms":[\d.e-]+,"key":1`,
		} {
			want += fmt.Sprintf(`{"time":"2[^"]+","level":"INFO","msg":"request","seq":%d,"operation":%s}`+"\n", seq+1, rest)
		}
		assert.Regexp(t, "^"+want+"$", i.stderr.String())
	})
	t.Run("hides keys that the fake does not know", func(t *testing.T) {
		i := newTestInstance(t, "-log", "text")
		for _, path := range []string{"/v1/pets?key=other-key", "/v1/pets/other-key", "/v1/pets?other-key=1", "/other-key/v1"} {
			i.call("other-key", http.MethodGet, path, "")
		}
		i.call(theKey, http.MethodGet, "/v1/pets?key=other-key", "")
		assert.Equal(t, 5, strings.Count(i.stderr.String(), "\n"))
		assert.NotContains(t, i.stderr.String(), "other-key")
	})
	t.Run("shows what a fault did to the connection", func(t *testing.T) {
		for wire, status := range map[string]string{"reset": "0", "close": "0", "garbage": "0", "truncate": "200", "login-page": "200"} {
			r := start(t, "-log", "text", "-fault", "wire="+wire)
			_, _, _ = call(t, r.host, "GET", "/v1/pets", "")
			assert.Contains(t, <-r.output.wrote, "level=INFO msg=request seq=1 operation=listPets path=/v1/pets status="+status+" ", wire)
		}
	})
}
