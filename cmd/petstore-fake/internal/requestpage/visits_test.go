package requestpage

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

// rowsOf returns the rows of a page, oldest first.
func rowsOf(p testPage) []row {
	p.t.Helper()
	p.visits.update(p.feed.journal())
	rows, _ := p.newestRows(nil)
	return rows
}

// tried returns the tries of rows as "seq:try/tries".
func tried(rows []row) (list []string) {
	for _, r := range rows {
		if r.Tries > 0 {
			list = append(list, fmt.Sprintf("%d:%d/%d", r.Seq, r.Try, r.Tries))
		}
	}
	return list
}

func TestVisits(t *testing.T) {
	t.Parallel()
	const body = `{"name":"Rex","categoryId":1}`
	bubble := func(name string, f func(t *testing.T, p testPage)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { f(t, newTestPage(t, fake.DefaultAPIKey)) })
		})
	}
	bubble("the same request after a 503, a reset and a body that was cut off is a retry", func(t *testing.T, p testPage) {
		p.srv.Inject(fake.Fault{Status: 503})
		p.call("POST", "/v1/pets", body)
		p.srv.Inject(fake.Fault{Wire: fake.WireReset})
		func() {
			defer func() { _ = recover() }() // as the fake breaks off a connection that is none
			p.call("POST", "/v1/pets", body)
		}()
		p.srv.Inject(fake.Fault{Wire: fake.WireTruncate})
		func() {
			defer func() { _ = recover() }()
			p.call("POST", "/v1/pets", body)
		}()
		time.Sleep(retryGap)
		p.call("POST", "/v1/pets", body)
		p.call("POST", "/v1/pets", body)
		assert.Equal(t, []string{"1:1/4", "2:2/4", "3:3/4", "4:4/4"}, tried(rowsOf(p)))
	})
	bubble("another body, another key, a later time and a success make none", func(t *testing.T, p testPage) {
		p.srv.AddKey("second-key-0001", fake.PlanFree)
		p.srv.Inject(fake.Fault{Status: 503, Times: 3})
		for range 3 {
			p.call("POST", "/v1/pets", body)
			time.Sleep(retryGap + time.Second)
		}
		p.call("POST", "/v1/pets", strings.ToUpper(body))
		p.callAs("second-key-0001", "POST", "/v1/pets", body)
		p.call("GET", "/v1/pets", "")
		p.call("GET", "/v1/pets", "")
		assert.Empty(t, tried(rowsOf(p)))
	})
	bubble("two that fail at once are retried once each", func(t *testing.T, p testPage) {
		p.srv.Inject(fake.Fault{Status: 503, Delay: time.Second, Times: 2})
		for range 2 {
			go p.call("POST", "/v1/pets", body)
			synctest.Wait()
		}
		assert.Empty(t, tried(rowsOf(p)))
		time.Sleep(2 * time.Second)
		p.call("POST", "/v1/pets", body)
		p.call("POST", "/v1/pets", body)
		assert.Equal(t, []string{"1:1/2", "2:1/2", "3:2/2", "4:2/2"}, tried(rowsOf(p)))
	})
	bubble("each row has the time since the last request of its key", func(t *testing.T, p testPage) {
		p.srv.AddKey("second-key-0001", fake.PlanFree)
		p.call("GET", "/v1/pets", "")
		time.Sleep(time.Second)
		p.callAs("second-key-0001", "GET", "/v1/pets", "")
		p.callAs("unknown-key", "GET", "/v1/pets", "")
		time.Sleep(500 * time.Millisecond)
		p.call("GET", "/v1/pets", "")
		var since []string
		for _, r := range rowsOf(p) {
			since = append(since, r.Since)
		}
		assert.Equal(t, []string{"", "", "", "+1.5 s"}, since)
	})
	bubble("a request that came too early says by how much", func(t *testing.T, p testPage) {
		p.srv.SetPlan(fake.DefaultAPIKey, fake.Enterprise(1, 0))
		p.call("GET", "/v1/pets", "")
		p.call("GET", "/v1/pets", "")
		time.Sleep(400 * time.Millisecond)
		p.call("GET", "/v1/pets", "")
		last := rowsOf(p)[2]
		require.Len(t, last.Rules, 1)
		assert.Equal(t, "early by 59.6 s", last.Rules[0].Text)
		assert.Contains(t, last.Rules[0].Detail, "(section 8.3)")
	})
	t.Run("the list follows a journal that drops requests", func(t *testing.T) {
		t.Parallel()
		p := newTestPage(t, fake.DefaultAPIKey, fake.WithJournal(5), fake.WithPlan(fake.Enterprise(0, 0)))
		for range 3 {
			p.call("GET", "/v1/pets/7", "")
		}
		assert.Len(t, rowsOf(p), 3)
		for range 4 {
			p.call("GET", "/v1/pets", "")
		}
		rows := rowsOf(p)
		require.Len(t, rows, 5)
		assert.Equal(t, 3, rows[0].Seq)
		for range 300 {
			p.call("GET", "/v1/pets", "")
		}
		rows = rowsOf(p)
		require.Len(t, rows, 5)
		assert.Equal(t, 303, rows[0].Seq)
		first, last := p.visits.span()
		assert.Equal(t, []int{303, 307}, []int{first, last})
	})
	t.Run("the list starts again with the journal", func(t *testing.T) {
		t.Parallel()
		p := newTestPage(t, fake.DefaultAPIKey)
		p.call("GET", "/v1/pets/7", "")
		p.call("GET", "/v1/pets/7", "")
		assert.Len(t, rowsOf(p), 2)
		p.srv.Restart()
		p.Reset()
		assert.Empty(t, rowsOf(p))
		assert.Zero(t, p.visits.violations())
		p.call("GET", "/v1/pets", "")
		rows := rowsOf(p)
		require.Len(t, rows, 1)
		assert.Empty(t, rows[0].Rules)
	})
}

func TestRequestFilter(t *testing.T) {
	t.Parallel()
	p := newTestPage(t, fake.DefaultAPIKey)
	p.call("POST", "/v1/pets?dry=1", `{"name":"Zoë","categoryId":1}`)
	p.srv.Inject(fake.Fault{Status: 503, RetryAfter: "77"})
	p.call("GET", "/v1/pets", "")
	p.call("GET", "/v1/pets/7", "")
	r := request(t, "GET", "/v1/pets", "")
	r.Header.Set("X-Trace", "Blue")
	p.send(r)
	at := fmt.Sprint(p.srv.Now().Unix())
	for query, want := range map[string]int{
		"": 4, "text=": 4, "text=ZO%C3%8B": 1, "text=x-trace: blue": 1, "text=retry-after: 77": 1, "text=dry=1": 1,
		"text=getpet": 1, "text=status 503": 1, "text=no such": 0, "fault=true": 1, "fault=false": 3,
		"violation=true": 2, "violation=false": 2, "violation=deprecated-operation": 1, "violation=early-retry": 0,
		"at=0": 0, "status=5xx&text=77": 1, "text=section 5": 1,
	} {
		query = strings.ReplaceAll(query, " ", "%20")
		archive := p.call("GET", "/_fake/har?"+query, "")
		require.Equal(t, http.StatusOK, archive.Code, archive.Body)
		assert.Equal(t, want, strings.Count(archive.Body.String(), "startedDateTime"), query)
	}
	now := p.call("GET", "/_fake/har?at="+at, "").Body.String() + p.call("GET", "/_fake/har?at="+fmt.Sprint(p.srv.Now().Unix()-4), "").Body.String()
	assert.Contains(t, now, "startedDateTime", "the requests of the last five seconds")
}
