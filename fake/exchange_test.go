package fake_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestRoute(t *testing.T) {
	t.Run("an escaped slash separates no segments", func(t *testing.T) {
		pets := fake.WithPets(petstore.NewPet{Name: "Rex", CategoryID: 1})
		throughEveryEntryPoint(t, []fake.Option{pets}, func(t *testing.T, _ *fake.Server, d entryPoint) {
			for path, want := range map[string]int{
				"/pets/1": 200, "/pets/%31": 200, "/%70ets/1": 200, "%2Fpets": 404, "/pets%2F1": 404, "/pets/1%2f": 404, "/pets%2f": 404,
			} {
				assert.Equal(t, want, d.send(t, request{path: path}).status, path)
			}
		})
	})
	t.Run("OPTIONS * is served like any other request", func(t *testing.T) {
		srv := fake.NewTestServer(t)
		answer := exchangeRaw(t, srv.URL(), "OPTIONS * HTTP/1.1\r\n"+rawKey+"Connection: close\r\n\r\n")
		assert.True(t, strings.HasPrefix(answer, "HTTP/1.1 404 "), answer)
		for _, name := range []string{"Limit", "Remaining", "Reset"} {
			assert.Contains(t, answer, http.CanonicalHeaderKey("X-RateLimit-"+name)+": ")
		}
	})
}
