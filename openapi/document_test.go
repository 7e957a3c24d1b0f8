package openapi

import (
	"maps"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the service document states, written down a second time, so that openapi.yaml cannot drift
// away from it unnoticed.

func load(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromFile(document)
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
	return doc
}

// operations returns the operations by operationId, with "METHOD path" for each.
func operations(doc *openapi3.T) (byID map[string]*openapi3.Operation, where map[string]string) {
	byID, where = make(map[string]*openapi3.Operation), make(map[string]string)
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			byID[op.OperationID], where[op.OperationID] = op, method+" "+path
		}
	}
	return byID, where
}

func TestDocumentHasTheThreeOperations(t *testing.T) {
	doc := load(t)
	byID, where := operations(doc)
	assert.Equal(t, "3.1.0", doc.OpenAPI)
	assert.Equal(t, "1.0.0", doc.Info.Version, "section 9")
	assert.Equal(t, map[string]string{
		"listPets": "GET /pets", "createPet": "POST /pets", "getPet": "GET /pets/{petId}",
	}, where, "section 4")
	for id, op := range byID {
		assert.Equal(t, id == "getPet", op.Deprecated, id)
		assert.Nil(t, op.Security, "%s: section 5 holds for every operation", id)
	}
	require.Len(t, doc.Security, 1)
	assert.Contains(t, doc.Security[0], "apiKey")
	scheme := doc.Components.SecuritySchemes["apiKey"].Value
	assert.Equal(t, "http bearer", scheme.Type+" "+scheme.Scheme)
	for _, server := range doc.Servers {
		assert.Regexp(t, `/v1$`, server.URL)
	}
}

func TestDocumentHasTheParameters(t *testing.T) {
	byID, _ := operations(load(t))
	list := byID["listPets"].Parameters
	require.Len(t, list, 2)
	limit := list.GetByInAndName("query", "limit")
	assert.False(t, limit.Required)
	assert.True(t, limit.Schema.Value.Type.Is("integer"))
	assert.Equal(t, []float64{1, 100}, []float64{*limit.Schema.Value.Min, *limit.Schema.Value.Max})
	assert.EqualValues(t, 20, limit.Schema.Value.Default)
	status := list.GetByInAndName("query", "status")
	assert.False(t, status.Required)
	assert.Equal(t, "#/components/schemas/PetStatus", status.Schema.Ref)

	require.Len(t, byID["getPet"].Parameters, 1)
	id := byID["getPet"].Parameters.GetByInAndName("path", "petId")
	assert.True(t, id.Required)
	assert.Equal(t, "integer int64", id.Schema.Value.Type.Slice()[0]+" "+id.Schema.Value.Format)

	assert.Empty(t, byID["createPet"].Parameters)
	body := byID["createPet"].RequestBody.Value
	assert.True(t, body.Required)
	assert.Equal(t, "#/components/schemas/NewPet", body.Content["application/json"].Schema.Ref)
}

func TestDocumentHasTheSchemas(t *testing.T) {
	schemas := load(t).Components.Schemas
	assert.Equal(t, []string{"Error", "NewPet", "Pet", "PetStatus", "Pets"}, slices.Sorted(maps.Keys(schemas)))
	assert.Equal(t, []any{"available", "pending", "sold"}, schemas["PetStatus"].Value.Enum)
	assert.Equal(t, "#/components/schemas/Pet", schemas["Pets"].Value.Items.Ref)
	for name, want := range map[string]struct {
		required []string
		fields   map[string]string
	}{
		"NewPet": {[]string{"categoryId", "name"}, map[string]string{
			"name": "string", "categoryId": "integer int64", "status": "PetStatus",
		}},
		"Pet": {[]string{"categoryId", "id", "name"}, map[string]string{
			"id": "integer int64", "name": "string", "categoryId": "integer int64", "status": "PetStatus",
		}},
		"Error": {[]string{"code", "message", "status"}, map[string]string{
			"code": "string", "message": "string", "status": "integer",
		}},
	} {
		schema := schemas[name].Value
		assert.ElementsMatch(t, want.required, schema.Required, name)
		assert.Equal(t, want.fields, fields(schema), name)
		assert.Nil(t, schema.AdditionalProperties.Schema, "%s may grow", name)
		assert.Nil(t, schema.AdditionalProperties.Has, "%s may grow", name)
	}
}

// fields returns the type and format of each field of an object.
func fields(schema *openapi3.Schema) map[string]string {
	types := make(map[string]string)
	for name, field := range schema.Properties {
		switch {
		case field.Ref != "":
			types[name] = field.Ref[len("#/components/schemas/"):]
		case field.Value.Format != "":
			types[name] = field.Value.Type.Slice()[0] + " " + field.Value.Format
		default:
			types[name] = field.Value.Type.Slice()[0]
		}
	}
	return types
}

func TestDocumentHasTheAnswers(t *testing.T) {
	byID, _ := operations(load(t))
	// The schema of each response. Section 7 leaves that of a 429 open, after it gave all errors an
	// Error body: clients generated from a document without one have nothing to look at.
	for id, want := range map[string]map[string]string{
		"listPets":  {"200": "Pets", "401": "Error", "429": "Error"},
		"createPet": {"201": "Pet", "400": "Error", "401": "Error", "429": "Error"},
		"getPet":    {"200": "Pet", "401": "Error", "404": "Error", "429": "Error"},
	} {
		got := make(map[string]string)
		for status, ref := range byID[id].Responses.Map() {
			response, headers := ref.Value, []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}
			if status == "429" {
				headers = append([]string{"Retry-After"}, headers...)
			}
			assert.Equal(t, headers, slices.Sorted(maps.Keys(response.Headers)), "%s %s", id, status)
			for name, header := range response.Headers {
				assert.True(t, header.Value.Required, name)
			}
			got[status] = ""
			for media, content := range response.Content {
				assert.Equal(t, "application/json", media)
				got[status] = content.Schema.Ref[len("#/components/schemas/"):]
			}
		}
		assert.Equal(t, want, got, id)
	}
}
