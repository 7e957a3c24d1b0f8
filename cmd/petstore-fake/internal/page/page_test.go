package page

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/testkit"
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

// call sends a request with a key to the service.
func (p testPage) call(key, method, path, body string) {
	r := httptest.NewRequestWithContext(p.t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	p.srv.ServeHTTP(httptest.NewRecorder(), r)
}

// parts returns the HTML of the page's parts that change. Entities such as &#34; are replaced by
// their characters.
func (p testPage) parts(query string) string {
	w := httptest.NewRecorder()
	p.Parts(w, httptest.NewRequestWithContext(p.t.Context(), http.MethodGet, "/_fake/page?"+query, http.NoBody))
	return html.UnescapeString(w.Body.String())
}

// contain checks that a text contains all the wanted parts.
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
		assert.Equal(t, 4, strings.Count(w.Body.String(), "<script"), query)
		contain(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'", "script-src 'self'", "frame-ancestors 'none'")
	}
}

func TestParts(t *testing.T) {
	p := newTestPage(t, fake.WithPlan(fake.Plan{}), fake.WithJournal(250))
	p.srv.AddKey("second-key-0001", fake.Plan{PerMinute: 1})
	for range 2 {
		p.call("second-key-0001", "GET", "/v1/pets?limit=3", "")
	}
	contain(t, p.parts(""), "listPets", "GET </span>/pets?limit=3", "second-key-0001", "(section 8.1)",
		`<b class="limited">429</b>`, `aria-pressed="false">2xx 1<`, `aria-pressed="false">429 1<`)
	contain(t, p.parts("text=status:429+key:second-key-0001&key=2"), "1 of 2",
		"of 1 a minute") // the window of key 2, which the query chooses
	assert.Regexp(t, `data-to="\?key=2"\s+aria-pressed="true">429 1<`, p.parts("text=status:429&key=2"), "it shows all again")
	contain(t, p.parts("top=1"), ">1 new<")
	assert.NotRegexp(t, `[?&](top|version)=`, p.parts("top=1&version=1"), "a link begins at the newest request")
	p.srv.AddKey("banned-key-0001", fake.Plan{PerMinute: 9})
	p.srv.BanKey("banned-key-0001", time.Hour)
	contain(t, p.parts("key=3"), "1 key banned", "<strong>0</strong> of 9 a minute")
	for range 1000 {
		p.call(theKey, "GET", "/v1/pets", "")
	}
	text := p.parts("")
	assert.Equal(t, maxRows, strings.Count(text, `<tbody id="r`))
	contain(t, text, "The newest 100 of 250.")
	p.Clear()
	contain(t, p.parts("top=1000"), "No request yet") // a cleared row goes even from a list that stands still
	p.call(theKey, "GET", "/v1/pets", "")
	contain(t, p.parts("text=listPets&request=x&key=x&colour=red"), `<td class="op">`)
	contain(t, p.parts("request=5"), "Request 5 is not in the journal")
	p.call(theKey, "POST", "/v1/pets", strings.Repeat("body ", 99))
	for range maxPets + 5 {
		p.srv.AddPet(petstore.NewPet{Name: strings.Repeat("ä", 3_000), CategoryID: 9})
	}
	assert.NotContains(t, p.parts(""), strings.Repeat("body ", 20), "long bodies are cut")
	text = p.parts("text=status:418")
	contain(t, text, "No request fits.", "5 older ones before them", "<tr><td>105</td>", "<tr><td>6</td>")
	assert.NotContains(t, text, "<tr><td>5</td>")
	assert.Less(t, len(text), 100<<10, "long names are cut")
}

// The page indents JSON bodies, and does not change their numbers.
func TestDetail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPage(t)
		for i, c := range []struct{ body, want string }{
			{`{"name":"\u00e9","a":9223372036854775807}`, "{\n  \"name\": \"\\u00e9\",\n  \"a\": 9223372036854775807\n}"},
			{`{"name":`, `>{"name":</pre>`},
			{"\xff\x00", "2 bytes"},
			{"", "0 bytes"},
		} {
			p.call(theKey, "POST", "/v1/pets", c.body)
			contain(t, p.parts(fmt.Sprintf("request=%d", i+1)), c.want)
		}
		contain(t, p.parts("request=2"), `<b class="refused">400</b>`, "00:01:00, 1m0s after this response")
		p.srv.SetPlan(theKey, fake.Plan{PerDay: 9})
		p.srv.Inject(fake.Fault{Delay: 61_234 * time.Millisecond, Status: 204})
		contain(t, p.parts(""), "1 fault active")
		go p.call(theKey, "GET", "/v1/pets", "")
		synctest.Wait()
		contain(t, p.parts("request=5"), ">no response<", `<b class="pending">`)
		assert.NotContains(t, p.parts(""), ">no response 1<", "it may come")
		time.Sleep(2 * time.Minute)
		contain(t, p.parts("request=5"), `<b class="fine">204</b>`, "took 1m1.2s",
			"2000-01-02 00:00:00, 23h58m58.8s after this response")
	})
}

