package openapi

import (
	"bufio"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/conformance"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformanceRunKeepsToTheDocument(t *testing.T) {
	srv := fake.NewTestServer(t)
	v := newValidator(t, srv.HTTPClient().Transport)
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
	v := newValidator(t, srv.HTTPClient().Transport)
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

// A validator that finds nothing could be broken.
func TestValidator(t *testing.T) {
	const pet, refusal = `{"id":1,"name":"Mia","categoryId":3}`, `{"code":"c","message":"m","status":404}`
	const limited = `{"code":"c","message":"m","status":429}`
	const rateLimit = "X-RateLimit-Limit: 60\nX-RateLimit-Remaining: 59\nX-RateLimit-Reset: 1922400060\n"
	for name, c := range map[string]struct {
		request  string
		status   int
		header   string
		response string
		finds    string // empty: nothing is wrong
	}{
		"all is well":     {"GET /pets", 200, rateLimit, "[" + pet + "]", ""},
		"null for a list": {"GET /pets", 200, rateLimit, "null", "doesn't match schema"},
		"an id with a fraction": {
			"GET /pets/1", 200, rateLimit, strings.Replace(pet, "1", "1.5", 1), "doesn't match schema",
		},
		"an id beyond int64": {
			"GET /pets/1", 200, rateLimit, strings.Replace(pet, "1", "9223372036854775808", 1), "out of range",
		},
		"an unknown status": {
			"GET /pets/1", 200, rateLimit, strings.Replace(pet, "}", `,"status":"lost"}`, 1), "doesn't match schema",
		},
		"400 for a good animal": {
			`POST /pets {"name":"Mia","categoryId":3}`, 400, rateLimit, refusal, "the request is valid",
		},
		"401 to a good key": {"GET /pets", 401, rateLimit, refusal, "does not fit the key"},
		"no limit":          {"GET /pets", 200, "", "[]", "X-RateLimit-Limit"},
		"limit too high":    {"GET /pets?limit=101", 200, rateLimit, "[]", "limit"},
		"a 429":             {"GET /pets", 429, rateLimit + "Retry-After: 30\n", limited, ""},
		"no Retry-After":    {"GET /pets", 429, rateLimit, limited, "Retry-After"},
		"an unknown path":   {"GET /animals", 404, rateLimit, refusal, "no matching operation"},
	} {
		t.Run(name, func(t *testing.T) {
			v := newValidator(t, transport(func(r *http.Request) (*http.Response, error) {
				return http.ReadResponse(bufio.NewReader(strings.NewReader(fmt.Sprintf(
					"HTTP/1.1 %d \nContent-Type: application/json\n%s\n%s", c.status, c.header, c.response))), r)
			}))
			method, rest, _ := strings.Cut(c.request, " ")
			path, body, _ := strings.Cut(rest, " ")
			r, err := http.NewRequestWithContext(t.Context(), method, baseURL+path, strings.NewReader(body))
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

// transport is a service as a function.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }
