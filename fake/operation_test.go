package fake_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// The server takes paths as they are, segment by segment. Each refusal has an Error object.
func TestRoutes(t *testing.T) {
	srv := open(t, fake.WithPets(catalogue(2)...))
	for target, status := range map[string]int{
		"GET /pets": 200, "GET /pets?x=/": 200, "GET /p%65ts": 200, "GET /pets/%31": 200, "GET /pets/1?x=1": 200,
		"HEAD /pets": 200, "PUT /pets": 405, "PATCH /pets/1": 405, "get /pets": 405, "POST /pets/1": 405,
		"GET /pets/": 404, "GET /pets/1/": 404, "GET /pets/1/x": 404, "GET //pets": 404, "GET /../v1/pets": 404,
		"GET /Pets": 404, "GET /pets%2F1": 404, "GET /pets/1%2F2": 404, "GET /pets/..": 404, "GET /": 404,
		"GET /pets/3": 404, "GET /pets/0": 404, "GET /pets/-9223372036854775808": 404, "GET /pets/1.0": 404,
		"GET /pets/ü": 404, "GET /pets/99999999999999999999": 404,
	} {
		method, path, _ := strings.Cut(target, " ")
		r := srv.send(t, request{method: method, path: path})
		assert.Equal(t, status, r.status, target)
		assert.Equal(t, status == 405, strings.HasPrefix(r.header.Get("Allow"), "GET"), target)
		assert.Equal(t, "application/json", r.header.Get("Content-Type"))
		if status >= 400 && method != http.MethodHead {
			assert.Regexp(t, `^{"code":"[a-z_]+","message":".+","status":`+strconv.Itoa(status)+`}$`, r.body, target)
		}
	}
}

// catalogue returns n pets, whose statuses alternate.
func catalogue(n int) []petstore.NewPet {
	statuses := []petstore.PetStatus{"available", "pending", "sold", ""}
	pets := make([]petstore.NewPet, n)
	for i := range pets {
		pets[i] = petstore.NewPet{Name: "pet-" + strconv.Itoa(i+1), CategoryID: int64(i), Status: statuses[i%4]}
	}
	return pets
}

func TestListPets(t *testing.T) {
	t.Run("treats invalid parameters as the Behavior says", func(t *testing.T) {
		for query, ignored := range map[string]int{ // number of pets if the parameter is ignored; 0 if it is always refused
			"limit=0": 20, "limit=101": 20, "limit=99999999999999999999": 20, "limit=ten": 20, "limit=": 20,
			"status=": 20, "status=SOLD": 20, "limit=3&status=lost": 3,
			"limit=7&limit=8": 0, "status=sold&status=sold": 0, "limit=%zz": 0,
		} {
			for _, ignore := range []bool{false, true} {
				srv := open(t, fake.WithPets(catalogue(90)...), fake.WithBehavior(fake.Behavior{IgnoreInvalid: ignore}))
				r := srv.send(t, request{path: "/pets?" + query})
				if ignore && ignored > 0 {
					assert.Equal(t, ignored, strings.Count(r.body, `"id":`), query)
				} else {
					assert.Equal(t, http.StatusBadRequest, r.status, query)
					assert.Regexp(t, `^listPets: .* \(section 4.1\)$`, srv.Requests()[0].Hint)
				}
			}
		}
	})
	t.Run("has the order of the Behavior", func(t *testing.T) {
		list := func(order fake.Order, query petstore.ListPetsParams) (ids []int64) {
			behavior := fake.WithBehavior(fake.Behavior{Order: order})
			srv := open(t, fake.WithPets(catalogue(50)...), fake.WithSeed(7), behavior)
			listed, err := srv.Client().ListPets(t.Context(), query)
			require.NoError(t, err)
			for _, p := range listed.Pets {
				ids = append(ids, p.ID)
			}
			return ids
		}
		some, all := petstore.ListPetsParams{Limit: 3, Status: "available"}, petstore.ListPetsParams{Limit: 100}
		assert.Equal(t, []int64{49, 45, 41}, list(fake.OrderDescending, some))
		shuffled := list(fake.OrderShuffled, petstore.ListPetsParams{})
		assert.NotSubset(t, list("", petstore.ListPetsParams{}), shuffled)
		assert.Equal(t, shuffled, list(fake.OrderShuffled, petstore.ListPetsParams{}), "the seed decides")
		assert.ElementsMatch(t, list("", all), list(fake.OrderShuffled, all))
	})
}

