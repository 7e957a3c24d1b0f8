package fake_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestCreatePet(t *testing.T) {
	t.Run("refuses bodies that the document rules out, and says why", func(t *testing.T) {
		srv, d := open(t)
		long := strings.Repeat("x", 100)
		for body, reason := range map[string]string{
			``: "the request body is missing", ` `: "is not JSON", `{"name":"Rex","categoryId":1} {}`: "is not JSON",
			"{\"name\":\"R\xffx\"}": "is not JSON: jsontext: invalid UTF-8", `{"name":"\ud800\n"}`: "invalid surrogate pair",
			`{"name":"Rex","n\u0061me":"Max","categoryId":1}`: `duplicate object member name`,
			`[]`: "is not an object", `"Rex"`: "is not an object", `17`: "is not an object", `true`: "is not an object",
			`null`: "field name is missing", `{}`: "field name is missing", `{"name":"","categoryId":1}`: "field name is missing or empty",
			`{"Name":"Rex","categoryId":1}`: "field name is missing", `{"name":null,"categoryId":1}`: "field name is missing",
			`{"name":"Rex"}`: "field categoryId is missing", `{"name":"Rex","categoryId":null}`: "field categoryId is missing",
			`{"name":7,"categoryId":1}`: "name must be a string", `{"name":{},"categoryId":1}`: "name must be a string",
			`{"name":"Rex","categoryId":1.0}`: "categoryId must be an integer of 64 bits", `{"name":"Rex","categoryId":"1"}`: "must be an integer",
			`{"name":"Rex","categoryId":-9223372036854775809}`: "must be an integer", `{"name":"Rex","categoryId":1e3}`: "must be an integer",
			`{"name":"Rex","categoryId":1,"status":1}`: "status must be a string", `{"name":"Rex","categoryId":1,"status":null}`: `status is \"\"`,
			`{"name":"Rex","categoryId":1,"status":"Sold"}`:         `status is \"Sold\"; it must be available, pending or sold`,
			`{"name":"Rex","categoryId":1,"status":"` + long + `"}`: `status is \"` + long[:64] + `…\"; it must be`,
		} {
			r := d.send(t, request{method: http.MethodPost, path: "/pets", body: body})
			assert.Equal(t, http.StatusBadRequest, r.status, body)
			assert.Contains(t, r.body, `{"code":"invalid_request","message":"createPet: `)
			assert.Contains(t, r.body, reason, body)
			assert.Contains(t, r.body, `(section 4.2)","status":400}`)
		}
		assert.Empty(t, srv.Pets())
	})
	t.Run("takes no media type but JSON, and says so", func(t *testing.T) {
		_, d := open(t)
		for message, header := range map[string]http.Header{
			"the Content-Type header is missing; it must be application/json": {"Content-Type": nil},
			`the Content-Type is \"application/x-json\"; it must be application/json`: {
				"Content-Type": {"application/x-json"},
			},
			`json; charset\"; it must be application/json`:            {"Content-Type": {"application/json; charset"}},
			`the Content-Encoding is \"gzip\"; the server takes none`: {"Content-Encoding": {"gzip"}},
			`"name":"Rex"`: {"Content-Type": {"Application/JSON"}, "Content-Encoding": {"identity"}},
		} {
			q := create("Rex")
			q.header = header
			assert.Contains(t, d.send(t, q).body, message)
		}
	})
	throughEveryEntryPoint(t, "refuses a body over 1 MiB and keeps only its beginning",
		nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
			whole := 1<<20 - len(create("").body)
			assert.Equal(t, http.StatusCreated, d.send(t, create(strings.Repeat("x", whole))).status)
			for _, name := range []int{whole + 1, 2 * whole} {
				r := d.send(t, create(strings.Repeat("x", name)))
				assert.Equal(t, http.StatusBadRequest, r.status)
				assert.Contains(t, r.body, "request body too large; it may have 1 MiB")
				assert.Len(t, lastRequest(t, srv).Body, 64<<10)
			}
		})
	t.Run("a pet without a status gets that of the Behavior", func(t *testing.T) {
		srv := fake.NewTestServer(t, fake.WithBehavior(fake.Behavior{DefaultStatus: petstore.PetStatusPending}))
		r := viaMemory(t, srv).send(t, create("Rex"))
		assert.JSONEq(t, `{"id":1,"name":"Rex","categoryId":1,"status":"pending"}`, r.body)
	})
}
