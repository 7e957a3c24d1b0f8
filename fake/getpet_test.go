package fake_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/fake"
)

func TestGetPet(t *testing.T) {
	t.Run("finds a pet by its id alone", func(t *testing.T) {
		srv := fake.NewTestServer(t, fake.WithPets(catalogue(1)...))
		d := viaTransport(t, srv)
		for path, status := range map[string]int{
			"/pets/1": 200, "/pets/2": 404, "/pets/0": 404, "/pets/-1": 404, "/pets/x": 404, "/pets/1.0": 404,
			"/pets/9223372036854775807": 404, "/pets/9223372036854775808": 404, "/pets/": 404, "/pets/1/": 404,
			"/pets/1/x": 404, "/pets/%31": 200, "/pets/1%2F": 404, "/pets/1?x=1": 200,
		} {
			r := d.send(t, request{path: path})
			assert.Equal(t, status, r.status, path)
			if status == http.StatusNotFound {
				assert.Contains(t, r.body, `{"code":"not_found","message":"`)
			}
		}
	})
	t.Run("is removed if the Behavior says so", func(t *testing.T) {
		for removal, status := range map[bool]int{false: http.StatusOK, true: http.StatusNotFound} {
			srv := fake.NewTestServer(t, fake.WithPets(catalogue(1)...),
				fake.WithBehavior(fake.Behavior{Removal: removal}),
				fake.WithClock(func() time.Time { return time.Date(2030, 12, 4, 23, 59, 59, 0, time.UTC) }))
			d := viaTransport(t, srv)
			assert.Equal(t, http.StatusOK, d.send(t, request{path: "/pets/1"}).status)
			srv.Advance(time.Second)
			assert.Equal(t, status, d.send(t, request{path: "/pets/1"}).status)
			assert.Equal(t, http.StatusOK, d.list(t).status)
		}
	})
	t.Run("shows its deprecation if the Behavior says so", func(t *testing.T) {
		srv := fake.NewTestServer(t, fake.WithBehavior(fake.Behavior{DeprecationHeaders: true}))
		d := viaTransport(t, srv)
		r := d.send(t, request{path: "/pets/1"})
		assert.Equal(t, "@915148800", r.header.Get("Deprecation"))
		assert.Equal(t, "Thu, 05 Dec 2030 00:00:00 GMT", r.header.Get("Sunset"))
		assert.Equal(t, `</v1/pets>; rel="successor-version"`, r.header.Get("Link"))
		assert.Empty(t, d.list(t).header.Get("Sunset"))
	})
}
