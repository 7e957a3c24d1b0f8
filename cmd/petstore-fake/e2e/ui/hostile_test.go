package ui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPage_runsNothingOfARequest(t *testing.T) {
	t.Parallel()
	const evil = `<img src=x onerror="window.pwned=1"><script>window.pwned=1</script><svg onload=window.pwned=1>`
	p := start(t)
	pet, err := json.Marshal(map[string]any{"name": evil, "categoryId": 1})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, p.send(http.MethodPost, "/v1/pets", string(pet)).status)
	p.send(http.MethodPost, "/v1/pets?"+url.QueryEscape(evil)+"=1", `{"name":1,`+string(pet[1:]))
	p.send(http.MethodGet, "/v1/"+url.PathEscape(evil), "")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.origin+"/v1/pets", http.NoBody)
	require.NoError(t, err)
	r.Header.Set("X-Evil", evil)
	r.Header.Set("Authorization", evil)
	p.do(r)
	fault, err := json.Marshal(map[string]any{"status": 503, "retryAfter": evil})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, p.send(http.MethodPost, "/_fake/faults", string(fault)).status)

	b := newTab(t)
	b.open(p, "")
	b.text("#pets", evil)
	b.text("#faults", "onload=window.pwned=1>")
	for seq := 1; seq <= 4; seq++ {
		b.open(p, fmt.Sprintf("?request=%d", seq))
		b.text("#detail-title", "Request ")
	}
	b.text("#detail", evil)
	assert.False(t, value[bool](b, `"pwned" in window`))
	assert.Zero(t, value[int](b, `document.querySelectorAll("img, svg[onload], [onerror]").length + document.scripts.length - 1`))

	// And if something got into the page's markup, the policy would not let it run.
	b.run(`try { document.body.innerHTML += ` + quote(evil) + ` } catch { window.refused = true }`)
	assert.True(t, value[bool](b, "window.refused === true"))
	assert.False(t, value[bool](b, `"pwned" in window`))
	for _, text := range b.consoleErrors() {
		assert.Contains(t, text, "TrustedHTML")
	}
}
