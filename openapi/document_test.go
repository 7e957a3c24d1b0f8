package openapi

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/golden"
)

const document = "../cmd/petstore-fake/openapi.yaml"

func load(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromFile(document)
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
	return doc
}

// The golden file is what the service document states, written down a second time, so that
// openapi.yaml cannot drift away from it unnoticed. Section 7 leaves the body of a 429 open, after it
// gave all errors an Error body: clients generated from a document without one have nothing to look
// at.
func TestDocumentStatesWhatTheServiceDoes(t *testing.T) {
	doc := load(t)
	var lines []string
	for where, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			lines = append(lines, describeOperation(t, method+" "+where, op)...)
		}
	}
	for name, schema := range doc.Components.Schemas {
		lines = append(lines, name+": "+typeOf(&openapi3.SchemaRef{Value: schema.Value}))
		for field, is := range schema.Value.Properties {
			required := slices.Contains(schema.Value.Required, field)
			lines = append(lines, fmt.Sprintf("%s.%s: %s, required: %t", name, field, typeOf(is), required))
		}
		assert.Equal(t, openapi3.BoolSchema{}, schema.Value.AdditionalProperties, "%s may grow", name)
	}
	slices.Sort(lines)
	golden.Assert(t, "testdata/document.golden", strings.Join(lines, "\n")+"\n")

	assert.Equal(t, "3.1.0", doc.OpenAPI)
	assert.Equal(t, "1.0.0", doc.Info.Version, "section 9")
	require.Len(t, doc.Security, 1)
	assert.Contains(t, doc.Security[0], "apiKey")
	scheme := doc.Components.SecuritySchemes["apiKey"].Value
	assert.Equal(t, "http bearer", scheme.Type+" "+scheme.Scheme)
	for _, server := range doc.Servers {
		assert.Regexp(t, `/v1$`, server.URL)
	}
}

// describeOperation returns what the document says about an operation, by lines.
func describeOperation(t *testing.T, where string, op *openapi3.Operation) (lines []string) {
	t.Helper()
	add := func(format string, args ...any) {
		lines = append(lines, op.OperationID+fmt.Sprintf(format, args...))
	}
	add(": %s, deprecated: %t, security of its own: %t", where, op.Deprecated, op.Security != nil)
	for _, ref := range op.Parameters {
		p := ref.Value
		add(" %s %s: %s, required: %t", p.In, p.Name, typeOf(p.Schema), p.Required)
	}
	if op.RequestBody != nil {
		add(" body: %s, required: %t", contents(op.RequestBody.Value.Content), op.RequestBody.Value.Required)
	}
	for status, ref := range op.Responses.Map() {
		headers := slices.Sorted(maps.Keys(ref.Value.Headers))
		add(" %s: %s %v", status, contents(ref.Value.Content), headers)
		for _, name := range headers {
			assert.True(t, ref.Value.Headers[name].Value.Required, name)
		}
	}
	return lines
}

func contents(content openapi3.Content) string {
	var list []string
	for media, is := range content {
		list = append(list, media+" "+typeOf(is.Schema))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// typeOf describes a schema: its name, or its type with the bounds of its values.
func typeOf(schema *openapi3.SchemaRef) string {
	if schema.Ref != "" {
		return path.Base(schema.Ref)
	}
	is := schema.Value
	s := strings.Join(append(is.Type.Slice(), is.Format), " ")
	if is.Items != nil {
		s += "of " + typeOf(is.Items)
	}
	if is.Min != nil && is.Max != nil {
		s += fmt.Sprintf("from %v to %v, default %v", *is.Min, *is.Max, is.Default)
	}
	if is.Enum != nil {
		s += fmt.Sprint(is.Enum)
	}
	return strings.TrimSpace(s)
}
