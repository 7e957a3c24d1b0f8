package page

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
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
	return testPage{New(fake.NewTestServer(t, opts...)), t}
}

// call sends a request of the service with a key.
func (p testPage) call(key, method, path, body string) {
	p.t.Helper()
	r := httptest.NewRequestWithContext(p.t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	p.srv.ServeHTTP(httptest.NewRecorder(), r)
	p.Changed()
}

// parts returns what changes on the page, with the text as a reader sees it.
func (p testPage) parts(query string) string {
	p.t.Helper()
	w := httptest.NewRecorder()
	p.Parts(w, httptest.NewRequestWithContext(p.t.Context(), http.MethodGet, "/_fake/page?"+query, http.NoBody))
	assert.True(p.t, w.Code == http.StatusNoContent || strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'"))
	return html.UnescapeString(w.Body.String())
}

// contain reports what a text lacks.
func contain(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, part := range want {
		assert.True(t, strings.Contains(text, part), part)
	}
}

const theKey = fake.DefaultAPIKey

func TestShow_escapes(t *testing.T) {
	const evil = `<img src=x onerror=alert(1)></script><script>alert(2)</script>"'`
	p := newTestPage(t)
	p.call(theKey, "POST", "/v1/pets?"+url.QueryEscape(evil)+"=1", evil)
	p.srv.Inject(fake.Fault{Status: 503, Message: evil})
	p.call(theKey, "GET", "/v1/"+url.PathEscape(evil), "")
	for _, query := range []string{"text=" + url.QueryEscape(evil), "request=1", "request=2"} {
		w := httptest.NewRecorder()
		p.Show(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/_fake/?"+query, http.NoBody))
		assert.NotContains(t, w.Body.String(), "<img")
		assert.Equal(t, 1, strings.Count(w.Body.String(), "<script"), query)
		contain(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'", "script-src 'sha256-", "frame-ancestors 'none'", "trusted-types page")
	}
}

func TestParts_rows(t *testing.T) {
	p := newTestPage(t, fake.WithPlan(fake.Plan{}), fake.WithJournal(250))
	p.srv.AddKey("second-key-0001", fake.Plan{PerMinute: 1})
	for range 2 {
		p.call("second-key-0001", "GET", "/v1/pets?limit=3", "")
	}
	text := p.parts("")
	contain(t, text, "listPets", "GET </span>/pets?limit=3", "second-key-0001", `<b class="limited">429</b>`, "(section 8.1)",
		`aria-pressed="false">2xx 1<`, `aria-pressed="false">429 1<`)
	assert.Less(t, strings.Index(text, `id="r2"`), strings.Index(text, `id="r1"`), "newest first")
	contain(t, p.parts("text=status:429+key:second-key-0001&key=2"), "1 of 2", `data-to="?key=2&text=key%3Asecond-key-0001"`,
		`aria-pressed="false">2xx 1<`, `aria-pressed="true">429 1<`, "of 1 a minute") // the windows of the chosen key
	contain(t, p.parts("text=status:418"), "No request fits.")
	for range 1000 {
		p.call(theKey, "GET", "/v1/pets", "")
	}
	text = p.parts("")
	assert.Equal(t, maxRows, strings.Count(text, `<tbody id="r`))
	contain(t, text, "The newest 100 of 250.", "752 older requests were dropped")
	p.Clear()
	p.call(theKey, "GET", "/v1/pets", "")
	assert.NotContains(t, p.parts(""), "dropped", "it was cleared")
	contain(t, p.parts("text=status:x+listPets&request=x&key=x&colour=red"), "status:x must be", `<td class="op">`)
	contain(t, p.parts("request=5"), "Request 5 is not in the journal")
}

// A page that shows the newest version gets nothing, for a second. A list that stands still gets no
// rows, unless its own are gone.
func TestParts_version(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPage(t)
		p.call(theKey, "GET", "/v1/pets", "")
		version := func(query string) string {
			return query + "&version=" + url.QueryEscape(regexp.MustCompile(`data-version="([^"]+)"`).FindStringSubmatch(p.parts(query))[1])
		}
		shown := version("text=pets&top=1")
		assert.Empty(t, p.parts(shown))
		assert.Empty(t, p.parts(version("text=pets")))
		contain(t, p.parts(strings.Replace(shown, "top=1", "", 1)), `id="list"`)
		contain(t, p.parts(strings.Replace(shown, "pets", "pet", 1)), `id="strip"`)
		time.Sleep(time.Second)
		contain(t, p.parts(shown), `id="strip"`)
		shown = version("top=1")
		p.call(theKey, "GET", "/v1/pets", "")
		contain(t, p.parts(shown), ">1 new</button>")
		assert.NotContains(t, p.parts(shown), `id="list"`)
		p.Clear()
		contain(t, p.parts(shown), `id="list"`)
		assert.NotContains(t, p.parts(shown), "<tbody")
	})
}

// The newest pets are listed, and all are counted.
func TestParts_pets(t *testing.T) {
	p := newTestPage(t)
	for range maxPets + 5 {
		p.srv.AddPet(petstore.NewPet{Name: strings.Repeat("ä", 3_000), CategoryID: 9})
	}
	text := p.parts("")
	contain(t, text, "5 older ones before them", "<tr><td>105</td>", "<tr><td>6</td>")
	assert.NotContains(t, text, "<tr><td>5</td>")
	assert.Less(t, len(text), 100<<10)
}

// Bodies are laid out with their numbers unchanged.
func TestDetail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPage(t)
		for i, c := range []struct{ body, want string }{
			{`{"name":"\u00e9","categoryId":9223372036854775807,"a":1}`, "{\n  \"name\": \"\\u00e9\",\n  \"categoryId\": 9223372036854775807,\n  \"a\": 1\n}"},
			{`{"name":`, `>{"name":</pre>`},
			{"\xff\x00", "2 bytes"},
			{"é", "2 bytes"},
			{"", "0 bytes"},
		} {
			p.call(theKey, "POST", "/v1/pets", c.body)
			assert.Contains(t, p.parts(fmt.Sprintf("request=%d", i+1)), c.want)
		}
		contain(t, p.parts("request=2"), `<b class="refused">400</b>`, "00:01:00, 1m0s after this response")
		p.srv.Inject(fake.Fault{Delay: time.Second, Status: 204})
		go p.call(theKey, "GET", "/v1/pets", "")
		synctest.Wait()
		contain(t, p.parts("request=6"), ">no response<", `<b class="pending">`)
		assert.NotContains(t, p.parts(""), ">no response 1<", "it may come")
		time.Sleep(2 * time.Second)
		contain(t, p.parts("request=6"), `<b class="fine">204</b>`, "took 1s")
	})
}

