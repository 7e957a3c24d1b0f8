package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(2, 0)), fake.WithStrict())
		handler := pets(server.Client())
		get := func() *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			handler(w, httptest.NewRequest(http.MethodGet, "/pets", nil))
			return w
		}
		assert.Equal(t, http.StatusOK, get().Code)
		assert.Equal(t, "[]\n", get().Body.String())
		limited := get()
		assert.Equal(t, http.StatusServiceUnavailable, limited.Code)
		assert.Equal(t, "60", limited.Header().Get("Retry-After"))
	})
}

func TestMainProgram(*testing.T) { main() }
