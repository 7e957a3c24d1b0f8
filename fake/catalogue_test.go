package fake_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestCatalogue(t *testing.T) {
	t.Run("methods read and change it without requests", func(t *testing.T) {
		srv := fake.NewTestServer(t)
		assert.NotNil(t, srv.Pets())
		rex := srv.AddPet(petstore.NewPet{Name: "Rex", CategoryID: 3, Status: "reserved"})
		assert.Equal(t, petstore.Pet{ID: 1, Name: "Rex", CategoryID: 3, Status: "reserved"}, rex)
		assert.True(t, srv.SetStatus(1, petstore.PetStatusSold))
		got, ok := srv.Pet(1)
		assert.True(t, ok)
		assert.Equal(t, petstore.PetStatusSold, got.Status)
		assert.False(t, srv.SetStatus(2, petstore.PetStatusSold))
		assert.True(t, srv.DeletePet(1))
		assert.False(t, srv.DeletePet(1))
		_, ok = srv.Pet(1)
		assert.False(t, ok)
		assert.Empty(t, srv.Pets())
		for _, id := range []int64{0, -1, 1 << 62, -1 << 63} {
			_, ok = srv.Pet(id)
			assert.False(t, ok)
			assert.False(t, srv.DeletePet(id))
		}
		assert.Empty(t, srv.Requests())
	})
	t.Run("the id of a deleted pet is not given out again", func(t *testing.T) {
		srv := fake.NewTestServer(t, fake.WithPets(catalogue(3)...))
		srv.DeletePet(3)
		srv.SetStatus(1, petstore.PetStatusSold)
		assert.Equal(t, []int64{1}, viaMemory(t, srv).send(t, request{path: "/pets?status=sold"}).ids(t))
		assert.Equal(t, int64(4), srv.AddPet(petstore.NewPet{Name: "Rex"}).ID)
		assert.JSONEq(t, `{"id":5,"name":"Max","categoryId":1}`, viaMemory(t, srv).send(t, create("Max")).body)
	})
}

func TestReset(t *testing.T) {
	srv, d := open(t, fake.WithPets(catalogue(2)...), fake.WithPlan(fake.Plan{PerMinute: 1}))
	srv.AddKey("another-key", fake.PlanPro)
	srv.RevokeKey("another-key")
	srv.DeletePet(1)
	srv.AddPet(petstore.NewPet{Name: "Rex"})
	d.admitted(t)
	srv.BanKey(srv.APIKey(), 1<<60)
	never := srv.Inject(fake.Fault{Status: 500, Operation: petstore.OpCreatePet})
	d.send(t, request{path: "/pets/1"})
	before := srv.Now()

	srv.Reset()

	assert.Empty(t, srv.Requests())
	assert.Empty(t, srv.Violations())
	assert.Len(t, srv.Pets(), 2)
	assert.Equal(t, int64(3), srv.AddPet(petstore.NewPet{Name: "Rex"}).ID)
	assert.Zero(t, srv.Usage(srv.APIKey()).Limited)
	assert.Zero(t, srv.Usage(srv.APIKey()).BannedUntil)
	assert.Equal(t, 201, d.send(t, create("Max")).status)
	assert.Zero(t, never.Fired())
	assert.Equal(t, 1, srv.Requests()[0].Seq)
	assert.Equal(t, 401, d.send(t, request{path: "/pets", auth: "Bearer another-key"}).status)
	assert.False(t, srv.Now().Before(before))
}
