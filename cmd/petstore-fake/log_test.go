package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The log has a line for each request of the service.
func TestLog(t *testing.T) {
	i := newTestInstance(t, "-log", "json")
	i.call(theKey, "POST", "/v1/pets?key=other-key", `{"name":"Rex","categoryId":1}`)
	i.call("other-key", "GET", "/v1/pets/1", "")
	i.admin("GET keys", "", 200)
	line := `{"time":"2[^"]+","level":"INFO","msg":"request","method":"%s","path":"%s","status":%d,"duration_ms":[\d.e-]+}` + "\n"
	assert.Regexp(t, "^"+fmt.Sprintf(line+line, "POST", "/v1/pets", 201, "GET", "/v1/pets/1", 401)+"$", i.stderr.rest())
	for wire, status := range map[string]string{"reset": "0", "garbage": "0", "truncate": "200", "login-page": "200"} {
		r := start(t, "-log", "text", "-fault", "wire="+wire)
		_, err := call(t, r.host, "GET", "/v1/pets")
		assert.Equal(t, wire == "garbage", err != nil && strings.Contains(err.Error(), "malformed HTTP"), wire)
		assert.Contains(t, <-r.output, "level=INFO msg=request method=GET path=/v1/pets status="+status+" ", wire)
	}
}
