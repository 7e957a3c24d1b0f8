package requestpage

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/admintest"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestShow_policy(t *testing.T) {
	t.Parallel()
	text, header := newTestPage(t).browse("/_fake/")
	policy := header.Get("Content-Security-Policy")
	for _, directive := range []string{
		"default-src 'none'", "connect-src 'self'", "img-src data:", "form-action 'self'", "base-uri 'none'",
		"frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types page",
	} {
		assert.Contains(t, strings.Split(policy, "; "), directive)
	}
	assert.NotContains(t, policy, "unsafe")
	for directive, element := range map[string]string{"script-src": "script", "style-src": "style"} {
		found := regexp.MustCompile(`(?s)<`+element+`>(.*?)</`+element+`>`).FindAllStringSubmatch(text, -1)
		require.Len(t, found, 1, element)
		sum := sha256.Sum256([]byte(found[0][1]))
		want := directive + " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		assert.Contains(t, strings.Split(policy, "; "), want)
	}
	for name, want := range map[string]string{
		"X-Frame-Options": "DENY", "Cross-Origin-Opener-Policy": "same-origin",
		"Referrer-Policy": "no-referrer",
	} {
		assert.Equal(t, want, header.Get(name), name)
	}
	for _, resource := range []string{"<link rel=\"stylesheet", " src=", "@import", "url(", "style=\"", "onclick=\""} {
		assert.NotContains(t, text, resource)
	}
	for _, sink := range []string{"outerHTML", "insertAdjacentHTML", "document.write", "eval("} {
		assert.NotContains(t, text, sink)
	}
	assert.Equal(t, 1, strings.Count(text, "innerHTML"), "one place takes the program's markup")
}

func TestShow_withoutTheScript(t *testing.T) {
	t.Parallel()
	i := newTestPageOf(t, "operator-secret", fake.WithPlan(fake.Enterprise(0, 0)))
	i.srv.AddKey("second-key-0001", fake.Enterprise(1, 0))
	for range 2 {
		i.callAs("second-key-0001", "GET", "/v1/pets?limit=3", "")
	}
	text, _ := i.browse("/_fake/")
	assert.Equal(t, 2, strings.Count(text, `<tr role="row" id="r`))
	assert.Less(t, strings.Index(text, `id="r2"`), strings.Index(text, `id="r1"`), "newest first")
	for _, want := range []string{
		"listPets", "GET /v1/pets?limit=3", "sec… #2", `<b class="limited">429</b>`, "<i>section 8.1</i>", "<title>petstore-fake :4010<",
		`<option value="2">sec… #2</option>`, `href="/_fake/har"`,
	} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, "second-key-0001")
	assert.NotContains(t, text, "operator-secret")

	text, _ = i.browse("/_fake/?status=429&operation=&key=2")
	assert.Equal(t, 1, strings.Count(text, `<tr role="row" id="r`))
	assert.Contains(t, text, `<option selected>429</option>`)
	assert.Contains(t, text, `<a href="?key=2&amp;request=2&amp;status=429" aria-label="listPets GET /v1/pets?limit=3 429">`, "what is open stands beside the filters")
	text, _ = i.browse("/_fake/?request=1")
	assert.Contains(t, text, "Bearer [redacted]")
	assert.Contains(t, text, "$PETSTORE_API_KEY")
	text, _ = i.browse("/_fake/?status=418")
	assert.Zero(t, strings.Count(text, `<tr role="row" id="r`))
	assert.Contains(t, text, `<option selected>418</option>`, "or the reader does not know why")

	for range maxRows + 5 {
		i.callAs("operator-secret", "GET", "/v1/pets", "")
	}
	text, _ = i.browse("/_fake/")
	assert.Equal(t, maxRows, strings.Count(text, `<tr role="row" id="r`))
}

func TestShow_first(t *testing.T) {
	t.Parallel()
	i := newTestPage(t)
	text, _ := i.browse("/_fake/")
	assert.Contains(t, html.UnescapeString(text), `curl 'http://127.0.0.1:4010/v1/pets' --header "Authorization: Bearer fake-api-key"</pre>`)
	secret := newTestPageOf(t, "operator-secret")
	text, _ = secret.browse("/_fake/")
	assert.Contains(t, text, "Bearer $PETSTORE_API_KEY")
}

