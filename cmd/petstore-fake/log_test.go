package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/safetext"
)

func TestLog(t *testing.T) {
	t.Run("has a line for each request of the service", func(t *testing.T) {
		i := newTestInstance(t, "-log", "json")
		i.call("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`)
		i.callAs("", "GET", "/v1/pets?status=sold&limit=5", "")
		i.callAs("unheard-of", "GET", "/v1/pets/1", "")
		var lines []map[string]any
		for line := range strings.Lines(i.stderr.String()) {
			var object map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &object), line)
			assert.Contains(t, object, "time")
			assert.Contains(t, object, "duration_ms")
			delete(object, "time")
			delete(object, "duration_ms")
			lines = append(lines, object)
		}
		require.Len(t, lines, 3)
		assert.Equal(t, map[string]any{
			"level": "INFO", "msg": "request", "method": "POST", "path": "/v1/pets", "status": 201.0,
			"key": 1.0,
		}, lines[0])
		assert.Equal(t, "/v1/pets?limit=5&status=sold", lines[1]["path"])
		assert.EqualValues(t, 401, lines[1]["status"])
		assert.Equal(t, "none", lines[1]["key"])
		assert.Equal(t, "unknown", lines[2]["key"])
	})
	t.Run("hides keys everywhere", func(t *testing.T) {
		for _, format := range []string{"text", "json"} {
			i := newTestInstance(t, "-key", "operator-secret", "-log", format)
			i.call("POST", "/_fake/keys", `{"key":"operator-secret-2","plan":"pro"}`)
			for _, key := range []string{"operator-secret", "operator-secret-2", "somebody-elses"} {
				for _, path := range []string{
					"/v1/pets?key=" + key, "/v1/pets/" + key, "/v1/pets?status=" + key, "/v1/pets?" + key + "=1",
					"/" + key + "/v1", "/v1/pets?limit=1&status=sold%20" + key, "/v1/pets?a=%20;" + key,
				} {
					r := request(t, http.MethodGet, path, "")
					r.Header.Set("Authorization", "Bearer "+key)
					r.Header.Set("X-Api-Key", key)
					i.send(r)
				}
				r := request(t, http.MethodGet, "/v1/pets?key="+key, "")
				i.send(r)
				r.Header.Set("Authorization", key)
				i.send(r)
			}
			i.callAs("operator-secret", "operator-secret", "/v1/pets", "")
			log := i.stderr.String()
			assert.Equal(t, 3*9+1, strings.Count(log, "\n"))
			for _, key := range []string{"operator-secret", "]-2", "somebody-elses", fake.DefaultAPIKey} {
				assert.NotContains(t, log, key)
			}
			assert.Contains(t, log, safetext.Mark)
		}
	})
	t.Run("lets every wire through", func(t *testing.T) {
		for _, wire := range fake.Wire("").Values() {
			if wire == fake.WireStall {
				continue // which has no response to wait for
			}
			r := start(t, "-log", "text", "-fault", "wire="+string(wire))
			_, _, err := call(t, r.host, "GET", "/v1/pets", "")
			whole := wire == fake.WireLoginPage
			assert.Equal(t, whole, err == nil, wire)
			assert.Contains(t, <-r.output.wrote, "level=INFO msg=request method=GET path=/v1/pets status="+
				map[bool]string{false: "0 ", true: "200 "}[whole || wire == fake.WireTruncate], wire)
		}
	})
}
