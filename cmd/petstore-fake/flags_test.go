package main

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStrict(t *testing.T) {
	t.Parallel()
	strict := func(t *testing.T, body string) (running, *http.Client, string) {
		t.Helper()
		r := start(t, "-addr", "127.0.0.1:0", "-strict")
		host := "127.0.0.1:" + strings.TrimSpace(r.stdout)
		c := keepingClient(t)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+host+"/v1/pets", strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer fake-api-key")
		req.Header.Set("Content-Type", "application/json")
		resp, err := c.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusCreated, resp.StatusCode)
		return r, c, host
	}
	t.Run("violations are listed and the status is 1", func(t *testing.T) {
		t.Parallel()
		r, _, _ := strict(t, `{"name":"Rex","categoryId":0,"colour":"red"}`)
		assert.Equal(t, exitFailed, r.stop())
		text := r.output.String()
		assert.Contains(t, text, "violation of unknown-field by request 1 (section 2): ")
		assert.Contains(t, text, "violation of zero-category by request 1 ")
		assert.Contains(t, text, "-strict: the clients did 2 things")
	})
	t.Run("a well-behaved client gets status 0", func(t *testing.T) {
		t.Parallel()
		r, _, _ := strict(t, `{"name":"Rex","categoryId":1}`)
		assert.Equal(t, exitOK, r.stop())
	})
	t.Run("a reset forgets the violations", func(t *testing.T) {
		t.Parallel()
		r, c, host := strict(t, `{"name":"Rex","categoryId":1,"colour":"red"}`)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+host+"/_fake/reset", http.NoBody)
		require.NoError(t, err)
		resp, err := c.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, exitOK, r.stop())
	})
}

func TestMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newTestInstance(t, "-plan", "enterprise:1,0", "-minute", "2s")
		assert.Equal(t, 200, i.status("GET", "/v1/pets", ""))
		limited := i.call("GET", "/v1/pets", "")
		assert.Equal(t, 429, limited.Code)
		assert.Equal(t, "2", limited.Header().Get("Retry-After"))
		time.Sleep(2 * time.Second)
		assert.Equal(t, 200, i.status("GET", "/v1/pets", ""))
	})
}

func TestClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newTestInstance(t, "-clock", "2030-12-04T23:59:00Z", "-variant", "removal=on")
		i.call("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`)
		assert.Equal(t, 200, i.status("GET", "/v1/pets/1", ""))
		time.Sleep(time.Minute)
		assert.Equal(t, 404, i.status("GET", "/v1/pets/1", ""), "removed on 5 December 2030")
		set := i.object("PUT", "/_fake/clock", `{"time":"2030-12-01T01:00:00+01:00"}`)
		assert.Equal(t, "2030-12-01T00:00:00Z", set["now"])
		assert.Equal(t, 200, i.status("GET", "/v1/pets/1", ""))
	})
}

func TestKeys(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t, "-key", "first-key=enterprise:1,0", "-key", "second-key", "-plan", "free")
	for key, want := range map[string]string{"first-key": "1", "second-key": "60"} {
		w := i.callAs(key, "GET", "/v1/pets", "")
		assert.Equal(t, 200, w.Code)
		assert.Equal(t, want, w.Header().Get("X-RateLimit-Limit"))
	}
	assert.Equal(t, 401, i.status("GET", "/v1/pets", ""), "the default key is replaced")
}

func TestRandomSeed(t *testing.T) {
	t.Parallel()
	statuses := func(seed string) (all []int) {
		i := newTestInstance(t, "-fault", "status=503,chance=0.5,times=forever", "-random-seed", seed)
		for range 20 {
			all = append(all, i.status("GET", "/v1/pets", ""))
		}
		return all
	}
	first, again := statuses("7"), statuses("7")
	assert.Equal(t, first, again)
	assert.NotEqual(t, first, statuses("8"))
}

func TestObserved(t *testing.T) {
	t.Parallel()
	file := writeFile(t, `{"format":1,"observations":[
		{"key":"order","section":"4.1","question":"In which order?","answer":"descending"},
		{"key":"weather","section":"4.1","question":"?","answer":"sunny"}]}`)
	i := newTestInstance(t, "-observed", file)
	i.object("POST", "/_fake/pets", `[{"name":"Rex","categoryId":1},{"name":"Mimi","categoryId":1}]`)
	body := i.call("GET", "/v1/pets", "").Body.String()
	assert.Less(t, strings.Index(body, "Mimi"), strings.Index(body, "Rex"))
	s, err := readSettings([]string{"-observed", file}, noEnv)
	require.NoError(t, err)
	assert.Contains(t, banner(s, testHost), `weather: observed was "sunny"`)
}

func TestAddPets(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	added := i.object("POST", "/_fake/pets", ` [{"name":"Rex","categoryId":1},{"name":"Mimi","categoryId":2,"status":"sold"}]`)
	pets := list(t, added, "pets")
	require.Len(t, pets, 2)
	assert.EqualValues(t, 2, pets[1]["id"])
	assert.Equal(t, "sold", pets[1]["status"])
	assert.Equal(t, 400, i.status("POST", "/_fake/pets", `[{"name":"a","categoryId":1},{"name":""}]`))
	assert.Len(t, i.srv.Pets(), 2, "all or none")
}
