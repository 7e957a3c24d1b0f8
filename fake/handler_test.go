package fake_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/fake"
)

func TestWithHandler(t *testing.T) {
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header()["X-Seen"] = []string{"a", "b"}
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.PathValue("id"), body)
	})
	throughEveryEntryPoint(t, "is served like an operation", func(t *testing.T, srv server) {
		put := request{method: "PUT", path: "/orders/7?a=b", body: "one"}
		for i := range 2 {
			r := srv.send(t, put)
			assert.Equal(t, 202, r.status)
			assert.Equal(t, "PUT 7 one", r.body)
			assert.Equal(t, []string{"a", "b"}, r.header["X-Seen"])
			assert.Equal(t, strconv.Itoa(59-i), r.header.Get("X-RateLimit-Remaining"))
			assert.Equal(t, i > 0, r.header.Get("X-More") != "", "a fault changes the second response")
			assert.Empty(t, srv.last(t).Operation)
			assert.Equal(t, "PUT 7 one", string(srv.last(t).ResponseBody))
			srv.Inject(fake.Fault{Header: http.Header{"X-More": {"1"}}})
		}
		srv.Reset()
		assert.Equal(t, 401, srv.send(t, request{method: "PUT", path: "/orders/7", auth: "-"}).status)
		srv.Inject(fake.Fault{Status: 503})
		assert.Equal(t, 503, srv.send(t, put).status)
		large := request{method: "PUT", path: "/orders/7", body: strings.Repeat("x", 1<<20+1)}
		assert.Equal(t, 400, srv.send(t, large).status)
		assert.Equal(t, 202, srv.send(t, request{method: "NOSUCH", path: "/pets/1"}).status)
		assert.Equal(t, 200, srv.send(t, request{path: "/pets/1"}).status)
		for _, path := range []string{"/orders", "/orders//7", "/x/../orders/7"} {
			r := srv.send(t, request{method: "PUT", path: path})
			assert.Equal(t, 404, r.status, path)
			assert.Contains(t, r.body, "those of section 4 begin with /v1/pets")
		}
		srv.BanKey(srv.APIKey(), time.Hour)
		assert.Equal(t, 429, srv.send(t, put).status)
	}, fake.WithPlan(fake.PlanFree), fake.WithPets(catalogue(1)...),
		fake.WithHandler("PUT /v1/orders/{id}", echo), fake.WithHandler("NOSUCH /v1/pets/{petId}", echo))
	t.Run("a panic breaks the connection, and fails the test unless it is http.ErrAbortHandler", func(t *testing.T) {
		for value, fails := range map[any]bool{http.ErrAbortHandler: false, "oh no": true} {
			tb := &recorder{}
			panics := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(value) })
			srv := open(tb, fake.WithHandler("GET /v1/x", panics))
			_, err := srv.try(t, request{path: "/x"})
			assert.ErrorIs(t, err, io.EOF)
			assert.Equal(t, "#1 GET /v1/x → no response: Match or the handler panicked", srv.last(t).String())
			tb.end()
			assert.Equal(t, fails, strings.Contains(tb.errors.String(), "the handling of a request panicked: oh no"))
		}
	})
}
