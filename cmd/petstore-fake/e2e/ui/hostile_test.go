package ui

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPage_runsNothingOfARequest(t *testing.T) {
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

// attack is what a page of another site can try without a plugin; TestGuard has the table. What it
// manages it writes down.
const attack = `<!doctype html><title>attack</title><body><script>
const target = %q, got = [];
const read = async (what, path, init) => {
  try { const a = await fetch(target + path, init); if (a.type !== "opaque" && a.ok) got.push(what); } catch {}
};
const post = (type, mode) => ({method: "POST", mode, headers: {"Content-Type": type}, body: '{"advance":"1m"}'});
const load = (tag, path) => new Promise((done) => {
  const e = document.createElement(tag);
  Object.assign(e, {onload: () => { if (tag === "img") got.push(tag); done(); }, onerror: done, src: target + path});
  document.body.append(e);
});
navigator.sendBeacon(target + "/_fake/reset", "{}");
Promise.all([
  read("requests", "/_fake/requests"), read("delete", "/_fake/requests", {method: "DELETE"}),
  read("page", "/_fake/", {headers: {Accept: "text/html"}}), read("json", "/_fake/clock", post("application/json")),
  read("text", "/_fake/clock", post("text/plain", "no-cors")), load("img", "/_fake/har"), load("iframe", "/_fake/"),
]).then(() => { window.finished = true; });
</script>`

func TestPage_otherSites(t *testing.T) {
	p := start(t)
	p.send(http.MethodPost, "/_fake/pets", `{"name":"Rex","categoryId":1}`)
	p.list(1)
	before := p.send(http.MethodGet, "/_fake/requests", "").body
	port := p.origin[strings.LastIndex(p.origin, ":"):]
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, attack, "http://"+r.URL.Query().Get("target"))
	}))
	t.Cleanup(evil.Close)
	_, evilPort, err := net.SplitHostPort(evil.Listener.Addr().String())
	require.NoError(t, err)
	b := newTab(t)
	for _, from := range []string{"127.0.0.1", "localhost", "evil.test"} {
		for _, target := range []string{"127.0.0.1" + port, "localhost" + port, "rebound.test" + port} {
			b.do(chromedp.Navigate("http://" + from + ":" + evilPort + "/?target=" + target))
			b.until("window.finished")
			assert.Empty(t, value[[]string](b, "got"), "%s → %s", from, target)
		}
	}
	b.consoleErrors() // every try is one
	assert.Equal(t, before, p.send(http.MethodGet, "/_fake/requests", "").body, "the journal is as it was")
	assert.Contains(t, p.send(http.MethodGet, "/_fake/clock", "").body, `"advanced":"0s"`)
	assert.JSONEq(t, `{"faults":[]}`, p.send(http.MethodGet, "/_fake/faults", "").body)
	assert.Contains(t, p.send(http.MethodGet, "/_fake/pets", "").body, `"total":1`)
}
