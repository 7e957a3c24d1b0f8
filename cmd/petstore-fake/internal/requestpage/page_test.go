package requestpage

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type testPage struct {
	*Page
	t *testing.T
}

func newTestPage(t *testing.T, opts ...fake.Option) testPage {
	t.Helper()
	p := New(fake.NewTestServer(t, opts...))
	p.srv.OnRequest(func(int) { p.Changed() })
	return testPage{p, t}
}

func (p testPage) call(method, path, body string) { p.callAs(fake.DefaultAPIKey, method, path, body) }

func (p testPage) callAs(key, method, path, body string) {
	p.t.Helper()
	r := httptest.NewRequestWithContext(p.t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+key)
	p.srv.ServeHTTP(httptest.NewRecorder(), r)
}

// get returns the response of one of the page's handlers.
func (p testPage) get(serve func(http.ResponseWriter, *http.Request) error, query string) *httptest.ResponseRecorder {
	p.t.Helper()
	w := httptest.NewRecorder()
	require.NoError(p.t, serve(w, httptest.NewRequestWithContext(p.t.Context(), http.MethodGet, "/_fake/?"+query, http.NoBody)))
	return w
}

// parts returns what changes on the page, with the text as a reader sees it.
func (p testPage) parts(query string) string {
	p.t.Helper()
	return html.UnescapeString(p.get(p.Parts, query).Body.String())
}

// contain reports what a text lacks.
func contain(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, part := range want {
		assert.True(t, strings.Contains(text, part), part)
	}
}

