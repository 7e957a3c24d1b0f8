package fakecontrol

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestKeys(t *testing.T) {
	srv := fake.NewTestServer(t, fake.WithKey("second-key", fake.PlanFree))
	_, err := srv.Client().ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	srv.RevokeKey("second-key")
	keys := Of(srv).Keys()
	require.Len(t, keys, 2)
	assert.Equal(t, 1, keys[0].Number)
	assert.Equal(t, fake.DefaultAPIKey, keys[0].APIKey)
	assert.Equal(t, 1, keys[0].Minute)
	assert.Equal(t, "second-key", keys[1].APIKey)
	assert.True(t, keys[1].Revoked)
	assert.True(t, Of(srv).Revoked("gone by a Restart"))
}

func TestParsePlan(t *testing.T) {
	plans := []fake.Plan{fake.PlanFree, fake.PlanPro, fake.PlanBusiness}
	for i, limits := range [][]int{{60, 1_000}, {300, 10_000}, {1_000, 100_000}} { // section 8.1
		assert.Equal(t, limits, []int{plans[i].PerMinute, plans[i].PerDay})
	}
	for _, p := range append(plans, fake.Enterprise(0, 7)) {
		parsed, err := ParsePlan(p.String())
		require.NoError(t, err)
		assert.Equal(t, p, parsed)
	}
	for _, text := range []string{"", "no-such-plan", "enterprise", "enterprise:", "enterprise:5", "enterprise:-1,5", "enterprise:1,x", "enterprise:1,2x", "enterprise:1,2;"} {
		_, err := ParsePlan(text)
		assert.Error(t, err, text)
	}
}

func TestNames(t *testing.T) {
	assert.Equal(t, "free, pro, business or enterprise:M,D", PlanNames())
	assert.Contains(t, Operations(), petstore.OpCreatePet)
	assert.Equal(t, fake.WireNone, Wires()[0])
	assert.NotEmpty(t, Rules())
}
