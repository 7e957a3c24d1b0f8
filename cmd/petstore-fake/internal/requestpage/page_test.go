package requestpage

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

func TestShow_policy(t *testing.T) {
	t.Parallel()
	p := newTestPage(t, "")
	w := p.get(p.Show, "")
	text, header := w.Body.String(), w.Header()
	policy := strings.Split(header.Get("Content-Security-Policy"), "; ")
	for _, directive := range []string{
		"default-src 'none'", "connect-src 'self'", "img-src data:", "form-action 'none'", "base-uri 'none'",
		"frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types page",
	} {
		assert.Contains(t, policy, directive)
	}
	assert.NotContains(t, strings.Join(policy, ""), "unsafe")
	for directive, element := range map[string]string{"script-src": "script", "style-src": "style"} {
		found := regexp.MustCompile(`(?s)<`+element+`>(.*?)</`+element+`>`).FindAllStringSubmatch(text, -1)
		require.Len(t, found, 1, element)
		sum := sha256.Sum256([]byte(found[0][1]))
		assert.Contains(t, policy, directive+" 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	for name, want := range map[string]string{
		"X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
	} {
		assert.Equal(t, want, header.Get(name), name)
	}
	for _, resource := range []string{
		"<link rel=\"stylesheet", " src=", "@import", "url(", "style=\"", "onclick=\"", "outerHTML", "insertAdjacentHTML",
		"document.write", "eval(",
	} {
		assert.NotContains(t, text, resource)
	}
	assert.Equal(t, 1, strings.Count(text, "innerHTML"), "one place takes the program's markup")
}

func TestShow_presets(t *testing.T) {
	t.Parallel()
	p := newTestPage(t, "")
	examples := regexp.MustCompile(`data-fault="([^"]*)"`).FindAllStringSubmatch(p.get(p.Show, "").Body.String(), -1)
	assert.Greater(t, len(examples), 5)
	for _, example := range examples {
		_, err := spec.ParseFaults(html.UnescapeString(example[1]))
		assert.NoError(t, err, example[1])
	}
}

func TestShow_escapes(t *testing.T) {
	t.Parallel()
	const evil = `<img src=x onerror=alert(1)></script><script>alert(2)</script>"'`
	p := newTestPage(t, "")
	body, err := json.Marshal(map[string]any{"name": evil, "categoryId": 1, evil: 1})
	require.NoError(t, err)
	p.call("POST", "/v1/pets?"+url.QueryEscape(evil)+"=1", string(body))
	p.call("GET", "/v1/"+url.PathEscape(evil), "")
	p.srv.Inject(fake.Fault{Status: 503, Message: evil})
	for _, query := range []string{"text=" + url.QueryEscape(evil), "request=1", "request=2"} {
		text := p.get(p.Show, query).Body.String()
		assert.NotContains(t, text, "<img")
		assert.Equal(t, 1, strings.Count(text, "<script"), query)
		assert.Equal(t, 1, strings.Count(text, "</script"), query)
	}
}

func TestParts_rows(t *testing.T) {
	t.Parallel()
	p := newTestPage(t, "operator-secret", fake.WithPlan(fake.Enterprise(0, 0)), fake.WithJournal(250))
	assert.Contains(t, p.parts(""), "Bearer $PETSTORE_API_KEY", "a command for a first request")
	p.srv.AddKey("second-key-0001", fake.Enterprise(1, 0))
	for range 2 {
		p.callAs("second-key-0001", "GET", "/v1/pets?limit=3", "")
	}
	text := p.parts("")
	for _, want := range []string{
		"listPets", "GET /pets?limit=3", "sec… #2", `<b class="limited">429</b>`, "(section 8.1)", `href="/_fake/har?text="`,
		`data-find="status:2xx">2xx 1<`, `data-find="status:429">429 1<`,
	} {
		assert.Contains(t, text, want)
	}
	assert.Less(t, strings.Index(text, `id="r2"`), strings.Index(text, `id="r1"`), "newest first")
	assert.NotContains(t, text, "second-key-0001")
	assert.NotContains(t, text, "operator-secret")

	text = p.parts("text=status:429+key:2&key=2")
	assert.Equal(t, 1, strings.Count(text, `id="r`)-strings.Count(text, `id="rows`))
	assert.Contains(t, text, "1 of 2")
	assert.Contains(t, text, `data-find="status:2xx">2xx 1<`, "the chips count what the press would show")
	assert.Contains(t, text, `href="/_fake/har?text=status%3A429+key%3A2"`)
	assert.Contains(t, text, "of 1 a minute", "the windows of the chosen key")
	assert.Contains(t, p.parts("text=status:418"), "No request fits.")

	for range 1000 {
		p.callAs("operator-secret", "GET", "/v1/pets", "")
	}
	text = p.parts("")
	assert.Equal(t, maxRows, strings.Count(text, "<tr role=\"row\" id="))
	assert.Contains(t, text, "The newest 200 of 250.")
	assert.Contains(t, text, "752 older requests were dropped")
	text = p.parts("text=before:801")
	assert.Contains(t, text, `id="r800"`)
	assert.NotContains(t, text, `id="r801"`)
	p.Journal.Clear()
	p.callAs("operator-secret", "GET", "/v1/pets", "")
	assert.NotContains(t, p.parts(""), "dropped", "it was cleared")
}

func TestParts_wrongQuery(t *testing.T) {
	t.Parallel()
	p := newTestPage(t, "")
	for _, query := range []string{"text=status:x", "request=x", "request=0", "key=x", "colour=red", "text=violation:x"} {
		assert.Equal(t, http.StatusBadRequest, p.get(p.Parts, query).Code, query)
	}
	assert.Contains(t, p.parts("request=5"), `id="detail" aria-labelledby="detail-title" hidden`)
}

func TestParts_faults(t *testing.T) {
	t.Parallel()
	p := newTestPage(t, "operator-secret")
	p.srv.Inject(fake.Fault{Status: 503, Times: 2})
	p.srv.Inject(fake.Fault{APIKey: "operator-secret", Delay: time.Minute, Times: fake.Forever, For: 10 * time.Minute})
	assert.Contains(t, p.parts(""), "2 faults active")
	for range 2 {
		p.call("GET", "/v1/pets", "") // with an unknown key
	}
	text := p.parts("")
	assert.Contains(t, text, "<code>delay=1m, key=#1, times=forever, for=10m</code>")
	assert.Contains(t, text, "1 over")
	assert.Contains(t, text, `data-act="DELETE faults/1"`)
	assert.Contains(t, text, "1 fault active")
	assert.NotContains(t, text, "operator-secret")
}

func TestChart(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_900_000_002, 0)
	var all []journal.Summary
	for i, status := range []int{200, 304, 404, 429, 500, 0} {
		all = append(all, journal.Summary{Key: 1 + i%2, Status: status, Ended: now, Reset: time.Unix(1_900_000_060, 0)})
	}
	all = append(all, journal.Summary{Key: 1}) // has no response yet
	requests := slices.Values(all)
	c := newChart(requests, now.Add(time.Minute), 1)
	assert.Equal(t, []bar{{"fine", 235, 0, 2}, {"refused", 235, 2, 1}, {"limited", 235, 3, 1}, {"failed", 235, 4, 1}, {"lost", 235, 5, 1}}, c.Bars)
	assert.Equal(t, 6, c.Peak)
	assert.Equal(t, map[int64]bool{295: true}, c.Ends)
	assert.Empty(t, newChart(requests, now, 1).Ends, "the window has not ended yet")
	assert.Empty(t, newChart(requests, now.Add(time.Minute), 3).Ends, "no response of this key")
	assert.Empty(t, newChart(requests, now.Add(6*time.Minute), 1).Bars)
	assert.Empty(t, newChart(requests, now.Add(-time.Minute), 1).Bars, "the clock was set back")
	for _, unix := range []int64{0, 1, 299, 300} {
		at := time.Unix(unix, 0)
		assert.Len(t, newChart(slices.Values([]journal.Summary{{Ended: at}}), at, 1).Bars, 1, "%d", unix)
	}

	p := newTestPage(t, "")
	p.call("GET", "/v1/pets", "")
	assert.Contains(t, p.parts(""), `<rect class="fine"`)
	p.srv.Advance(time.Minute)
	assert.Regexp(t, `<path class="end" d="M\d+ 0V1">`, p.parts(""))
	p.Journal.Restart()
	assert.NotContains(t, p.parts(""), `<rect class="fine"`)
}

