package ui

import (
	"encoding/json"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// harSchema returns the schema of the HTTP Archive format, which others have written.
func harSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	const base = "http://har.test/"
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	for _, name := range []string{
		"browser", "cache", "beforeRequest", "afterRequest", "content", "cookie", "creator", "entry", "har", "header",
		"log", "page", "pageTimings", "postData", "query", "request", "response", "timings",
	} {
		var text map[string]any
		require.NoError(t, json.Unmarshal(readFetched(t, path.Join("har-schema", "lib", name+".json")), &text))
		text["$id"] = base + name + ".json"
		require.NoError(t, compiler.AddResource(base+name+".json", text))
	}
	schema, err := compiler.Compile(base + "har.json")
	require.NoError(t, err)
	return schema
}

func TestHAR_schema(t *testing.T) {
	t.Parallel()
	schema := harSchema(t)
	judge := func(archive string) error {
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(archive))
		require.NoError(t, err)
		return schema.Validate(document)
	}
	p := start(t)
	assert.NoError(t, judge(p.send(http.MethodGet, "/_fake/har", "").body), "an empty one")
	p.morning()
	p.send(http.MethodPost, "/v1/pets?a=b&a=c&%ff=%00", "\xff\x00 no text")
	p.send(http.MethodOptions, "/v1/pets", "")
	p.send(http.MethodHead, "/v1/pets", "")
	p.send(http.MethodPost, "/_fake/faults", `{"status":204}`)
	p.send(http.MethodGet, "/v1/pets/[]{}|\\^ \"<>", "")
	archive := p.send(http.MethodGet, "/_fake/har", "").body
	assert.NoError(t, judge(archive))
	assert.Greater(t, strings.Count(archive, "startedDateTime"), 200)
	for _, spoilt := range []string{`"startedDateTime"`, `"queryString"`, `"timings"`, `"content"`, `"version"`} {
		assert.Error(t, judge(strings.ReplaceAll(archive, spoilt, `"other"`)), spoilt)
	}
}
