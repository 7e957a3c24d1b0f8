package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPets(t *testing.T) {
	t.Parallel()
	t.Run("are added and listed", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t)
		assert.EqualValues(t, 1, i.object("POST", "/_fake/pets", `{"name":"Rex","categoryId":9223372036854775807}`)["id"])
		assert.Contains(t, i.call("GET", "/v1/pets", "").Body.String(), "9223372036854775807")
		i.object("POST", "/_fake/pets", `{"name":"Mimi","categoryId":1,"status":"sold"}`)
		i.object("POST", "/_fake/pets", `{"name":"Coco","categoryId":1,"status":"sold"}`)

		all := i.object("GET", "/_fake/pets", "")
		assert.EqualValues(t, 3, all["total"])
		assert.Equal(t, "Coco", list(t, all, "pets")[2]["name"])
	})
	t.Run("are added all or none", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t)
		added := i.object("POST", "/_fake/pets", ` [{"name":"Rex","categoryId":1},{"name":"Mimi","categoryId":2,"status":"sold"}]`)
		pets := list(t, added, "pets")
		require.Len(t, pets, 2)
		assert.EqualValues(t, 2, pets[1]["id"])
		assert.Equal(t, "sold", pets[1]["status"])
		assert.Equal(t, 400, i.status("POST", "/_fake/pets", `[{"name":"a","categoryId":1},{"name":""}]`))
		assert.Len(t, i.srv.Pets(), 2, "all or none")
	})
	t.Run("escape names", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t)
		i.object("POST", "/_fake/pets", `{"name":"<img src=x onerror=alert(1)>","categoryId":1}`)
		assert.NotContains(t, i.call("GET", "/_fake/pets", "").Body.String(), "<img")
	})
}
