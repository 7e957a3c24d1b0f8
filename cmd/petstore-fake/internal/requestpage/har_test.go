package requestpage

import (
	"encoding/json"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/admintest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHAR(t *testing.T) {
	t.Parallel()
	i := newTestPage(t)
	assert.True(t, json.Valid(i.call("GET", "/_fake/har", "").Body.Bytes()), "without requests")
	i.call("POST", "/v1/pets?dry=1", `{"name":"Rex","categoryId":1}`)
	w := i.call("GET", "/_fake/har", "")
	require.Equal(t, http.StatusOK, w.Code)
	assert.Equal(t, `attachment; filename="petstore-fake.har"`, w.Header().Get("Content-Disposition"))
	assert.Contains(t, w.Body.String(), `"url":"http://`+admintest.Host+`/v1/pets?dry=1"`)
	assert.NotContains(t, w.Body.String(), "fake-api-key")
	i.call("POST", "/v1/pets", "\xff")
	text := i.call("GET", "/_fake/har", "").Body.String()
	assert.True(t, json.Valid([]byte(text)))
	assert.Contains(t, text, `"comment":"base64"`)
	assert.Contains(t, text, `"text":"/w=="`)
	i.srv.Reset()
	i.call("GET", "/v1/pets/7", "")
	assert.Equal(t, 1, strings.Count(i.call("GET", "/_fake/har?status=4xx", "").Body.String(), "startedDateTime"))
	assert.Equal(t, 400, i.call("GET", "/_fake/har?status=x", "").Code)
}

// The measure is one for the process: this test is not parallel.
func TestHAR_andListCopyOneRequestAtATime(t *testing.T) { //nolint:paralleltest // see above
	i := newTestPage(t)
	const size, n = 1 << 20, 40
	body := `{"name":"` + strings.Repeat("x", size-64) + `","categoryId":1}`
	for range n {
		i.call("POST", "/v1/pets", body)
	}
	i.call("GET", "/_fake/requests?limit=1", "") // from now on the page knows the journal
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.Equal(t, http.StatusOK, i.call("GET", "/_fake/requests?limit=1", "").Code)
	runtime.ReadMemStats(&after)
	assert.Less(t, int(after.TotalAlloc-before.TotalAlloc), n*size, "the other bodies and responses are not copied")
}