func TestShow_policy(t *testing.T) {
	p := newTestPage(t)
	w := p.get(p.Show, "")
	text, header := w.Body.String(), w.Header()
	policy := strings.Split(header.Get("Content-Security-Policy"), "; ")
	assert.Subset(t, policy, []string{
		"default-src 'none'", "connect-src 'self'", "img-src data:", "form-action 'none'", "base-uri 'none'",
		"frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types page",
	})
	for _, element := range []string{"script", "style"} {
		found := regexp.MustCompile(`(?s)<`+element+`>(.*?)</`+element+`>`).FindAllStringSubmatch(text, -1)
		require.Len(t, found, 1, element)
		sum := sha256.Sum256([]byte(found[0][1]))
		assert.Contains(t, policy, element+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	assert.Equal(t, "no-referrer", header.Get("Referrer-Policy"))
	assert.Equal(t, 1, strings.Count(text, "innerHTML"), "one place takes the program's markup")
}

func TestShow_escapes(t *testing.T) {
	const evil = `<img src=x onerror=alert(1)></script><script>alert(2)</script>"'`
	p := newTestPage(t)
	body, err := json.Marshal(map[string]any{"name": evil, "categoryId": 1, evil: 1})
	require.NoError(t, err)
	p.call("POST", "/v1/pets?"+url.QueryEscape(evil)+"=1", string(body))
	p.call("GET", "/v1/"+url.PathEscape(evil), "")
	p.srv.Inject(fake.Fault{Status: 503, Message: evil})
	p.call("GET", "/v1/pets", "")
	for _, query := range []string{"text=" + url.QueryEscape(evil), "request=1", "request=2", "request=3"} {
		text := p.get(p.Show, query).Body.String()
		assert.NotContains(t, text, "<img")
		assert.Equal(t, 1, strings.Count(text, "<script"), query)
		assert.Equal(t, 1, strings.Count(text, "</script"), query)
	}
}

func TestParts_rows(t *testing.T) {
	p := newTestPage(t, fake.WithAPIKey("operator-secret"), fake.WithPlan(fake.Plan{}), fake.WithJournal(250))
	contain(t, p.parts(""), "Bearer $PETSTORE_API_KEY") // a command for a first request
	p.srv.AddKey("second-key-0001", fake.Plan{PerMinute: 1})
	for range 2 {
		p.callAs("second-key-0001", "GET", "/v1/pets?limit=3", "")
	}
	text := p.parts("")
	contain(t, text, "listPets", "GET </span>/pets?limit=3", "sec… #2", `<b class="limited">429</b>`, "(section 8.1)",
		`aria-pressed="false">2xx 1<`, `aria-pressed="false">429 1<`)
	assert.Less(t, strings.Index(text, `id="r2"`), strings.Index(text, `id="r1"`), "newest first")
	assert.NotContains(t, text, "second-key-0001")
	assert.NotContains(t, text, "operator-secret")

	text = p.parts("text=status:429+key:2&key=2")
	assert.Equal(t, 1, strings.Count(text, `<tbody id="r`))
	// Each chip counts what pressing it would show.
	contain(t, text, "1 of 2", `aria-pressed="false">2xx 1<`, `aria-pressed="true">429 1<`,
		"of 1 a minute") // the windows of the chosen key
	contain(t, p.parts("text=status:418"), "No request fits.")

	for range 1000 {
		p.callAs("operator-secret", "GET", "/v1/pets", "")
	}
	text = p.parts("")
	assert.Equal(t, maxRows, strings.Count(text, `<tbody id="r`))
	contain(t, text, "The newest 100 of 250.", "752 older requests were dropped")
	text = p.parts("text=before:901") // 900 to 801, and those before 801 are the older ones
	contain(t, text, `id="r900"`, `data-to="?text=before%3A801"`)
	assert.NotContains(t, text, `id="r901"`)
	p.Journal.Clear()
	p.callAs("operator-secret", "GET", "/v1/pets", "")
	assert.NotContains(t, p.parts(""), "dropped", "it was cleared")

	text = p.parts("text=status:x+listPets&request=x&key=x&colour=red")
	contain(t, text, `status is "x"; it must be`, `<td class="op">`)
	contain(t, p.parts("request=5"), "Request 5 is not in the journal")
	p.srv.SetUsage("second-key-0001", 0, 0) // unused, and yet nothing is left during a ban
	p.srv.BanKey("second-key-0001", time.Hour)
	contain(t, p.parts("key=2"), "sec… #2 is banned until ", "<strong>0</strong> of 1 a minute")
	contain(t, p.parts("key=9"), "Plan enterprise:0,0") // no such key: the first one
	p.callAs("operator-secret", "GET", "/v1/pets", "")
	text = p.parts("top=1003")
	contain(t, text, ">1 new</button>")
	assert.NotContains(t, text, "<tbody", "a list that stands still has its rows")
}

func TestParts_faults(t *testing.T) {
	p := newTestPage(t, fake.WithAPIKey("operator-secret"))
	p.srv.Inject(fake.Fault{Status: 503, Times: 2})
	p.srv.Inject(fake.Fault{APIKey: "operator-secret", Status: 500, Times: fake.Forever, For: 10 * time.Minute})
	contain(t, p.parts(""), "2 faults active")
	for range 2 {
		p.call("GET", "/v1/pets", "") // with an unknown key
	}
	p.callAs("operator-secret", "GET", "/v1/pets", "")
	text := p.parts("")
	contain(t, text, "<code>status=500, key=#1, times=forever, for=10m</code>", "over, struck 2 ×", `data-act="POST faults/1"`, "1 fault active")
	assert.NotContains(t, text, "operator-secret")
}

// The newest pets and faults are listed, all are counted, and long texts are shortened.
func TestParts_bounded(t *testing.T) {
	p := newTestPage(t)
	long := strings.Repeat("ä", 3_000)
	for range maxListed + 5 {
		p.srv.AddPet(petstore.NewPet{Name: long, CategoryID: 9})
		p.srv.Inject(fake.Fault{Status: 500, Skip: 1000, Message: long})
	}
	p.srv.AddPet(petstore.NewPet{Name: "Rex"})
	text := p.parts("")
	contain(t, text, "The last 100 of 106", "105 faults active", "<tr><td>106</td><td>Rex</td><td>0</td>", "<tr><td>7</td>", `id="fault-105"`, `id="fault-6"`)
	assert.NotContains(t, text, "<tr><td>6</td>")
	assert.NotContains(t, text, `id="fault-5"`)
	assert.Less(t, len(text), 300<<10)
	for _, i := range p.srv.Injections() {
		i.Remove() // or the test fails for faults that never struck
	}
}

// A page that shows the newest version gets nothing; every two seconds it asks for what depends on
// the time, and gets no rows.
func TestParts_version(t *testing.T) {
	p := newTestPage(t)
	p.call("GET", "/v1/pets", "")
	page := p.get(p.Show, "").Body.String()
	version := regexp.MustCompile(`data-version="(\d+)"`).FindStringSubmatch(page)[1]
	assert.Equal(t, http.StatusNoContent, p.get(p.Parts, "version="+version).Code)
	text := p.parts("beat&version=" + version)
	contain(t, text, `id="strip"`, `data-version="`+version+`"`)
	assert.NotContains(t, text, `id="list"`)
	p.Changed()
	contain(t, p.parts("version="+version), `id="list"`)
	assert.NotEqual(t, version, newTestPage(t).version(), "another program has other versions")
}

func TestDetail_waits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPage(t, fake.WithPlan(fake.Plan{PerMinute: 1}))
		for _, pause := range []time.Duration{0, 0, time.Second} {
			time.Sleep(pause)
			p.call("GET", "/v1/pets", "")
		}
		contain(t, p.parts("request=2"), "<em>until 00:01:00</em>")
		contain(t, p.parts("request=3"), "00:01:00, 59s after this response", `429 of <a href="?request=2">#2</a> said wait until 00:01:00`)
		assert.NotContains(t, p.parts("request=1"), "until ")
		p.srv.AddKey("second-key-0001", fake.Plan{PerMinute: 1})
		p.callAs("second-key-0001", "GET", "/v1/pets", "")
		assert.NotContains(t, p.parts("request=4"), "said wait until", "that was another key")
		p.call("GET", "/v1/pets", "")
		contain(t, p.parts("request=5"), "#3</a> said wait until")
		time.Sleep(59 * time.Second) // until 00:01:00
		p.call("GET", "/v1/pets", "")
		assert.NotContains(t, p.parts("request=6"), "said wait until", "it has waited")

		p = newTestPage(t, fake.WithPlan(fake.Plan{}))
		p.call("GET", "/v1/pets", "")
		contain(t, p.parts("request=1"), "<dd>2147483647</dd>", "a minute: no limit") // the header as it was sent
	})
}

