package fake_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestVariants(t *testing.T) {
	fields := []string{
		"retryAfter", "limitBody", "order", "window", "defaultStatus", "ignoreInvalid", "removal", "deprecationHeaders",
	}
	names, pairs := make(map[string]bool), make(map[string]bool)
	for name, variant := range fake.Variants() {
		assert.False(t, names[name], "%s is there twice", name)
		names[name] = true
		choices := make([]string, len(fields))
		for i, field := range fields {
			_, choice, _ := strings.Cut(","+name, ","+field+"=")
			choices[i], _, _ = strings.Cut(choice, ",")
			for j := range i {
				pairs[fmt.Sprint(field, choices[i], fields[j], choices[j])] = true
			}
		}
		inBubble(t, "a client works with "+name, func(t *testing.T, srv server) {
			client := srv.Client(petstore.WithCallTimeout(time.Hour))
			for range 12 {
				result, err := client.ListPets(t.Context(), petstore.ListPetsParams{Limit: 2})
				require.NoError(t, err)
				assert.Len(t, result.Pets, 2)
			}
			assert.Empty(t, srv.rules())
		}, variant, fake.WithPlan(fake.Plan{PerMinute: 5}), fake.WithPets(catalogue(3)...))
	}
	assert.True(t, names["default"])
	assert.Len(t, pairs, 210, "all of them: four fields have 3 choices, one 4, and three 2")
	assert.Less(t, len(names), 20)
}
