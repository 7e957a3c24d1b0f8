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
		var b fake.Behavior
		require.NoError(t, b.UnmarshalText([]byte(name)))
		assert.Equal(t, name, b.String())
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

func TestBehavior_UnmarshalText(t *testing.T) {
	var b fake.Behavior
	require.NoError(t, b.UnmarshalText([]byte(" window=sliding, default-status=sold")))
	assert.Equal(t, fake.Behavior{Window: fake.WindowSliding, DefaultStatus: petstore.PetStatusSold}, b)
	for text, message := range map[string]string{
		"": `there is no behaviour ""; the behaviours are default-status, retry-after, limit-body, order, ` +
			`invalid-limit, invalid-status, window, ban-reset, removal, deprecation-headers`,
		"window=open": `window is "open"; it must be one of fixed, aligned, sliding`,
		"removal":     `removal is ""; it must be one of off, on`,
		"window=fixed,window=sliding": `there is no behaviour "window"; the behaviours are default-status, retry-after, limit-body, order, ` +
			`invalid-limit, invalid-status, ban-reset, removal, deprecation-headers`,
	} {
		assert.EqualError(t, b.UnmarshalText([]byte(text)), message)
	}
}

func TestPlan_UnmarshalText(t *testing.T) {
	for text, want := range map[string]fake.Plan{
		"free": {PerMinute: 60, PerDay: 1_000}, "PRO": {PerMinute: 300, PerDay: 10_000}, // section 8.1
		"Business": {PerMinute: 1_000, PerDay: 100_000}, "enterprise:0,7": {PerDay: 7},
	} {
		var p fake.Plan
		require.NoError(t, p.UnmarshalText([]byte(text)))
		assert.Equal(t, want, p)
		assert.Equal(t, strings.ToLower(text), p.String())
	}
	for _, text := range []string{
		"", "no-such-plan", "enterprise", "enterprise:", "enterprise:5", "enterprise:-1,5", "enterprise:1,x", "enterprise:1,2;",
	} {
		p := fake.PlanPro
		require.ErrorContains(t, p.UnmarshalText([]byte(text)), "free, pro, business or enterprise:M,D", text)
		assert.Equal(t, fake.PlanPro, p)
	}
}
