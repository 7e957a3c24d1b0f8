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
			``:                                 "the request body is missing",
			` `:                                "is not JSON: unexpected EOF, at byte 1",
			`{"name":"Rex","categoryId":1} {}`: "is not JSON",
			"{\"name\":\"R\xffx\"}":            "is not JSON: invalid UTF-8",
			`{"name":"\ud800\n"}`:              "invalid surrogate pair",
			`null`:                             "the request body is null",
			`[]`:                               "the request body is an array",
			`"Rex"`:                            "the request body is a string",
			`17`:                               "the request body is a number",
			`true`:                             "the request body is a boolean",
			`{}`:                               "the required field name is missing",
			`{"Name":"Rex","categoryId":1}`:    "the required field name is missing",
			`{"name":"Rex"}`:                   "the required field categoryId is missing",
			`{"name":null,"categoryId":1}`:     "name is null",
			`{"name":7,"categoryId":1,"status":"sold"}`:             "name is a number",
			`{"name":"Rex","categoryId":1.5,"status":"sold"}`:       "categoryId is 1.5",
			`{"name":"Rex","categoryId":null}`:                      "categoryId is null",
			`{"name":"Rex","categoryId":1,"status":null}`:           "status is null",
			`{"name":"","categoryId":1}`:                            "name is empty",
			`{"name":{},"categoryId":1}`:                            "name is an object",
			`{"name":"Rex","categoryId":"1"}`:                       "categoryId is a string",
			`{"name":"Rex","categoryId":1.0}`:                       "categoryId is 1.0; it must be an integer",
			`{"name":"Rex","categoryId":-9223372036854775809}`:      "an int64 lies between",
			`{"name":"Rex","categoryId":1,"status":"Sold"}`:         `status is \"Sold\"; it must be available, pending or sold`,
			`{"name":"Rex","categoryId":1,"status":1}`:              "status is a number",
			`{"name":"Rex","categoryId":1,"status":"` + long + `"}`: `status is \"` + long[:64] + `…\"; it must be`,
			`{"name":"Rex","n\u0061me":"Max","categoryId":1}`:       `the field \"name\" is given twice`,
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
				assert.Contains(t, r.body, "the request body is larger than 1 MiB")
				assert.Len(t, lastRequest(t, srv).Body, 1<<20)
			}
		})
	t.Run("a pet without a status gets that of the Behavior", func(t *testing.T) {
		srv := fake.NewTestServer(t, fake.WithBehavior(fake.Behavior{DefaultStatus: petstore.PetStatusPending}))
		r := viaMemory(t, srv).send(t, create("Rex"))
		assert.JSONEq(t, `{"id":1,"name":"Rex","categoryId":1,"status":"pending"}`, r.body)
	})
}