// Bodies are laid out with their numbers unchanged, and only in part if they are large.
func TestDetail_bodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPage(t)
		for i, c := range []struct{ body, want string }{
			{`{"name":"\u00e9","categoryId":9223372036854775807,"categoryId":1}`, "{\n  \"name\": \"\\u00e9\",\n  \"categoryId\": 9223372036854775807,\n  \"categoryId\": 1\n}"},
			{`{"name":`, `>{"name":</pre>`},
			{"\xff\x00", "2 bytes, as base64"},
			{strings.Repeat("x", maxDetail+1), "16,385 bytes; these are the first 16,384"},
			{strings.Repeat("é", maxDetail/2+1), "these are the first 16,384"},
			{"", "empty"},
		} {
			p.call("POST", "/v1/pets", c.body)
			assert.Contains(t, p.parts(fmt.Sprintf("request=%d", i+1)), c.want)
		}
		contain(t, p.parts("request=2"), `<b class="refused">400</b>`)
		contain(t, p.parts("request=3"), "The whole request as JSON") // there is no command for it
		p.call("POST", "/v1/pets", strings.Repeat("\xff", 1<<20))
		assert.Less(t, len(p.parts("request=7")), 64<<10)

		p.srv.Inject(fake.Fault{Delay: time.Second, Status: 204})
		go p.call("GET", "/v1/pets", "")
		synctest.Wait()
		contain(t, p.parts("request=8"), "no response yet")
		assert.NotContains(t, p.parts(""), ">no response 1<", "it may come")
		time.Sleep(2 * time.Second)
		assert.NotContains(t, p.parts("request=8"), "no response")
		assert.Equal(t, 2, strings.Count(p.parts("request=8"), ">empty<"), "no response is not an empty one")
	})
}
