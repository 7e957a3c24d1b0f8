package fake_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestVariants(t *testing.T) {
	first, seen := "", make(map[string]bool)
	for name, variant := range fake.Variants() {
		if first == "" {
			first = name
		}
		assert.False(t, seen[name], "%s is there twice", name)
		seen[name] = true
		opts := with(variant, fake.WithPlan(fake.Plan{PerMinute: 5}), fake.WithPets(catalogue(3)...))
		inBubble(t, "a client works with "+name, opts, func(t *testing.T, srv *fake.Server, _ entryPoint) {
			client := srv.Client(petstore.WithCallTimeout(time.Hour))
			for range 12 {
				result, err := client.ListPets(t.Context(), petstore.ListPetsParams{Limit: 2})
				require.NoError(t, err)
				assert.Len(t, result.Pets, 2)
			}
			assert.Empty(t, rules(srv))
		})
	}
	assert.Equal(t, "default", first)
	assert.Less(t, len(seen), 20)
	for range fake.Variants() {
		break // leaving the loop early must not panic
	}
}

func TestVariantsCoverEveryPairOfChoices(t *testing.T) {
	choices := map[string][]string{ // "" is the default
		"retryAfter": {"", "date", "absent"}, "limitBody": {"", "empty", "html"}, "order": {"", "descending", "shuffled"},
		"window": {"", "aligned", "sliding"}, "defaultStatus": {"", "available", "pending", "sold"},
		"ignoreInvalid": {"", "true"}, "removal": {"", "true"}, "deprecationHeaders": {"", "true"},
	}
	has := func(variant, field, value string) bool {
		if value == "" {
			return !strings.Contains(variant, field+"=")
		}
		return strings.Contains(","+variant+",", ","+field+"="+value+",")
	}
	covered := func(one, value, two, other string) bool {
		for variant := range fake.Variants() {
			if has(variant, one, value) && has(variant, two, other) {
				return true
			}
		}
		return false
	}
	for one, values := range choices {
		for two, others := range choices {
			for _, value := range values {
				for _, other := range others {
					assert.True(t, one == two || covered(one, value, two, other), "%s=%s %s=%s", one, value, two, other)
				}
			}
		}
	}
}
