package fake_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestVariants(t *testing.T) {
	t.Run("the first is the default, and no two have one name", func(t *testing.T) {
		var names []string
		for range 2 {
			for name := range fake.Variants() {
				names = append(names, name)
			}
		}
		half := len(names) / 2
		assert.Equal(t, names[:half], names[half:], "in every run")
		assert.Equal(t, "default", names[0])
		assert.Less(t, half, 20)
		assert.Len(t, slices.Compact(slices.Sorted(slices.Values(names))), half)
		for range fake.Variants() {
			break
		}
	})
	t.Run("a client works with each", func(t *testing.T) {
		for name, variant := range fake.Variants() {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					srv := fake.NewTestServer(t, variant, fake.WithPlan(fake.Plan{PerMinute: 5}), fake.WithPets(catalogue(3)...))
					client := srv.Client(petstore.WithCallTimeout(time.Hour))
					for range 12 {
						result, err := client.ListPets(t.Context(), petstore.ListPetsParams{Limit: 2})
						require.NoError(t, err)
						assert.Len(t, result.Pets, 2)
					}
					assert.NotContains(t, rules(srv), fake.RuleEarlyRetry)
					assert.NotContains(t, rules(srv), fake.RuleBanProvoked)
				})
			})
		}
	})
}
