package openapi

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/conformance"
)

func TestConformanceRunKeepsToTheDocument(t *testing.T) {
	srv := fake.NewTestServer(t)
	v := newValidator(t, srv.Transport())
	conformance.Run(t, conformance.Target{
		BaseURL: baseURL, APIKey: srv.APIKey(), HTTPClient: &http.Client{Transport: v},
	})
	assert.Empty(t, v.verdicts)
	assert.Equal(t, []string{
		"createPet 201", "createPet 400", "createPet 401", "getPet 200", "getPet 401", "getPet 404",
		"listPets 200", "listPets 401",
	}, slices.Sorted(maps.Keys(v.seen)))
}

func TestClientKeepsToTheDocument(t *testing.T) {
	srv := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(5, 0)))
	v := newValidator(t, srv.Transport())
	ctx := t.Context()
	client := connect(t, v, srv.APIKey())

	created, err := client.CreatePet(ctx, petstore.NewPet{Name: "Mia", CategoryID: 1 << 62, Status: petstore.PetStatusSold})
	require.NoError(t, err)
	_, err = client.CreatePet(ctx, petstore.NewPet{Name: "Rex"})
	require.NoError(t, err)
	_, err = client.ListPets(ctx, petstore.ListPetsParams{Limit: 100, Status: petstore.PetStatusSold})
	require.NoError(t, err)
	_, err = client.GetPet(ctx, created.Pet.ID) //nolint:staticcheck // deprecated, and documented
	require.NoError(t, err)
	_, err = client.GetPet(ctx, 4711) //nolint:staticcheck // as above
	require.ErrorIs(t, err, petstore.ErrNotFound)
	// Another client knows nothing about the requests of this one.
	_, err = connect(t, v, srv.APIKey()).ListPets(ctx, petstore.ListPetsParams{})
	require.ErrorIs(t, err, petstore.ErrRateLimited)
	_, err = connect(t, v, "no-such-key").ListPets(ctx, petstore.ListPetsParams{})
	require.ErrorIs(t, err, petstore.ErrUnauthorized)

	assert.Empty(t, v.verdicts)
	assert.Equal(t, map[string]int{
		"createPet 201": 2, "listPets 200": 1, "getPet 200": 1, "getPet 404": 1, "listPets 429": 1, "listPets 401": 1,
	}, v.seen)
}

// connect returns a client that goes through the validator and never waits.
func connect(t *testing.T, v *validator, key string) *petstore.Client {
	t.Helper()
	client, err := petstore.NewClient(baseURL, key,
		petstore.WithHTTPClient(&http.Client{Transport: v}), petstore.WithMaxWait(0))
	require.NoError(t, err)
	return client
}

// replay is a service that gives one answer.
type replay struct {
	status int
	header http.Header
	body   string
}

func (r replay) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: r.status, Header: r.header, Body: io.NopCloser(bytes.NewReader([]byte(r.body))),
	}, nil
}

func rateLimited(more ...string) http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("X-RateLimit-Limit", "60")
	h.Set("X-RateLimit-Remaining", "59")
	h.Set("X-RateLimit-Reset", "1922400060")
	for i := 0; i+1 < len(more); i += 2 {
		h.Del(more[i])
		if more[i+1] != "" {
			h.Set(more[i], more[i+1])
		}
	}
	return h
}

// A validator that finds nothing could be broken.
func TestValidator(t *testing.T) {
	const pet, refusal = `{"id":1,"name":"Mia","categoryId":3}`, `{"code":"c","message":"m","status":404}`
	const limited = `{"code":"c","message":"m","status":429}`
	for name, c := range map[string]struct {
		method, path, body string
		answer             replay
		finds              string // empty: nothing is wrong
	}{
		"all is well":     {"GET", "/pets", "", replay{200, rateLimited(), "[" + pet + "]"}, ""},
		"null for a list": {"GET", "/pets", "", replay{200, rateLimited(), "null"}, "doesn't match schema"},
		"an id with a fraction": {
			"GET", "/pets/1", "", replay{200, rateLimited(), strings.Replace(pet, "1", "1.5", 1)}, "doesn't match schema",
		},
		"an id beyond int64": {
			"GET", "/pets/1", "", replay{200, rateLimited(), strings.Replace(pet, "1", "9223372036854775808", 1)}, "out of range",
		},
		"an unknown status": {
			"GET", "/pets/1", "",
			replay{200, rateLimited(), `{"id":1,"name":"Mia","categoryId":3,"status":"lost"}`},
			"doesn't match schema",
		},
		"400 for a good animal": {
			"POST", "/pets", `{"name":"Mia","categoryId":3}`, replay{400, rateLimited(), refusal}, "the request is valid",
		},
		"401 to a good key": {"GET", "/pets", "", replay{401, rateLimited(), refusal}, "does not fit the key"},
		"no limit":          {"GET", "/pets", "", replay{200, rateLimited("X-RateLimit-Limit", ""), "[]"}, "X-RateLimit-Limit"},
		"limit too high":    {"GET", "/pets?limit=101", "", replay{200, rateLimited(), "[]"}, "limit"},
		"a 429":             {"GET", "/pets", "", replay{429, rateLimited("Retry-After", "30"), limited}, ""},
		"no Retry-After":    {"GET", "/pets", "", replay{429, rateLimited(), limited}, "Retry-After"},
		"an unknown path":   {"GET", "/animals", "", replay{404, rateLimited(), refusal}, "no matching operation"},
	} {
		t.Run(name, func(t *testing.T) {
			v := newValidator(t, c.answer)
			r, err := http.NewRequestWithContext(t.Context(), c.method, baseURL+c.path, strings.NewReader(c.body))
			require.NoError(t, err)
			r.Header.Set("Authorization", "Bearer "+fake.DefaultAPIKey)
			r.Header.Set("Content-Type", "application/json")
			resp, err := v.RoundTrip(r)
			require.NoError(t, err)
			_ = resp.Body.Close()
			if c.finds == "" {
				assert.Empty(t, v.verdicts)
				return
			}
			require.Len(t, v.verdicts, 1)
			assert.ErrorContains(t, v.verdicts[0], c.finds)
		})
	}
}
