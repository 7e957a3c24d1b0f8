package fake_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// catalogue returns n pets, whose statuses alternate.
func catalogue(n int) []petstore.NewPet {
	statuses := []petstore.PetStatus{
		petstore.PetStatusAvailable, petstore.PetStatusPending, petstore.PetStatusSold, "",
	}
	pets := make([]petstore.NewPet, n)
	for i := range pets {
		pets[i] = petstore.NewPet{
			Name: "pet-" + strconv.Itoa(i+1), CategoryID: int64(i), Status: statuses[i%len(statuses)],
		}
	}
	return pets
}

// ids reads the ids of a list.
func (r reply) ids(t *testing.T) []int64 {
	t.Helper()
	require.Equal(t, http.StatusOK, r.status, r.body)
	var pets []struct{ ID int64 }
	require.NoError(t, json.Unmarshal([]byte(r.body), &pets))
	ids := make([]int64, len(pets))
	for i, p := range pets {
		ids[i] = p.ID
	}
	return ids
}

func TestListPets(t *testing.T) {
	t.Run("treats invalid parameters as the Behavior says", func(t *testing.T) {
		for query, ignored := range map[string]int{ // the number of pets, if it may be ignored
			"limit=0": 20, "limit=101": 20, "limit=99999999999999999999": 20, "limit=ten": 20, "limit=005": 20, "limit=": 20,
			"status=lost": 20, "status=": 20, "status=SOLD": 20, "limit=3&status=lost": 3,
			"limit=7&limit=8": 0, "status=sold&status=sold": 0, "limit=%zz": 0,
		} {
			for _, ignore := range []bool{false, true} {
				srv, d := open(t, fake.WithPets(catalogue(150)...), fake.WithBehavior(fake.Behavior{IgnoreInvalid: ignore}))
				r := d.send(t, request{path: "/pets?" + query})
				if ignore && ignored > 0 {
					assert.Len(t, r.ids(t), ignored, query)
				} else {
					assert.Equal(t, http.StatusBadRequest, r.status, query)
					assert.Regexp(t, `^listPets: .* \(section 4.1\)$`, srv.Requests()[0].Hint)
				}
			}
		}
	})
	t.Run("has the order of the Behavior", func(t *testing.T) {
		list := func(order fake.Order, path string) []int64 {
			srv := fake.NewTestServer(t, fake.WithPets(catalogue(50)...), fake.WithSeed(7),
				fake.WithBehavior(fake.Behavior{Order: order}))
			return viaMemory(t, srv).send(t, request{path: path}).ids(t)
		}
		assert.Equal(t, []int64{50, 49, 48}, list(fake.OrderDescending, "/pets?limit=3"))
		assert.Equal(t, []int64{49, 45, 41}, list(fake.OrderDescending, "/pets?limit=3&status=available"))
		shuffled := list(fake.OrderShuffled, "/pets?limit=20")
		assert.Len(t, shuffled, 20)
		assert.NotSubset(t, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}, shuffled)
		assert.Equal(t, shuffled, list(fake.OrderShuffled, "/pets?limit=20"), "the seed decides")
		all := list(fake.OrderShuffled, "/pets?limit=100")
		assert.ElementsMatch(t, list("", "/pets?limit=100"), all)
	})
}

func TestCatalogue(t *testing.T) {
	srv := fake.NewTestServer(t)
	assert.NotNil(t, srv.Pets())
	rex := srv.AddPet(petstore.NewPet{Name: "Rex", CategoryID: 3, Status: "reserved"})
	assert.Equal(t, petstore.Pet{ID: 1, Name: "Rex", CategoryID: 3, Status: "reserved"}, rex)
	for _, id := range []int64{1, 2, 0, -1, 1 << 62, -1 << 63} {
		pet, found := srv.Pet(id)
		assert.Equal(t, id == 1, found)
		assert.Equal(t, found, pet == rex)
	}
	srv.Pets()[0].Name = "Max"
	assert.Equal(t, []petstore.Pet{rex}, srv.Pets(), "the result is the caller's own")
}

// A list must not take longer for a larger catalogue, with or without a status that few pets have.
func TestListPetsCost(t *testing.T) {
	cost := func(pets int, order fake.Order, query string) uint64 {
		srv := fake.NewTestServer(t, fake.WithPlan(fake.Plan{}), fake.WithJournal(0), fake.WithBehavior(fake.Behavior{Order: order}))
		for range pets {
			srv.AddPet(petstore.NewPet{Name: "Rex", Status: petstore.PetStatusAvailable})
		}
		srv.AddPet(petstore.NewPet{Name: "Max", Status: petstore.PetStatusSold})
		r := request{path: "/pets" + query}.build(t, "http://service.test/v1")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 10 {
			srv.ServeHTTP(httptest.NewRecorder(), r)
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / 10
	}
	for _, order := range []fake.Order{"", fake.OrderDescending, fake.OrderShuffled} {
		for _, query := range []string{"", "?status=sold"} {
			small, large := cost(100, order, query), cost(50_000, order, query)
			assert.Less(t, large, 2*small+20_000, "%s %s: bytes of a list of 20 from 100 pets: %d", order, query, small)
		}
	}
}

func TestGetPet(t *testing.T) {
	t.Run("is removed if the Behavior says so", func(t *testing.T) {
		for removal, status := range map[bool]int{false: http.StatusOK, true: http.StatusNotFound} {
			srv, d := open(t, fake.WithPets(catalogue(1)...), fake.WithBehavior(fake.Behavior{Removal: removal}))
			srv.Advance(time.Until(time.Date(2030, 12, 4, 23, 0, 0, 0, time.UTC)))
			assert.Equal(t, http.StatusOK, d.send(t, request{path: "/pets/1"}).status)
			srv.Advance(time.Hour)
			assert.Equal(t, status, d.send(t, request{path: "/pets/1"}).status)
			assert.Equal(t, http.StatusOK, d.list(t).status)
		}
	})
	t.Run("shows its deprecation if the Behavior says so", func(t *testing.T) {
		_, d := open(t, fake.WithBehavior(fake.Behavior{DeprecationHeaders: true}))
		r := d.send(t, request{path: "/pets/1"})
		assert.Equal(t, "@915148800", r.header.Get("Deprecation"))
		assert.Equal(t, "Thu, 05 Dec 2030 00:00:00 GMT", r.header.Get("Sunset"))
		assert.Equal(t, `</v1/pets>; rel="successor-version"`, r.header.Get("Link"))
		assert.Empty(t, d.list(t).header.Get("Sunset"))
	})
}