func TestCatalogue(t *testing.T) {
	srv := fake.NewTestServer(t, fake.WithBehavior(fake.Behavior{DefaultStatus: "pending"}))
	assert.NotNil(t, srv.Pets())
	srv.AddPet(petstore.NewPet{Name: "Rex", CategoryID: 3, Status: "reserved"})
	assert.EqualValues(t, "pending", srv.AddPet(petstore.NewPet{Name: "Max"}).Status)
	rex, _ := srv.Pet(1)
	assert.Equal(t, petstore.Pet{ID: 1, Name: "Rex", CategoryID: 3, Status: "reserved"}, rex)
}

func TestGetPet(t *testing.T) {
	for chosen, status := range map[bool]int{false: http.StatusOK, true: http.StatusNotFound} {
		inBubble(t, "is deprecated and removed if the Behavior says so", func(t *testing.T, srv server) {
			srv.Advance(time.Until(time.Date(2030, 12, 5, 0, 0, 0, 0, time.UTC)) - 1)
			r := srv.send(t, request{path: "/pets/1"})
			assert.Equal(t, http.StatusOK, r.status)
			for name, value := range map[string]string{
				"Deprecation": "@915148800", "Sunset": "Thu, 05 Dec 2030 00:00:00 GMT",
				"Link": `</v1/pets>; rel="successor-version"`,
			} {
				assert.Equal(t, map[bool]string{true: value}[chosen], r.header.Get(name))
				assert.Empty(t, srv.list(t).header.Get(name))
			}
			srv.Advance(1)
			assert.Equal(t, status, srv.send(t, request{path: "/pets/1"}).status)
		}, fake.WithPets(catalogue(1)...), fake.WithBehavior(fake.Behavior{Removal: chosen, DeprecationHeaders: chosen}))
	}
}

func TestCreatePet(t *testing.T) {
	inBubble(t, "refuses bodies that the document rules out, and says why", func(t *testing.T, srv server) {
		long := strings.Repeat("x", 63) + "ж"
		for body, reason := range map[string]string{
			``: "is not JSON", ` `: "is not JSON", `{"name":"Rex","categoryId":1} {}`: "is not JSON",
			"{\"name\":\"R\xffx\"}":                           "is not JSON: jsontext: invalid UTF-8",
			`{"name":"Rex","n\u0061me":"Max","categoryId":1}`: `duplicate object member name`,
			`[]`: "the request body has the wrong type", `17`: "the request body has the wrong type", `null`: "field name is missing",
			`{"name":"","categoryId":1}`:                            "field name is missing or empty",
			`{"Name":"Rex","categoryId":1}`:                         "field name is missing",
			`{"name":"Rex","categoryId":null}`:                      "field categoryId is missing",
			`{"name":7,"categoryId":1}`:                             "name has the wrong type",
			`{"name":"Rex","categoryId":1.0}`:                       "categoryId has the wrong type",
			`{"name":"Rex","categoryId":1,"status":1}`:              "status has the wrong type",
			`{"name":"Rex","categoryId":1,"status":null}`:           `status is \"\"`,
			`{"name":"Rex","categoryId":1,"status":"` + long + `"}`: `status is \"` + long[:63] + `…\"; it must be`,
		} {
			r := srv.send(t, request{method: http.MethodPost, path: "/pets", body: body})
			assert.Regexp(t, `^{"code":"invalid_request","message":"createPet: .* \(section 4.2\)","status":400}$`, r.body)
			assert.Contains(t, r.body, reason, body)
		}
		assert.Empty(t, srv.Pets())
	})
	inBubble(t, "takes no media type but JSON, and says so", func(t *testing.T, srv server) {
		for message, header := range map[string]http.Header{
			`the Content-Type is \"\"; it must be application/json`:          {"Content-Type": nil},
			`the Content-Type is \"text/json\"; it must be application/json`: {"Content-Type": {"text/json"}},
			`json; charset\"; it must be application/json`:                   {"Content-Type": {"application/json; charset"}},
			`"name":"Rex"`: {"Content-Type": {"Application/JSON"}},
		} {
			q := create("Rex")
			q.header = header
			assert.Contains(t, srv.send(t, q).body, message)
		}
	})
	inBubble(t, "refuses a body over 1 MiB", func(t *testing.T, srv server) {
		whole := 1<<20 - len(create("").body)
		for name, status := range map[int]int{whole: http.StatusCreated, whole + 1: 400} {
			r := srv.send(t, create(strings.Repeat("x", name)))
			assert.Equal(t, status, r.status)
			assert.Equal(t, status == 400, strings.Contains(r.body, "request body too large; it may have 1 MiB"))
			assert.Len(t, srv.last(t).Body, 64<<10)
			assert.LessOrEqual(t, len(srv.last(t).ResponseBody), 64<<10)
		}
		assert.Equal(t, 2, srv.Usage(srv.APIKey()).Minute, "a body that is too large counts")
	})
}