// TestFilter runs in virtual time, in which Since is exactly one second.
func TestFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPage(t)
		p.srv.AddKey("team-key-000001", fake.PlanFree)
		p.call(theKey, "POST", "/v1/pets", `{"name":"Zoë","categoryId":1}`)
		p.srv.Inject(fake.Fault{Status: 503, RetryAfter: "77"})
		time.Sleep(time.Second)
		p.call(theKey, "GET", "/v1/pets", "")
		p.call("team-key-000001", "GET", "/v1/pets/7", "")
		p.call("other-key", "GET", "/v1/no-such-path", "")
		since := func(n int) time.Duration { return p.Journal()[n].Since } // of the nth request
		assert.Equal(t, []time.Duration{-1, time.Second, -1, -1}, []time.Duration{since(0), since(1), since(2), since(3)})
		assert.Equal(t, "injected fault with status 503", p.Journal()[1].Why())
		for text, want := range map[string]int{
			"": 4, "ZOË": 1, "authorization: bearer": 4, "retry-after: 77": 1, "getpet": 1, "no such": 1, `{"id":1,`: 1,
			"violation deprecated-operation": 1, "Status:5xx 77": 1, "status:4xx -status:404": 0, "status:none": 0,
			"status:": 0, "key": 3, "-zoë": 3, "operation:none": 1, "operation:LISTPETS": 1, "status:200 status:503": 0,
			"key:team-key-000001": 1, "-key:team-key-000001 -key:unknown": 2, "key:none": 0,
		} {
			filter := NewFilter(text)
			found := slices.DeleteFunc(p.Journal(), func(r *Request) bool { return !filter.Fits(r) })
			assert.Len(t, found, want, text)
		}
		p.call("third-key", "GET", "/v1/pets", "")
		assert.EqualValues(t, -1, since(4), "it may come from anybody")
	})
}

func TestChart(t *testing.T) {
	now := time.Unix(1_900_000_002, 0)
	one := func(status int, at time.Time) *Request {
		return &Request{Request: fake.Request{StatusCode: status, Time: at, Hint: "none"}}
	}
	pending := &Request{Request: fake.Request{Time: now.Add(10 * time.Second)}}
	all := []*Request{pending, one(0, now), one(500, now), one(429, now)}
	for range 4500 {
		all = append(all, one(200, now.Add(10*time.Second)))
	}
	drawn := newChart(all, now.Add(time.Minute))
	assert.Equal(t, 4500, drawn.Peak, "a request without a response does not count")
	assert.Equal(t, []bar{{"none", 235, 918, 82}, {"failed", 235, 869, 49}, {"limited", 235, 835, 34}, {"fine", 245, 0, 1000}},
		drawn.Bars, "a storm leaves the rest to be seen, and the worst is at the bottom")
	assert.Empty(t, newChart(all, now.Add(6*time.Minute)).Bars)
	assert.Empty(t, newChart(all, now.Add(-time.Minute)).Bars, "the clock was set back")
}

// A real shell runs the command of each request. The service must get the same request again.
func TestCurl(t *testing.T) {
	testkit.Loopback(t)
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	const nasty = "@it's $HOME \\ \"x\" `id` $(touch pwned); & | < > * ~ # ! %s %d \\n\n"
	p := newTestPage(t)
	p.srv.AddKey("team-key-000001", fake.Plan{})
	for n, c := range []struct{ key, method, path, body string }{
		{"team-key-000001", "GET", "/v1/pets?limit=5&status=sold", ""},
		{theKey, "GET", "/v1/../[a-z]'", ""},
		{"of-another-service", "HEAD", "/v1/pets", ""},
		{theKey, "POST", "/v1/pets", nasty},
	} {
		p.call(c.key, c.method, c.path, c.body)
		sent := p.Journal()[2*n]
		command := curl(strings.TrimSuffix(p.srv.URL(), "/v1"), sent)
		assert.Equal(t, sent.Key == 0, strings.Contains(command, "$PETSTORE_API_KEY"), "a key that the journal does not have")
		shell := exec.CommandContext(t.Context(), "bash", "-c", command)
		shell.Env = []string{"PETSTORE_API_KEY=of-another-service", "no_proxy=*", "PATH=/usr/bin:/bin"}
		out, err := shell.CombinedOutput()
		require.NoError(t, err, "%s", out)
		again := p.Journal()[2*n+1]
		assert.Equal(t, []any{c.method, c.path, sent.Sender, c.body, sent.Header["Content-Type"]},
			[]any{again.Method, again.Path, again.Sender, string(again.Body), again.Header["Content-Type"]}, command)
	}
	assert.Equal(t, "'[201~ls'", quote("\x1b[201~\tls"), "nothing in a word ends a paste")
}
