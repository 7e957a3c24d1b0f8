package requestpage

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestTheJournalIsSavedAsAnArchive(t *testing.T) {
	t.Parallel()
	i := newTestPage(t, fake.DefaultAPIKey)
	i.srv.Inject(fake.Fault{Skip: 1, Wire: fake.WireReset})
	i.srv.Inject(fake.Fault{Skip: 1, Status: 200, Body: []byte{0xff}})
	r := request(t, "POST", "/v1/pets?dry=1&a=b+c", `{"name":"Rex","categoryId":1}`)
	r.Header.Set("Authorization", "Bearer fake-api-key")
	i.send(r)
	assert.Panics(t, func() { i.call("GET", "/v1/pets", "") }, "a recorder has no connection to reset")
	i.call("GET", "/v1/pets/1", "")

	w := i.call("GET", "/_fake/har", "")
	require.Equal(t, http.StatusOK, w.Code)
	assert.Equal(t, `attachment; filename="petstore-fake.har"`, w.Header().Get("Content-Disposition"))
	assert.NotContains(t, w.Body.String(), "fake-api-key")
	var archive harRoot
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &archive))
	assert.Equal(t, "1.2", archive.Log.Version)
	assert.Equal(t, harCreator{"petstore-fake", petstore.Version}, archive.Log.Creator)
	require.Len(t, archive.Log.Entries, 3)

	created := archive.Log.Entries[0]
	assert.WithinDuration(t, time.Now(), created.Started, 10*time.Second)
	assert.Equal(t, "http://"+testHost+"/v1/pets?dry=1&a=b+c", created.Request.URL)
	assert.Equal(t, []harPair{{"a", "b c"}, {"dry", "1"}}, created.Request.QueryString)
	assert.Contains(t, created.Request.Headers, harPair{"Authorization", "Bearer [redacted]"})
	assert.Equal(t, &harContent{MimeType: "application/json", Text: `{"name":"Rex","categoryId":1}`}, created.Request.PostData)
	assert.Equal(t, 201, created.Response.Status)
	assert.Equal(t, "Created", created.Response.StatusText)
	assert.Contains(t, created.Response.Headers, harPair{"X-Ratelimit-Remaining", "999"})
	assert.JSONEq(t, `{"id":1,"name":"Rex","categoryId":1}`, created.Response.Content.Text)
	assert.Equal(t, len(created.Response.Content.Text), *created.Response.Content.Size)

	lost := archive.Log.Entries[1]
	assert.Zero(t, lost.Response.Status)
	assert.Contains(t, lost.Comment, "reset")
	assert.Nil(t, lost.Request.PostData)

	binary := archive.Log.Entries[2].Response.Content
	assert.Equal(t, "base64", binary.Encoding)
	assert.Equal(t, base64.StdEncoding.EncodeToString([]byte{0xff}), binary.Text)
	assert.Equal(t, 1, *binary.Size)
}

func TestAnArchiveHasAllThatTheFormatRequires(t *testing.T) {
	t.Parallel()
	i := newTestPage(t, fake.DefaultAPIKey)
	empty := i.call("GET", "/_fake/har", "").Body.String()
	assert.Contains(t, empty, `"entries":[]`)
	i.callAs("", "GET", "/v1/pets", "")
	text := i.call("GET", "/_fake/har", "").Body.String()
	for _, field := range []string{
		`"startedDateTime":"`, `"time":`, `"request":{`, `"response":{`, `"cache":{}`, `"timings":{"send":0,"wait":`,
		`"receive":0`, `"cookies":[]`, `"queryString":[]`, `"headersSize":-1`, `"bodySize":`, `"redirectURL":""`,
		`"httpVersion":"HTTP/1.1"`, `"content":{"size":`,
	} {
		assert.Contains(t, text, field)
	}
	assert.NotContains(t, text, "null")
}

func TestAnArchiveIsFilteredAsTheListIs(t *testing.T) {
	t.Parallel()
	i := newTestPage(t, fake.DefaultAPIKey)
	i.call("GET", "/v1/pets", "")
	i.call("GET", "/v1/pets/7", "")
	assert.Equal(t, 1, strings.Count(i.call("GET", "/_fake/har?status=4xx", "").Body.String(), "startedDateTime"))
	assert.Equal(t, 400, i.call("GET", "/_fake/har?status=x", "").Code)
}

// A client may escape more of a key than it has to.
func TestNoKeyComesToLightInAnArchive(t *testing.T) {
	t.Parallel()
	i := newTestPage(t, "operator-secret", fake.WithKey("operator-secret", fake.PlanPro))
	i.callAs("operator-secret", "GET", "/v1/pets?a=operator%2Dsecret&operator%2dsecret=b", "")
	text := i.call("GET", "/_fake/har", "").Body.String()
	assert.NotContains(t, text, "operator-secret")
	assert.Contains(t, text, `{"name":"a","value":"[redacted]"}`)
}
