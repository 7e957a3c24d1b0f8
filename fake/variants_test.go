package fake_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestVariantsBeginWithTheDefaultAndHaveNamesOfTheirOwn(t *testing.T) {
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
}

func TestTheClientLivesWithEveryVariant(t *testing.T) {
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
}

func TestEveryVariantKeepsToTheDocument(t *testing.T) {
	for name, variant := range fake.Variants() {
		t.Run(name, func(t *testing.T) {
			inBubble(t, with(variant, fake.WithPlan(fake.Enterprise(4, 0))), func(t *testing.T, _ *fake.Server, d door) {
				assert.Equal(t, http.StatusCreated, d.send(t, create("Rex")).status)
				assert.Equal(t, http.StatusOK, d.send(t, request{path: "/pets/1"}).status)
				assert.Equal(t, http.StatusUnauthorized, d.send(t, request{path: "/pets", auth: "-"}).status)
				assert.Equal(t, http.StatusBadRequest, d.send(t, request{path: "/pets", body: "{}"}).status)
				assert.Equal(t, http.StatusOK, d.list(t).status)
				r := d.list(t)
				assert.Equal(t, http.StatusTooManyRequests, r.status)
				assert.Equal(t, "0", r.header.Get("X-RateLimit-Remaining"))
				time.Sleep(time.Minute)
				assert.Equal(t, http.StatusOK, d.list(t).status)
			})
		})
	}
}
