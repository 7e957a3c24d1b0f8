package fake_test

import (
	"maps"
	"slices"
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
	fields, values, pairs := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for range 2 { // the first time, the fields and their values are collected
		for name := range fake.Variants() {
			var choices []string // all fields, in their order
			set := map[string]string{}
			for choice := range strings.SplitSeq(name, ",") {
				field, value, _ := strings.Cut(choice, "=")
				set[field] = value
				fields[field] = field != "default"
			}
			for _, field := range slices.Sorted(maps.Keys(fields)) {
				if fields[field] {
					choices = append(choices, field+"="+set[field])
					values[field+"="+set[field]] = true
				}
			}
			for i, one := range choices {
				for _, two := range choices[i+1:] {
					pairs[one+" "+two] = true
				}
			}
		}
	}
	assert.Len(t, values, 4+3*4+2*3, "of three switches, four fields with three choices, and one with four")
	want := 0
	for one := range values {
		for two := range values {
			if field, _, _ := strings.Cut(one, "="); one < two && !strings.HasPrefix(two, field+"=") {
				want++
			}
		}
	}
	assert.Len(t, pairs, want)
}
