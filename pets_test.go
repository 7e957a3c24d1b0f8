package petstore_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/golden"
)

func TestRequestGoldenFiles(t *testing.T) {
	for name, call := range map[string]func(*petstore.Client) error{
		"list.request": func(c *petstore.Client) error {
			_, err := c.ListPets(t.Context(), petstore.ListPetsParams{})
			return err
		},
		"list_filtered.request": func(c *petstore.Client) error {
			_, err := c.ListPets(t.Context(), petstore.ListPetsParams{Limit: 100, Status: petstore.PetStatusSold})
			return err
		},
		"create.request": func(c *petstore.Client) error {
			_, err := c.CreatePet(t.Context(), petstore.NewPet{
				Name: "Ünal \"<Rex>\" & \u2028 \\ 🐕\n", CategoryID: -9223372036854775808, Status: petstore.PetStatusPending,
			})
			return err
		},
		"create_minimal.request": func(c *petstore.Client) error {
			_, err := c.CreatePet(t.Context(), petstore.NewPet{Name: "x"})
			return err
		},
		"get.request": func(c *petstore.Client) error {
			_, err := c.GetPet(t.Context(), 9223372036854775807)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, service := scripted(t, []responder{status(404, ``)}, petstore.WithUserAgent("goldens/1"))
			require.Error(t, call(client))
			require.Len(t, service.sent(), 1)
			assert.Equal(t, "Bearer "+testKey, service.sent()[0].header.Get("Authorization"))
			service.sent()[0].header.Set("Authorization", "Bearer …")
			golden.Assert(t, "testdata/"+name, service.sent()[0].dump()+"\n")
		})
	}
}

func TestResult(t *testing.T) {
	list, err := os.ReadFile("testdata/list.response")
	require.NoError(t, err)
	client, _ := scripted(t, []responder{status(200, string(list), "X-Ratelimit-Limit: 60", "X-Ratelimit-Remaining: 59", "X-Ratelimit-Reset: 1795262400", "X-Other: y")})
	result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	assert.Equal(t, []petstore.Pet{
		{ID: 9223372036854775807, Name: "Ünal \"<Rex>\" & \u2028 \\ 🐕\n", CategoryID: -9223372036854775808, Status: petstore.PetStatusPending},
		{ID: 0, Name: "", CategoryID: 0},
		{ID: -1, Name: "Ada", CategoryID: 1, Status: "adopted"},
	}, result.Pets)
	assert.Equal(t, 200, result.StatusCode)
	assert.Equal(t, 1, result.Attempts)
	assert.Equal(t, "y", result.Header.Get("X-Other"))
	assert.Equal(t, 59, result.RateLimit.Remaining)
	assert.False(t, result.Pets[2].Status.Valid(), "an unknown status is returned unchanged")

	client, _ = scripted(t, []responder{status(201, onePet)})
	created, err := client.CreatePet(t.Context(), newPet())
	require.NoError(t, err)
	assert.Equal(t, petstore.Pet{ID: 7, Name: "Rex", CategoryID: 3, Status: "available"}, created.Pet)

	client, _ = scripted(t, []responder{status(200, onePet)})
	got, err := client.GetPet(t.Context(), 7)
	require.NoError(t, err)
	assert.Equal(t, created.Pet, got.Pet)
}

func TestListPetsEmpty(t *testing.T) {
	client, _ := scripted(t, []responder{status(200, `[]`)})
	result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	assert.NotNil(t, result.Pets)
	assert.Empty(t, result.Pets)
}

