package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/admintest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/loopback"
)

func TestStrict(t *testing.T) {
	t.Parallel()
	strict := func(t *testing.T, body string) (running, *http.Client, string) {
		t.Helper()
		r := start(t, "-addr", loopback.Host(t)+":0", "-strict")
		host := loopback.Host(t) + ":" + strings.TrimSpace(r.stdout)
		c := keepingClient(t)
		status, _, err := do(c, requestTo(t, host, "POST", "/v1/pets", body))
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, status)
		return r, c, host
	}
	t.Run("violations are listed and the status is 1", func(t *testing.T) {
		t.Parallel()
		r, _, _ := strict(t, `{"name":"Rex","categoryId":0,"colour":"red"}`)
		assert.Equal(t, exitFailed, r.stop())
		text := r.output.String()
		assert.Contains(t, text, "violation of unknown-field by request 1 (section 2): ")
		assert.Contains(t, text, "violation of zero-category by request 1 ")
		assert.Contains(t, text, "-strict: the clients are not well-behaved: 2 violations")
	})
	t.Run("a well-behaved client gets status 0", func(t *testing.T) {
		t.Parallel()
		r, _, _ := strict(t, `{"name":"Rex","categoryId":1}`)
		assert.Equal(t, exitOK, r.stop())
	})
	t.Run("a reset forgets the violations", func(t *testing.T) {
		t.Parallel()
		r, c, host := strict(t, `{"name":"Rex","categoryId":1,"colour":"red"}`)
		status, _, err := do(c, requestTo(t, host, "POST", "/_fake/reset", ""))
		require.NoError(t, err)
		require.Equal(t, http.StatusNoContent, status)
		assert.Equal(t, exitOK, r.stop())
	})
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
	assert.Contains(t, banner(s, admintest.Host), `weather: observed was "sunny"`)
}