func TestEvents(t *testing.T) {
	t.Parallel()
	t.Run("say that something has changed, a burst once, and a beat without changes", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := newTestPage(t, "")
			ctx, cancel := context.WithCancel(t.Context())
			events, ended := p.follow(ctx)
			assert.Equal(t, "retry: 1000\ndata: changed\n\n", <-events)
			for range 100 {
				p.call("GET", "/v1/pets", "")
			}
			assert.Equal(t, "data: changed\n\n", <-events)
			begun := time.Now()
			assert.Equal(t, "event: beat\ndata:\n\n", <-events, "the burst was one event")
			assert.Equal(t, eventPause+beatPause, time.Since(begun))
			cancel()
			assert.NoError(t, <-ended)
		})
	})
	t.Run("end with the page", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := newTestPage(t, "")
			_, ended := p.follow(t.Context())
			synctest.Wait()
			p.Close()
			assert.NoError(t, <-ended)
		})
	})
	t.Run("miss no change that comes while one is sent", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := newTestPage(t, "")
			ctx, cancel := context.WithCancel(t.Context())
			events, ended := p.follow(ctx)
			<-events
			time.Sleep(eventPause / 2)
			p.Changed()
			assert.Equal(t, "data: changed\n\n", <-events)
			cancel()
			<-ended
		})
	})
}