func TestShow_kept(t *testing.T) {
	t.Parallel()
	i := newTestPage(t, fake.WithPlan(fake.Enterprise(0, 0)), fake.WithJournal(250))
	for range 1000 {
		i.call("GET", "/v1/pets", "")
	}
	text, _ := i.browse("/_fake/")
	assert.Contains(t, text, "The newest 200 of 250.")
	assert.Contains(t, text, "750 older requests were dropped")
	text, _ = i.browse("/_fake/?before=801")
	assert.Contains(t, text, `id="r800"`)
	assert.NotContains(t, text, `id="r801"`)
	assert.Contains(t, text, "before request 801")
	i.Clear()
	i.call("GET", "/v1/pets", "")
	text, _ = i.browse("/_fake/")
	assert.NotContains(t, text, "dropped", "it was cleared")
}

func TestShow_bodyOfAnyBytes(t *testing.T) {
	t.Parallel()
	i := newTestPage(t)
	i.call("POST", "/v1/pets", "\xff\x00")
	text, _ := i.browse("/_fake/?request=1")
	assert.Contains(t, text, "2 bytes, as base64")
	assert.Contains(t, text, ">/wA=</pre>")
	i.call("POST", "/v1/pets", strings.Repeat("x", maxDetail+1))
	text, _ = i.browse("/_fake/?request=2")
	assert.Contains(t, text, "16,385 bytes; these are the first 16,384")
}

func TestShow_escapes(t *testing.T) {
	t.Parallel()
	const evil = `<img src=x onerror=alert(1)></script><script>alert(2)</script>"'`
	i := newTestPage(t)
	body, err := json.Marshal(map[string]any{"name": evil, "categoryId": 1, evil: 1})
	require.NoError(t, err)
	r := admintest.Request(t, "POST", "/v1/pets?"+strings.ReplaceAll(evil, " ", ""), string(body))
	r.Header.Set("X-Evil", evil)
	r.Header.Set("Authorization", "Bearer fake-api-key")
	i.send(r)
	i.call("GET", "/v1/"+strings.ReplaceAll(evil, " ", ""), "")
	for _, path := range []string{"/_fake/", "/_fake/?request=1", "/_fake/?request=2"} {
		text, _ := i.browse(path)
		assert.NotContains(t, text, "<img")
		assert.Equal(t, 1, strings.Count(text, "<script"), path)
		assert.Equal(t, 1, strings.Count(text, "</script"), path)
	}
}

func TestShow_wrongFilters(t *testing.T) {
	t.Parallel()
	i := newTestPage(t)
	for _, path := range []string{"?status=x", "?request=x", "?request=0", "?colour=red", "?method=GET", "events?status=x"} {
		r := admintest.Request(t, "GET", "/_fake/"+path, "")
		assert.Equal(t, http.StatusBadRequest, i.send(r).Code, path)
	}
	assert.Zero(t, i.streams.Load())
	i.browse("/_fake/?request=5") // one that is no longer in the journal
}

func TestPageFiles_size(t *testing.T) {
	t.Parallel()
	files, err := pageFiles.ReadDir("page")
	require.NoError(t, err)
	total := int64(0)
	for _, file := range files {
		info, err := file.Info()
		require.NoError(t, err)
		total += info.Size()
	}
	assert.Less(t, total, int64(60<<10), "bytes of the program")
	assert.Greater(t, total, int64(20<<10))
}

func TestPageFiles_examplesOfFaults(t *testing.T) {
	t.Parallel()
	text, _ := newTestPage(t).browse("/_fake/")
	examples := regexp.MustCompile(`data-fault="([^"]*)"`).FindAllStringSubmatch(text, -1)
	assert.Greater(t, len(examples), 5)
	for _, example := range examples {
		_, err := spec.ParseFaults(html.UnescapeString(example[1]))
		assert.NoError(t, err, example[1])
	}
}
