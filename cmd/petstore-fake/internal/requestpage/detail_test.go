package requestpage

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

// detail returns a request as the page shows it.
func (p testPage) detail(id string) string {
	p.t.Helper()
	w := p.call("GET", "/_fake/requests/"+id, "")
	require.Equal(p.t, http.StatusOK, w.Code, w.Body)
	return html.UnescapeString(w.Body.String())
}

func TestDetail(t *testing.T) {
	t.Parallel()
	t.Run("notes say until when a client had to wait, and what it did", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := newTestPage(t, fake.WithPlan(fake.Enterprise(1, 0)))
			for _, pause := range []time.Duration{0, 0, time.Second, time.Hour} {
				time.Sleep(pause)
				p.call("GET", "/v1/pets", "")
			}
			assert.Contains(t, p.detail("2/html"), "until 00:01:00; the next request with this key came too early, after 1 s")
			third := p.detail("3/html")
			assert.Contains(t, third, "until 00:01:00; the next request with this key came after 1 h")
			assert.Contains(t, third, "00:01:00, 59 s after this response")
			assert.Contains(t, third, "try 2 of 2")
			assert.NotContains(t, p.detail("1/html"), "until ")
			p.call("GET", "/v1/pets", "")
			assert.Contains(t, p.detail("5/html"), "no request with this key came since")
		})
	})
	t.Run("the tries of a call have their waits beside what Retry-After asked for", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := newTestPage(t)
			p.srv.Inject(fake.Fault{Status: 503, Times: 2, RetryAfter: "4"})
			for _, pause := range []time.Duration{0, time.Second, 8 * time.Second} {
				time.Sleep(pause)
				p.call("GET", "/v1/pets", "")
			}
			text := p.detail("2/html")
			assert.Equal(t, 3, strings.Count(text, "data-open="))
			for _, want := range []string{
				`viewBox="0 0 8 10"`, `width="4" height="10"/><rect class="waited" y="3" width="1"`,
				"waited 1 s of 4 s", `<rect class="waited" y="3" width="8"`, "waited 8 s of 4 s",
			} {
				assert.Contains(t, text, want)
			}
			for range 3 * maxTries {
				p.srv.Inject(fake.Fault{Status: 500})
				p.call("GET", "/v1/pets/1", "")
			}
			for id, first := range map[string]int{"5": 4, "33": 24, "63": 44} {
				text := p.detail(id + "/html")
				assert.Equal(t, maxTries, strings.Count(text, "data-open="), id)
				assert.Contains(t, text, fmt.Sprintf(`data-open="%d"`, first), id)
			}
		})
	})
	t.Run("a JSON body is laid out with its numbers as they are", func(t *testing.T) {
		t.Parallel()
		p := newTestPage(t)
		p.call("POST", "/v1/pets", `{"name":"\u00e9","categoryId":9223372036854775807,"categoryId":1}`)
		assert.Contains(t, p.detail("1/html"), "{\n  \"name\": \"\\u00e9\",\n  \"categoryId\": 9223372036854775807,\n  \"categoryId\": 1\n}")
		p.call("POST", "/v1/pets", `{"name":`)
		assert.Contains(t, p.detail("2/html"), `>{"name":</pre>`)
	})
	t.Run("a large request is shown in part", func(t *testing.T) {
		t.Parallel()
		p := newTestPage(t)
		p.call("POST", "/v1/pets", strings.Repeat("\xff", 1<<20))
		assert.Less(t, len(p.detail("1/html")), 64<<10)
		assert.Greater(t, len(p.detail("1/curl")), 4<<20)
		assert.Greater(t, len(p.detail("1")), 1<<20)
	})
	t.Run("no response is not an empty one", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := newTestPage(t)
			p.srv.Inject(fake.Fault{Delay: time.Second, Status: 204})
			go p.call("GET", "/v1/pets", "")
			synctest.Wait()
			assert.Contains(t, p.detail("1/html"), "No response yet.")
			time.Sleep(2 * time.Second)
			assert.NotContains(t, p.detail("1/html"), "No response")
			assert.Equal(t, 2, strings.Count(p.detail("1/html"), "No body."))
		})
	})
	t.Run("a step leads to the next request that fits, also to one that is not listed", func(t *testing.T) {
		t.Parallel()
		p := newTestPage(t, fake.WithPlan(fake.Enterprise(0, 0)))
		p.call("GET", "/v1/pets/1", "")
		for range maxRows + 10 {
			p.call("GET", "/v1/pets", "")
		}
		assert.Contains(t, p.detail("5/html?step=older"), "Request 4<")
		assert.Contains(t, p.detail("5/html?step=newer"), "Request 6<")
		assert.Contains(t, p.detail("5/html?step=older&status=404"), "Request 1<")
		assert.Equal(t, http.StatusNoContent, p.call("GET", "/_fake/requests/1/html?step=older", "").Code)
	})
}

func TestFind_otherJournal(t *testing.T) {
	t.Parallel()
	p := newTestPage(t)
	p.call("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`)
	at := regexp.MustCompile(`data-journal="(\w+)"`).FindStringSubmatch(p.detail("1/html"))[1]
	for _, empty := range []func(){p.Clear, p.Restart} {
		empty()
		p.call("GET", "/v1/pets", "")
	}
	for path, method := range map[string]string{"html": "GET", "curl": "GET", "repeat": "POST"} {
		w := p.call(method, "/_fake/requests/1/"+path+"?journal="+at, "")
		assert.Equal(t, http.StatusConflict, w.Code, path)
		assert.Contains(t, w.Body.String(), "the journal was cleared since")
	}
	assert.Len(t, p.srv.Requests(), 1, "nothing was sent")
}

func TestCode(t *testing.T) {
	t.Parallel()
	p := newTestPage(t)
	p.call("GET", "/v1/pets?limit=5", "")
	for form, want := range map[string]string{"curl": "curl 'http://", "go": "client.ListPets(", "fetch": "await fetch("} {
		w := p.call("GET", "/_fake/requests/1/"+form, "")
		assert.Contains(t, w.Body.String(), want)
		assert.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"))
		assert.Contains(t, w.Body.String(), "fake-api-key", "anybody may see this key")
	}
	p.srv.AddKey("second-key-0001", fake.PlanFree)
	p.callAs("second-key-0001", "GET", "/v1/pets", "")
	assert.Contains(t, p.detail("2/curl"), `"Authorization: Bearer $PETSTORE_API_KEY"`)
	for path, want := range map[string]int{"1/perl": 404, "3/curl": 404, "x/curl": 404, "1/curl?size=1": 400, "1/html?status=x": 400, "1?bytes=1": 400} {
		assert.Equal(t, want, p.call("GET", "/_fake/requests/"+path, "").Code, path)
	}
}

func TestRepeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newTestPageOf(t, "operator-secret")
		p.callAs("operator-secret", "POST", "/v1/pets?dry=1", `{"name":"Rex","categoryId":1}`)
		p.srv.SetLatency(time.Second)
		assert.Equal(t, http.StatusNoContent, p.call("POST", "/_fake/requests/1/repeat", "").Code)
		synctest.Wait()
		assert.Equal(t, "pending", rowsOf(p)[1].Status, "the route does not wait")
		time.Sleep(2 * time.Second)
		again := rowsOf(p)[1]
		assert.Equal(t, "POST /v1/pets?dry=1 201 ope… #1", again.Method+" "+again.Path+" "+again.Status+" "+again.Sender)
		assert.Equal(t, http.StatusNotFound, p.call("POST", "/_fake/requests/9/repeat", "").Code)
	})
}
