package journal

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testJournal is a journal with its fake.
type testJournal struct {
	*Journal
	t *testing.T
}

func newTestJournal(t *testing.T, opts ...fake.Option) testJournal {
	t.Helper()
	srv := fake.NewServer(opts...)
	t.Cleanup(srv.Close)
	return testJournal{New(srv), t}
}

func (j testJournal) call(method, path, body string) {
	j.callAs(fake.DefaultAPIKey, method, path, body)
}

// callAs sends a request. There need not be a response.
func (j testJournal) callAs(key, method, path, body string) {
	j.t.Helper()
	r, err := http.NewRequestWithContext(j.t.Context(), method, "http://fake"+path, strings.NewReader(body))
	require.NoError(j.t, err)
	r.Header.Set("Authorization", "Bearer "+key)
	if resp, err := j.srv.HTTPClient().Transport.RoundTrip(r); err == nil {
		require.NoError(j.t, resp.Body.Close())
	}
}

// entries returns all requests, oldest first.
func (j testJournal) entries() (list []Entry) {
	j.t.Helper()
	j.Update()
	for _, one := range j.Requests() {
		e, ok := j.Entry(one.Seq)
		require.True(j.t, ok)
		require.Equal(j.t, e.StatusCode, one.Status)
		list = append(list, e)
	}
	return list
}

// tried returns the tries of requests as "seq:try/tries".
func tried(entries []Entry) (list []string) {
	for _, e := range entries {
		if e.Try > 0 {
			list = append(list, fmt.Sprintf("%d:%d/%d", e.Seq, e.Try, len(e.Tries)))
		}
	}
	return list
}

func TestEntry(t *testing.T) {
	const body = `{"name":"Rex","categoryId":1}`
	bubble := func(name string, f func(t *testing.T, p testJournal)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, newTestJournal(t)) })
		})
	}
	bubble("the same request after a 503, a reset and a body that was cut off is a retry", func(t *testing.T, p testJournal) {
		p.srv.Inject(fake.Fault{Status: 503})
		p.call("POST", "/v1/pets", body)
		p.srv.Inject(fake.Fault{Wire: fake.WireReset})
		p.call("POST", "/v1/pets", body)
		p.srv.Inject(fake.Fault{Wire: fake.WireTruncate})
		p.call("POST", "/v1/pets", body)
		time.Sleep(RetryGap)
		p.call("POST", "/v1/pets", body)
		p.call("POST", "/v1/pets", body)
		assert.Equal(t, []string{"1:1/4", "2:2/4", "3:3/4", "4:4/4"}, tried(p.entries()))
	})
	bubble("another body, another key, a later time and a success make none", func(t *testing.T, p testJournal) {
		p.srv.AddKey("second-key-0001", fake.PlanFree)
		p.srv.Inject(fake.Fault{Status: 503, Times: 3})
		for range 3 {
			p.call("POST", "/v1/pets", body)
			time.Sleep(RetryGap + time.Second)
		}
		p.call("POST", "/v1/pets", strings.ToUpper(body))
		p.callAs("second-key-0001", "POST", "/v1/pets", body)
		p.call("GET", "/v1/pets", "")
		p.call("GET", "/v1/pets", "")
		assert.Empty(t, tried(p.entries()))
	})
	bubble("two that fail at once are retried once each", func(t *testing.T, p testJournal) {
		p.srv.Inject(fake.Fault{Status: 503, Delay: time.Second, Times: 2})
		for range 2 {
			go p.call("POST", "/v1/pets", body)
			synctest.Wait()
		}
		assert.Empty(t, tried(p.entries()))
		time.Sleep(2 * time.Second)
		p.call("POST", "/v1/pets", body)
		p.call("POST", "/v1/pets", body)
		assert.Equal(t, []string{"1:1/2", "2:1/2", "3:2/2", "4:2/2"}, tried(p.entries()))
	})
	bubble("each request has the time since the last one of its key", func(t *testing.T, p testJournal) {
		p.srv.AddKey("second-key-0001", fake.PlanFree)
		p.call("GET", "/v1/pets", "")
		time.Sleep(time.Second)
		p.callAs("second-key-0001", "GET", "/v1/pets", "")
		p.callAs("unknown-key", "GET", "/v1/pets", "")
		time.Sleep(500 * time.Millisecond)
		p.call("GET", "/v1/pets", "")
		var since []time.Duration
		for _, e := range p.entries() {
			since = append(since, e.Since)
		}
		assert.Equal(t, []time.Duration{-1, -1, -1, 1500 * time.Millisecond}, since)
	})
	bubble("a response that comes later is taken over", func(t *testing.T, p testJournal) {
		p.srv.Inject(fake.Fault{Delay: time.Minute})
		go p.call("GET", "/v1/pets", "")
		synctest.Wait()
		assert.True(t, Pending(p.entries()[0].Request))
		time.Sleep(2 * time.Minute)
		assert.False(t, Pending(p.entries()[0].Request))
	})
	t.Run("the list follows a journal that drops requests", func(t *testing.T) {
		p := newTestJournal(t, fake.WithJournal(5), fake.WithPlan(fake.Plan{}))
		sent := 0
		for _, n := range []int{3, 4, 300} {
			for range n {
				p.call("GET", "/v1/pets", "")
			}
			sent += n
			list := p.entries()
			require.Len(t, list, min(sent, 5))
			assert.Equal(t, max(sent-4, 1), list[0].Seq)
			assert.Equal(t, sent, list[len(list)-1].Seq)
			assert.Equal(t, max(sent-5, 0), p.Update().Dropped)
		}
		for _, empty := range []func(){p.Clear, p.Restart, p.Clear} {
			empty()
			for range 7 {
				p.call("GET", "/v1/pets", "")
			}
			assert.Equal(t, 2, p.Update().Dropped)
		}
	})
	t.Run("violations stay when the journal is cleared, and go with a restart", func(t *testing.T) {
		p := newTestJournal(t)
		p.call("GET", "/v1/pets/7", "")
		p.call("GET", "/v1/pets/7", "")
		assert.Len(t, p.entries()[1].Violations, 1)
		p.Clear()
		assert.Equal(t, 2, p.Update().Violations)
		p.Restart()
		p.call("GET", "/v1/pets", "")
		assert.Zero(t, p.Update().Violations)
		assert.Empty(t, p.entries()[0].Violations)
	})
}

