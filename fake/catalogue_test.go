package fake_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestCatalogue(t *testing.T) {
	srv := fake.NewTestServer(t)
	assert.NotNil(t, srv.Pets())
	rex := srv.AddPet(petstore.NewPet{Name: "Rex", CategoryID: 3, Status: "reserved"})
	assert.Equal(t, petstore.Pet{ID: 1, Name: "Rex", CategoryID: 3, Status: "reserved"}, rex)
	got, ok := srv.Pet(1)
	assert.True(t, ok)
	assert.Equal(t, rex, got)
	for _, id := range []int64{2, 0, -1, 1 << 62, -1 << 63} {
		_, ok = srv.Pet(id)
		assert.False(t, ok)
	}
	assert.Empty(t, srv.Requests())
}
