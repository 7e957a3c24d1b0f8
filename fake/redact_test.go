package fake_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// everyByte writes a text with a format for each of its bytes.
func everyByte(format, text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

func TestRedact(t *testing.T) {
	const key = `op%41&"secret\~1`
	srv := fake.NewTestServer(t, fake.WithKey(key, fake.PlanFree), fake.WithKey("short", fake.PlanFree))
	inJSON, err := json.Marshal(key)
	require.NoError(t, err)
	for name, form := range map[string]string{
		"plain":                 key,
		"query":                 url.QueryEscape(key),
		"path":                  url.PathEscape(key),
		"JSON":                  strings.Trim(string(inJSON), `"`),
		"JSON in JSON":          strings.Trim(strconv.Quote(strings.Trim(string(inJSON), `"`)), `"`),
		"HTML":                  html.EscapeString(key),
		"Go":                    strings.Trim(strconv.Quote(key), `"`),
		"every byte as %XX":     everyByte("%%%02X", key),
		"every byte as \\u00xx": everyByte(`\u%04x`, key),
		"every byte as \\xxx":   everyByte(`\x%02x`, key),
		"every byte as &#n;":    everyByte("&#%d;", key),
		"every byte as &#xn;":   everyByte("&#x%x;", key),
		"%XX of %XX of %XX":     strings.ReplaceAll(everyByte("%%%02x", key), "%", "%2525"),
		"%XX of \\u00xx":        url.QueryEscape(everyByte(`\u%04X`, key)),
	} {
		assert.Equal(t, "a[redacted]b[redacted]%c", fakecontrol.Of(srv).Redact("a"+form+"b"+form+"%c"), name)
	}
	for _, text := range []string{
		"", "short", "%", `\`, "&", "&amp;", "%2", `\u00`, "100%25 …", "op%41&", "…", "déjà\\u00e9 %C3%A9",
		"op…", `"x\"` + key[:5],
	} {
		assert.Equal(t, text, fakecontrol.Of(srv).Redact(text))
	}
	assert.Equal(t, "GET [redacted]…", fakecontrol.Of(srv).Redact("GET "+key[:9]+"…"), "what a message cut off")
	assert.Equal(t, "GET [redacted]…", fakecontrol.Of(srv).Redact("GET "+everyByte("%%%02X", key[:9])+"%4…"))
	assert.Equal(t, "[redacted]", fakecontrol.Of(srv).Redact("fake-api-fake-api-key")[9:])
}

func TestRedactHeaders(t *testing.T) {
	srv := fake.NewTestServer(t)
	srv.Inject(fake.Fault{Status: 200, Header: http.Header{"X-Fake-Api-Key": {"%66ake-api-key"}}})
	viaTransport(t, srv).send(t, request{path: "/pets", header: http.Header{
		"X-Fake-Api-Key": {"a"}, "Fake-Api-Key": {`\u0066ake-api-key`}, "Cookie": {"k=fake%2Dapi-key"},
	}})
	last, ok := srv.LastRequest()
	require.True(t, ok)
	text := strings.ToLower(fmt.Sprint(last.Header, last.ResponseHeader))
	assert.NotContains(t, text, "api")
	assert.Equal(t, []string{"[redacted]"}, last.ResponseHeader["[redacted]"])
}
