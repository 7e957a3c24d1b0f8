package fake_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestVariants(t *testing.T) {
	t.Run("the first is the default, and no two have one name", func(t *testing.T) {
		var names []string
		for name, variant := range fake.Variants() {
			assert.NotNil(t, variant)
			assert.NotContains(t, names, name)
			names = append(names, name)
		}
		assert.Equal(t, "default", names[0])
		assert.Less(t, len(names), 20)
		var again []string
		for name := range fake.Variants() {
			again = append(again, name)
		}
		assert.Equal(t, names, again)
		for range fake.Variants() {
			break
		}
	})
	t.Run("a client works with each", func(t *testing.T) {
		for name, variant := range fake.Variants() {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					srv := fake.NewTestServer(t, variant, fake.WithPlan(fake.Enterprise(5, 0)), fake.WithPets(catalogue(3)...))
					client := srv.Client()
					for range 12 {
						result, err := client.ListPets(t.Context(), petstore.ListPetsParams{Limit: 2})
						require.NoError(t, err)
						assert.Len(t, result.Pets, 2)
					}
					srv.AssertNoViolations(t, fake.RuleEarlyRetry, fake.RuleBanProvoked)
				})
			})
		}
	})
}