func TestDetail(t *testing.T) {
	t.Parallel()
	t.Run("notes say until when a client had to wait", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := newTestPage(t, "", fake.WithPlan(fake.Enterprise(1, 0)))
			for _, pause := range []time.Duration{0, 0, time.Second, time.Hour} {
				time.Sleep(pause)
				p.call("GET", "/v1/pets", "")
			}
			assert.Contains(t, p.parts("request=2"), "<em>until 2000-01-01 00:01:00</em>")
			third := p.parts("request=3")
			assert.Contains(t, third, "2000-01-01 00:01:00, 59s after this response")
			assert.Contains(t, third, "try 2 of 2")
			assert.NotContains(t, p.parts("request=1"), "until ")
		})
	})
	t.Run("a plan without a limit has none, not 2,147,483,647", func(t *testing.T) {
		t.Parallel()
		p := newTestPage(t, "", fake.WithPlan(fake.Enterprise(0, 0)))
		p.call("GET", "/v1/pets", "")
		text := p.parts("request=1")
		assert.Contains(t, text, "<dd>2147483647 <em>no limit</em></dd>", "the header as it was sent")
		assert.Contains(t, text, "a minute: no limit")
		assert.NotContains(t, text, "2,147,483,647")
	})
	t.Run("the tries of a call have their waits beside what Retry-After asked for", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := newTestPage(t, "")
			p.srv.Inject(fake.Fault{Status: 503, Times: 2, RetryAfter: "4"})
			for _, pause := range []time.Duration{0, time.Second, 8 * time.Second} {
				time.Sleep(pause)
				p.call("GET", "/v1/pets", "")
			}
			text := p.parts("request=2")
			assert.Equal(t, 3, strings.Count(text, "data-open="))
			for _, want := range []string{"waited 1s of 4s", "waited 8s of 4s"} {
				assert.Contains(t, text, want)
			}
			for range 3 * maxTries {
				p.srv.Inject(fake.Fault{Status: 500})
				p.call("GET", "/v1/pets/1", "")
			}
			for id, first := range map[int]int{5: 4, 33: 24, 63: 44} {
				text := p.parts(fmt.Sprintf("request=%d", id))
				assert.Equal(t, maxTries, strings.Count(text, "data-open="), id)
				assert.Contains(t, text, fmt.Sprintf(`data-open="%d"`, first), id)
			}
		})
	})
	t.Run("bodies are laid out with their numbers as they are, in part if they are large", func(t *testing.T) {
		t.Parallel()
		p := newTestPage(t, "")
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
		p.call("POST", "/v1/pets", strings.Repeat("\xff", 1<<20))
		assert.Less(t, len(p.parts("request=7")), 64<<10)
	})
	t.Run("no response is not an empty one", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := newTestPage(t, "")
			p.srv.Inject(fake.Fault{Delay: time.Second, Status: 204})
			go p.call("GET", "/v1/pets", "")
			synctest.Wait()
			assert.Contains(t, p.parts("request=1"), "no response yet")
			time.Sleep(2 * time.Second)
			assert.NotContains(t, p.parts("request=1"), "no response")
			assert.Equal(t, 2, strings.Count(p.parts("request=1"), ">empty<"))
		})
	})
}