// In a bubble, since today's timestamps in the headers may contain 503.
func TestFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPage(t)
		p.srv.AddKey("team-key-000001", fake.PlanFree)
		p.call(theKey, "POST", "/v1/pets", `{"name":"Zoë","categoryId":1}`)
		p.srv.Inject(fake.Fault{Status: 503, RetryAfter: "77"})
		p.call(theKey, "GET", "/v1/pets", "")
		time.Sleep(time.Second)
		p.call("team-key-000001", "GET", "/v1/pets/7", "")
		p.call("other-key", "GET", "/v1/no-such-path", "")
		assert.Equal(t, []time.Duration{-1, 0, -1, -1}, []time.Duration{p.Journal()[0].Since, p.Journal()[1].Since, p.Journal()[2].Since, p.Journal()[3].Since})
		for text, want := range map[string]int{
			"": 4, "ZOË": 1, "authorization: bearer": 4, "retry-after: 77": 1, "getpet": 1, "no such": 1, "categoryID": 1,
			"violation": 1, "violation deprecated-operation": 1, "Status:5xx 77": 1, "status:4XX": 2, "status:4xx -status:404": 0,
			"status:": 4, "-zoë": 3, "status:200 status:503": 0, "operation:none": 1, "operation:LISTPETS": 1, "status:none": 0, "-": 4,
			"key:team-key-000001": 1, "-key:team-key-000001 -key:unknown": 2, "key:none": 0, "status:pending": 0,
		} {
			filter, problem := NewFilter(text)
			assert.Empty(t, problem, text)
			found := slices.DeleteFunc(p.Journal(), func(r *Request) bool { return !filter.Fits(r) })
			assert.Len(t, found, want, text)
		}
	})
}

func TestWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		999_600: "<1ms", 1_256_000: "1.26ms", 998_400_000: "998ms", 58_949 * time.Millisecond: "58.9s",
		61_234 * time.Millisecond: "1m1.2s", 90*time.Minute + 1100*time.Millisecond: "1h30m1s", -time.Hour: "-1h0m0s",
	} {
		assert.Equal(t, want, words(d))
	}
}

func TestChart(t *testing.T) {
	now := time.Unix(1_900_000_002, 0)
	one := func(status int, at time.Time) *Request {
		return &Request{Request: fake.Request{StatusCode: status, Time: at, Hint: "none"}}
	}
	all := []*Request{one(0, now), one(500, now), one(429, now)}
	for range 4500 {
		all = append(all, one(200, now.Add(10*time.Second)))
	}
	c := newChart(all, now.Add(time.Minute))
	assert.Equal(t, []bar{{"none", 235, 918, 82}, {"failed", 235, 869, 49}, {"limited", 235, 835, 34}, {"fine", 245, 0, 1000}},
		c.Bars, "a storm leaves the rest to be seen, and the worst is at the bottom")
	assert.Equal(t, 4500, c.Peak)
	assert.Empty(t, newChart(all, now.Add(6*time.Minute)).Bars)
	assert.Empty(t, newChart(all, now.Add(-time.Minute)).Bars, "the clock was set back")
}