func TestArgumentError(t *testing.T) {
	client, service := scripted(t, []responder{status(200, `[]`)})
	list := func(p petstore.ListPetsParams) error {
		_, err := client.ListPets(t.Context(), p)
		return err
	}
	create := func(p petstore.NewPet) error {
		_, err := client.CreatePet(t.Context(), p)
		return err
	}
	for _, c := range []struct {
		argument string
		err      error
	}{
		{"Limit", list(petstore.ListPetsParams{Limit: 101})},
		{"Limit", list(petstore.ListPetsParams{Limit: -1})},
		{"Status", list(petstore.ListPetsParams{Status: "adopted"})},
		{"Status", list(petstore.ListPetsParams{Status: "Available"})},
		{"Name", create(petstore.NewPet{})},
		{"Name", create(petstore.NewPet{Name: "a\xffb"})},
		{"Status", create(petstore.NewPet{Name: "x", Status: "adopted"})},
	} {
		e, ok := errors.AsType[*petstore.ArgumentError](c.err)
		require.True(t, ok, "%T", c.err)
		assert.Equal(t, c.argument, e.Argument)
	}
	assert.Empty(t, service.sent())
}

func TestNilArguments(t *testing.T) {
	client, service := scripted(t, []responder{status(200, `[]`)})
	var none context.Context
	_, err := client.ListPets(none, petstore.ListPetsParams{})
	assert.EqualError(t, err, "petstore: listPets: ctx: is nil")
	_, err = client.CreatePet(none, newPet())
	assert.EqualError(t, err, "petstore: createPet: ctx: is nil")
	_, err = client.GetPet(none, 1)
	assert.EqualError(t, err, "petstore: getPet: ctx: is nil")
	_, err = client.ListPets(t.Context(), petstore.ListPetsParams{}, nil)
	assert.EqualError(t, err, "petstore: listPets: option 1: is nil")
	for _, client := range []*petstore.Client{nil, {}} {
		_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
		assert.EqualError(t, err, "petstore: listPets: Client: was not made by NewClient")
	}
	assert.Empty(t, service.sent())
}

func TestPetStatuses(t *testing.T) {
	statuses := petstore.PetStatuses()
	assert.Equal(t, []petstore.PetStatus{"available", "pending", "sold"}, statuses)
	for _, s := range statuses {
		assert.True(t, s.Valid())
	}
	statuses[0] = "lost"
	assert.True(t, petstore.PetStatuses()[0].Valid(), "the caller may change the result")
}

func TestGetPetWithOtherID(t *testing.T) {
	t.Parallel()
	client, _ := scripted(t, []responder{status(200, onePet)})
	_, err := client.GetPet(t.Context(), 8)
	require.ErrorIs(t, err, petstore.ErrInvalidResponse)
	assert.ErrorContains(t, err, "id is 7 instead of 8")
}

func TestWithRawBody(t *testing.T) {
	const body = `{"id":7,"name":"Rex","categoryId":3,"tag":"good"}`
	client, _ := scripted(t, []responder{status(200, body), status(200, body)})
	result, err := client.GetPet(t.Context(), 7, petstore.WithRawBody())
	require.NoError(t, err)
	assert.JSONEq(t, body, string(result.RawBody))
	result, err = client.GetPet(t.Context(), 7)
	require.NoError(t, err)
	assert.Nil(t, result.RawBody)
}

func TestResponseDeprecation(t *testing.T) {
	client, _ := scripted(t, []responder{
		status(200, onePet, "Deprecation: @1764547200", "Sunset: Thu, 05 Dec 2030 00:00:00 GMT", `Link: <https://x.test>; rel="sunset"`),
		status(200, onePet, "Deprecation: soon"),
	})
	result, err := client.GetPet(t.Context(), 7)
	require.NoError(t, err)
	d, ok := result.Deprecation()
	assert.True(t, ok)
	assert.Equal(t, petstore.Deprecation{
		At: time.Date(2025, 12, 1, 0, 0, 0, 0, time.UTC), Sunset: time.Date(2030, 12, 5, 0, 0, 0, 0, time.UTC),
		Link: `<https://x.test>; rel="sunset"`,
	}, d)
	result, err = client.GetPet(t.Context(), 7)
	require.NoError(t, err)
	_, ok = result.Deprecation()
	assert.False(t, ok)
}