func TestFilter(t *testing.T) {
	p := newTestJournal(t)
	p.call("POST", "/v1/pets?dry=1", `{"name":"Zoë","categoryId":1}`)
	p.srv.Inject(fake.Fault{Status: 503, RetryAfter: "77"})
	p.call("GET", "/v1/pets", "")
	p.call("GET", "/v1/pets/7", "")
	p.callAs("unknown-key", "GET", "/v1/no-such-path", "")
	assert.Equal(t, "none", Sender(fake.Request{}))
	fit := func(query string) (n int, err error) {
		values, err := url.ParseQuery(query)
		require.NoError(t, err)
		filter, err := NewFilter(values)
		if err != nil {
			return 0, err
		}
		for _, e := range p.entries() {
			if p.Fits(filter, e.Seq) && filter.FitsStatus(e.StatusCode) {
				n++
			}
		}
		return n, nil
	}
	for query, want := range map[string]int{
		"": 4, "text=": 4, "text=ZOË": 1, "text=authorization: bearer": 4, "text=retry-after: 77": 1, "text=dry=1": 1,
		"text=getpet": 1, "text=status 503": 1, "text=no such": 0, "fault=true": 1, "fault=false": 3,
		"violation=true": 2, "violation=false": 2, "violation=deprecated-operation": 1, "violation=early-retry": 0,
		"before=3": 2, "text=since:3": 1, "status=5xx&text=77": 1, "text=status:5xx 77": 1, "text=status:4xx": 3, "text=status:4xx-404": 1,
		"text=key:unknown": 1, "text=method:GET getpet": 1, "text=status:": 4, "text=x-ratelimit-limit: 1000": 3,
		"status=200&text=status:503": 1, "operation=none": 1, "key=unknown": 1, "method=POST": 1,
	} {
		n, err := fit(query)
		require.NoError(t, err, query)
		assert.Equal(t, want, n, query)
	}
	none, err := NewFilter(url.Values{"text": {" status: "}})
	require.NoError(t, err)
	assert.False(t, none.Given())
	for _, query := range []string{"violation=x", "text=violation:x", "before=x", "text=status:4xx-x", "fault=x", "operation=x", "status=x", "key=x"} {
		_, err := fit(query)
		assert.Error(t, err, query)
	}
}
