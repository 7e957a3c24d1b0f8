package fake_test

import (
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestCreatePet(t *testing.T) {
	t.Run("refuses bodies that the document rules out, and says why", func(t *testing.T) {
		srv, d := open(t)
		long := strings.Repeat("x", 100)
		for body, reason := range map[string]string{
			``:                                    "the request body is missing",
			` `:                                   "is not JSON",
			`{`:                                   "is not JSON",
			`{"name":"Rex","categoryId":1} {}`:    "is not JSON",
			`{"name":"Rex","categoryId":1}x`:      "is not JSON",
			`{"name":"Rex","categoryId":01}`:      "is not JSON",
			"{\"name\":\"R\x00x\"}":               "is not JSON",
			"{\"name\":\"R\xffx\"}":               "is not JSON: invalid UTF-8",
			`null`:                                "the request body is null",
			`[]`:                                  "the request body is an array",
			`"Rex"`:                               "the request body is a string",
			`17`:                                  "the request body is a number",
			`true`:                                "the request body is a boolean",
			`{}`:                                  "the required fields name and categoryId are missing",
			`{"categoryId":1}`:                    "the required field name is missing",
			`{"Name":"Rex","categoryId":1}`:       "the required field name is missing",
			`{"name":"Rex"}`:                      "the required field categoryId is missing",
			`{"name":null,"categoryId":1}`:        "name is null",
			`{"name":"","categoryId":1}`:          "name is empty",
			`{"name":{},"categoryId":1}`:          "name is an object",
			`{"name":7,"categoryId":1}`:           "name is a number",
			`{"name":"\ud800","categoryId":1}`:    "invalid surrogate pair",
			`{"name":"\ud800\u0041"}`:             "invalid surrogate pair",
			`{"name":"\ud800\n"}`:                 "invalid surrogate pair",
			`{"name":"\udc00"}`:                   "invalid surrogate pair",
			`{"\ud800":1}`:                        "invalid surrogate pair",
			`{"name":"Rex","categoryId":null}`:    "categoryId is null",
			`{"name":"Rex","categoryId":"1"}`:     "categoryId is a string",
			`{"name":"Rex","categoryId":false}`:   "categoryId is a boolean",
			`{"name":"Rex","categoryId":1.0}`:     "categoryId is 1.0; it must be an integer",
			`{"name":"Rex","categoryId":1e3}`:     "categoryId is 1e3; it must be an integer",
			`{"categoryId":9223372036854775808}`:  "categoryId is 9223372036854775808; an int64 lies between",
			`{"categoryId":-9223372036854775809}`: "an int64 lies between",
			`{"name":"Rex","categoryId":1,"status":""}`:             `status is \"\"`,
			`{"name":"Rex","categoryId":1,"status":"Sold"}`:         `status is \"Sold\"; it must be available, pending or sold`,
			`{"name":"Rex","categoryId":1,"status":1}`:              "status is a number",
			`{"name":"Rex","categoryId":1,"status":"` + long + `"}`: `status is \"` + long[:64] + `…\"; it must be`,
			`{"name":"Rex","name":"Max","categoryId":1}`:            `the field \"name\" is given twice`,
			`{"name":"Rex","n\u0061me":"Max","categoryId":1}`:       `the field \"name\" is given twice`,
			`{"x":[{"y":"}"}],"x":{},"name":"","categoryId":1}`:     `the field \"x\" is given twice`,
		} {
			r := d.send(t, request{method: http.MethodPost, path: "/pets", body: body})
			assert.Equal(t, http.StatusBadRequest, r.status, body)
			assert.Contains(t, r.body, `{"code":"invalid_request","message":"createPet: `)
			assert.Contains(t, r.body, reason, body)
			assert.Contains(t, r.body, `(section 4.2)","status":400}`)
			srv.SetPlan(srv.APIKey(), fake.Enterprise(0, 0))
		}
		assert.Empty(t, srv.Pets())
	})
	throughEveryEntryPoint(t, "takes no media type but JSON", nil, func(t *testing.T, _ *fake.Server, d entryPoint) {
		for contentType, status := range map[string]int{
			"-":                               http.StatusBadRequest,
			"text/plain":                      http.StatusBadRequest,
			"application/x-json":              http.StatusBadRequest,
			"application/json; charset":       http.StatusBadRequest,
			"application/json; charset=utf-8": http.StatusCreated,
			"Application/JSON":                http.StatusCreated,
		} {
			q := create("Rex")
			q.contentType = contentType
			r := d.send(t, q)
			assert.Equal(t, status, r.status, contentType)
			assert.Equal(t, status == http.StatusBadRequest, strings.Contains(r.body, "must be application/json"))
		}
		q := create("Rex")
		q.header = http.Header{"Content-Encoding": {"gzip"}}
		assert.Contains(t, d.send(t, q).body, `the Content-Encoding is \"gzip\"; the server takes none`)
	})
	t.Run("refuses a body over 1 MiB and keeps only its beginning", func(t *testing.T) {
		throughEveryEntryPoint(t, "2 MiB", nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
			q := create(strings.Repeat("x", 2<<20))
			r := d.send(t, q)
			assert.Equal(t, http.StatusBadRequest, r.status)
			assert.Contains(t, r.body, "the request body is larger than 1 MiB")
			assert.Len(t, srv.Requests()[0].Body, 1<<20)
		})
		srv := fake.NewTestServer(t)
		long := create(strings.Repeat("x", 1<<20-100))
		assert.Equal(t, http.StatusCreated, viaMemory(t, srv).send(t, long).status)
	})
	t.Run("a pet without a status gets that of the Behavior", func(t *testing.T) {
		srv := fake.NewTestServer(t, fake.WithBehavior(fake.Behavior{DefaultStatus: petstore.PetStatusPending}))
		r := viaMemory(t, srv).send(t, create("Rex"))
		assert.JSONEq(t, `{"id":1,"name":"Rex","categoryId":1,"status":"pending"}`, r.body)
	})
	t.Run("a request whose body breaks off is not carried out", func(t *testing.T) {
		srv := fake.NewTestServer(t)
		conn := dialRaw(t, srv.URL())
		_, err := io.WriteString(conn, "POST /v1/pets HTTP/1.1\r\n"+rawKey+
			"Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{\"name\":\"Rex\",\"categoryId\":1}")
		require.NoError(t, err)
		require.NoError(t, conn.(*net.TCPConn).CloseWrite())
		answer, err := io.ReadAll(conn)
		require.NoError(t, err)
		assert.Contains(t, string(answer), "400 Bad Request")
		assert.Contains(t, string(answer), "the request body cannot be read: unexpected EOF")
		assert.Empty(t, srv.Pets())
	})
	t.Run("refused bodies take no memory", func(t *testing.T) {
		_, d := open(t, fake.WithJournal(1), fake.WithPlan(fake.Enterprise(0, 0)))
		before := heap()
		for range 20 {
			r := d.send(t, request{path: "/pets", body: strings.Repeat("x", 2<<20)})
			assert.Equal(t, http.StatusBadRequest, r.status)
		}
		runtime.GC()
		assert.Less(t, int64(heap())-int64(before), int64(8<<20))
	})
}
