package fake_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestWithHandler(t *testing.T) {
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Add("X-Seen", "a")
		w.Header().Add("X-Seen", "b")
		w.WriteHeader(http.StatusAccepted)
		w.WriteHeader(http.StatusTeapot) // net/http ignores a second one, too
		fmt.Fprintf(w, "%s %s %s", r.Method, r.PathValue("id"), body)
	})
	opts := []fake.Option{
		fake.WithPlan(fake.PlanFree), fake.WithHandler("PUT /v1/orders/{id}", echo), fake.WithHandler("DELETE /v1/pets/{petId}", echo),
	}
	throughEveryEntryPoint(t, "is served like an operation", opts, func(t *testing.T, srv *fake.Server, d entryPoint) {
		r := d.send(t, request{method: "PUT", path: "/orders/7?a=b", body: "one"})
		assert.Equal(t, 202, r.status)
		assert.Equal(t, "PUT 7 one", r.body)
		assert.Equal(t, []string{"a", "b"}, r.header["X-Seen"])
		assert.Equal(t, "59", r.header.Get("X-RateLimit-Remaining"))
		last := lastRequest(t, srv)
		assert.Empty(t, last.Operation)
		assert.Equal(t, "PUT 7 one", string(last.ResponseBody))

		assert.Equal(t, 401, d.send(t, request{method: "PUT", path: "/orders/7", auth: "-"}).status)
		srv.Inject(fake.Fault{Status: 503})
		assert.Equal(t, 503, d.send(t, request{method: "PUT", path: "/orders/7"}).status)
		large := request{method: "PUT", path: "/orders/7", body: strings.Repeat("x", 1<<20+1)}
		assert.Equal(t, 400, d.send(t, large).status)
		srv.BanKey(srv.APIKey(), 1<<40)
		assert.Equal(t, 429, d.send(t, request{method: "PUT", path: "/orders/7"}).status)
	})
	t.Run("a new method of a path leaves the others", func(t *testing.T) {
		_, d := open(t, append(opts, fake.WithPets(petstore.NewPet{Name: "Rex", CategoryID: 1}))...)
		assert.Equal(t, 202, d.send(t, request{method: "DELETE", path: "/pets/1"}).status)
		for status, q := range map[int]request{
			200: {path: "/pets/1"}, 201: create("Mia"), 405: {method: "HEAD", path: "/pets"}, 404: {path: "/orders"},
		} {
			assert.Equal(t, status, d.send(t, q).status)
		}
	})
	t.Run("refuses what would never be called", func(t *testing.T) {
		for pattern, message := range map[string]string{
			"GET /v1/pets":       "conflicts with pattern",
			"POST /v1/pets":      "conflicts with pattern",
			"GET /v1/pets/{id}":  "conflicts with pattern",
			"GET /orders":        `fake: WithHandler: the path of the pattern "GET /orders" is not below /v1/`,
			"GET host.test/v1/a": "is not below /v1/",
			"GET /v1/{":          "WithHandler: parsing",
			"":                   "is not below /v1/",
		} {
			p := panicOf(func() { fake.WithHandler(pattern, echo) })
			assert.Contains(t, p, message, pattern)
		}
		assert.Equal(t, "fake: WithHandler: the handler is nil", panicOf(func() { fake.WithHandler("GET /v1/orders", nil) }))
		twice := fake.WithHandler("GET /v1/orders", echo)
		assert.Contains(t, panicOf(func() { fake.NewServer(twice, twice) }), "conflicts with pattern")
	})
}

// panicOf returns the text with which a function panics.
func panicOf(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}
