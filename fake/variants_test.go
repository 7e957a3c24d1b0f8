package fake_test

import (
	"net/http"
	"strings"
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
	t.Run("each keeps to the document", func(t *testing.T) {
		for name, variant := range fake.Variants() {
			t.Run(name, func(t *testing.T) {
				inBubble(t, with(variant, fake.WithPlan(fake.Enterprise(4, 0))), func(t *testing.T, _ *fake.Server, d entryPoint) {
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
	})
	t.Run("each does what its name says", func(t *testing.T) {
		for name, variant := range fake.Variants() {
			t.Run(name, func(t *testing.T) {
				opts := with(variant, fake.WithPlan(fake.Enterprise(9, 0)), fake.WithPets(catalogue(120)...))
				inBubble(t, opts, func(t *testing.T, srv *fake.Server, d entryPoint) {
					assertListsAsNamed(t, name, d)
					assertTreatsPetsAsNamed(t, name, srv, d)
					assertLimitsAsNamed(t, name, srv, d)
				})
			})
		}
	})
}

// choice returns the choice for an axis in a variant's name, or the usual one.
func choice(name, factor, usual string) string {
	for word := range strings.SplitSeq(name, ",") {
		if chosen, ok := strings.CutPrefix(word, factor+"="); ok {
			return chosen
		}
	}
	return usual
}

func assertListsAsNamed(t *testing.T, name string, d entryPoint) {
	t.Helper()
	most := map[string]int{"reject": 0, "ignore": 20, "clamp": 100}[choice(name, "invalid-limit", "reject")]
	assert.Equal(t, most, strings.Count(d.send(t, request{path: "/pets?limit=101"}).body, `"id"`))
	status := map[string]int{"reject": 400, "ignore": 200}[choice(name, "invalid-status", "reject")]
	assert.Equal(t, status, d.send(t, request{path: "/pets?status=lost"}).status)
	first := `[{"id":1,`
	if choice(name, "order", "ascending") == "descending" {
		first = `[{"id":120,`
	}
	shuffled := choice(name, "order", "ascending") == "shuffled"
	assert.NotEqual(t, shuffled, strings.HasPrefix(d.send(t, request{path: "/pets?limit=100"}).body, first))
}

func assertTreatsPetsAsNamed(t *testing.T, name string, srv *fake.Server, d entryPoint) {
	t.Helper()
	status := choice(name, "default-status", "none")
	assert.Equal(t, status != "none", strings.Contains(d.send(t, create("Rex")).body, `"status":"`+status+`"`))
	r := d.send(t, request{path: "/pets/1"})
	assert.Equal(t, http.StatusOK, r.status)
	assert.Equal(t, choice(name, "deprecation-headers", "off") == "on", r.header.Get("Sunset") != "")
	srv.Advance(31 * 366 * 24 * time.Hour)
	removed := d.send(t, request{path: "/pets/1"}).status == http.StatusNotFound
	assert.Equal(t, choice(name, "removal", "off") == "on", removed)
	srv.Advance(-31 * 366 * 24 * time.Hour)
}

func assertLimitsAsNamed(t *testing.T, name string, srv *fake.Server, d entryPoint) {
	t.Helper()
	srv.Reset()
	time.Sleep(30 * time.Second)
	_, r := d.admitted(t)
	body := map[string]string{"error": `{"code":`, "empty": "", "html": "<html>"}[choice(name, "limit-body", "error")]
	assert.True(t, strings.HasPrefix(r.body, body) && (body == "") == (r.body == ""), r.body)
	form := map[string]string{"seconds": "60", "date": "Sat, 01 Jan 2000 00:01:30 GMT", "absent": ""}
	if choice(name, "window", "fixed") == "aligned" {
		form["seconds"], form["date"] = "30", "Sat, 01 Jan 2000 00:01:00 GMT"
	}
	assert.Equal(t, form[choice(name, "retry-after", "seconds")], r.header.Get("Retry-After"))
	srv.Reset()
	d.list(t)
	time.Sleep(20 * time.Second)
	d.list(t)
	time.Sleep(41 * time.Second)
	d.list(t)
	left := map[string]int{"fixed": 1, "aligned": 1, "sliding": 2}[choice(name, "window", "fixed")]
	assert.Equal(t, left, srv.Usage(srv.APIKey()).Minute)
}
