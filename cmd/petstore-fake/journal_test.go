package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

func TestJournal(t *testing.T) {
	t.Parallel()
	t.Run("shows request and response", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t)
		i.call("POST", "/v1/pets", `{"name":"Zoë Zoë","categoryId":1}`)
		i.call("GET", "/v1/nothing", "")
		requests := list(t, i.object("GET", "/_fake/requests", ""), "requests")
		require.Len(t, requests, 2)
		assert.Contains(t, requests[1]["hint"], "section 4")
		first := requests[0]
		assert.NotEmpty(t, first["time"])
		for name, want := range map[string]any{
			"seq": 1., "key": fake.DefaultAPIKey, "keyId": 1., "operation": "createPet", "method": "POST", "path": "/v1/pets",
			"status": 201., "fault": false, "body": `{"name":"Zoë Zoë","categoryId":1}`,
			"answer": `{"id":1,"name":"Zoë Zoë","categoryId":1}`,
		} {
			assert.Equal(t, want, first[name], name)
		}
		assert.Equal(t, []any{"Bearer [redacted]"}, first["header"].(map[string]any)["Authorization"])
		assert.Equal(t, []any{"999"}, first["answerHeader"].(map[string]any)["X-Ratelimit-Remaining"])
		whole := i.object("GET", "/_fake/requests/1", "")
		assert.Contains(t, whole["curl"], "curl ")
		delete(whole, "curl")
		assert.Equal(t, first, whole)
		for _, path := range []string{"/_fake/requests/3", "/_fake/requests/0", "/_fake/requests/x", "/_fake/requests/99999999999"} {
			w := i.call("GET", path, "")
			assert.Equal(t, 404, w.Code, path)
			assert.Contains(t, w.Body.String(), "no request")
		}
	})
	t.Run("filters", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t)
		for range 3 {
			i.call("GET", "/v1/pets", "")
		}
		i.call("GET", "/v1/pets/1", "")
		i.call("POST", "/v1/pets", "\xff\xfe") // no text
		for query, want := range map[string][]any{
			"": {1., 2., 3., 4., 5.}, "?status=4xx&limit=1": {5.}, "?since=3": {4., 5.}, "?before=3&operation=listPets": {1., 2.},
			"?limit=2": {4., 5.}, "?since=2147483647&operation=none": nil, "?key=1&limit=1&operation=listPets": {3.},
		} {
			var got []any
			for _, r := range list(t, i.object("GET", "/_fake/requests"+query, ""), "requests") {
				got = append(got, r["seq"])
			}
			assert.Equal(t, want, got, query)
		}
		assert.Equal(t, "//4=", i.object("GET", "/_fake/requests/5", "")["bodyBase64"])
		assert.EqualValues(t, 5, i.object("GET", "/_fake/requests?limit=1", "")["total"])

		assert.Equal(t, 204, i.status("DELETE", "/_fake/requests", ""))
		assert.Empty(t, list(t, i.object("GET", "/_fake/requests", ""), "requests"))
		i.call("GET", "/v1/pets", "")
		requests := list(t, i.object("GET", "/_fake/requests", ""), "requests")
		require.Len(t, requests, 1)
		assert.EqualValues(t, 6, requests[0]["seq"])
	})
	t.Run("names the host that was called", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t)
		i.call("GET", "/v1/pets", "")
		for _, path := range []string{"/_fake/", "/_fake/requests/1", "/_fake/har"} {
			r := request(t, "GET", path, "")
			r.Host = "localhost:8080"
			assert.Contains(t, i.send(r).Body.String(), "http://localhost:8080/v1", path)
		}
	})
}

func TestViolations(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	i.call("GET", "/v1/pets?page=2", "")
	violations := list(t, i.object("GET", "/_fake/violations", ""), "violations")
	require.Len(t, violations, 1)
	assert.Equal(t, string(fake.RuleUnknownParameter), violations[0]["rule"])
	assert.EqualValues(t, 1, violations[0]["seq"])
}
