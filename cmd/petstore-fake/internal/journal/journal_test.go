package journal

import (
	"net/http"
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

type testJournal struct {
	*Journal
	t *testing.T
}

func newTestJournal(t *testing.T, opts ...fake.Option) testJournal {
	t.Helper()
	return testJournal{New(fake.NewTestServer(t, opts...)), t}
}

func (j testJournal) call(method, path, body string) {
	j.callAs(fake.DefaultAPIKey, method, path, body)
}

// callAs sends a request. It does not matter whether there is a response.
func (j testJournal) callAs(key, method, path, body string) {
	j.t.Helper()
	r, err := http.NewRequestWithContext(j.t.Context(), method, "http://fake"+path, strings.NewReader(body))
	require.NoError(j.t, err)
	r.Header.Set("Authorization", "Bearer "+key)
	if resp, err := j.srv.HTTPClient().Transport.RoundTrip(r); err == nil {
		require.NoError(j.t, resp.Body.Close())
	}
}

func TestEntry(t *testing.T) {
	bubble := func(name string, f func(t *testing.T, p testJournal)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, newTestJournal(t)) })
		})
	}
	bubble("each request has the time since the last one of its key", func(t *testing.T, p testJournal) {
		p.srv.AddKey("second-key-0001", fake.PlanFree)
		p.call("GET", "/v1/pets", "")
		time.Sleep(time.Second)
		p.callAs("second-key-0001", "GET", "/v1/pets", "")
		for range 2 { // perhaps from two clients
			p.callAs("unknown-key", "GET", "/v1/pets", "")
		}
		time.Sleep(500 * time.Millisecond)
		p.call("GET", "/v1/pets", "")
		var since []time.Duration
		for _, e := range p.Read().List {
			since = append(since, e.Since)
		}
		assert.Equal(t, []time.Duration{-1, -1, -1, -1, 1500 * time.Millisecond}, since)
	})
	bubble("a response that comes later is taken over, and all else stays", func(t *testing.T, p testJournal) {
		p.call("GET", "/v1/pets", "")
		time.Sleep(time.Second)
		p.srv.Inject(fake.Fault{Delay: time.Minute})
		go p.call("GET", "/v1/pets?q=fake-api-key", "")
		synctest.Wait()
		assert.True(t, p.Read().List[1].Pending())
		assert.Len(t, p.Read().List[1].Violations, 1, "the key")
		time.Sleep(2 * time.Minute)
		e := p.Read().List[1]
		assert.False(t, e.Pending())
		assert.Equal(t, time.Minute, e.Ended.Sub(e.Time))
		assert.Equal(t, time.Second, e.Since)
		assert.Len(t, e.Violations, 2, "the key, and a parameter that listPets does not have")
	})
	t.Run("the list follows a journal that drops requests", func(t *testing.T) {
		p := newTestJournal(t, fake.WithJournal(5), fake.WithPlan(fake.Plan{}))
		sent := 0
		for _, n := range []int{3, 4, 300} {
			for range n {
				p.call("GET", "/v1/pets", "")
			}
			sent += n
			list := p.Read().List
			require.Len(t, list, min(sent, 5))
			assert.Equal(t, max(sent-4, 1), list[0].Seq)
			assert.Equal(t, sent, list[len(list)-1].Seq)
			assert.Equal(t, max(sent-5, 0), p.Read().Dropped)
		}
		for _, empty := range []func(){p.Clear, p.Restart, p.Clear} {
			empty()
			for range 7 {
				p.call("GET", "/v1/pets", "")
			}
			assert.Equal(t, 2, p.Read().Dropped)
			p.call("GET", "/v1/pets", "") // nobody reads it before the journal is emptied
		}
	})
	t.Run("violations stay when the journal is cleared, and go with a restart", func(t *testing.T) {
		p := newTestJournal(t)
		p.call("GET", "/v1/pets/7", "")
		p.call("GET", "/v1/pets/7", "")
		assert.Len(t, p.Read().List[1].Violations, 1)
		p.Clear()
		assert.Equal(t, 2, p.Read().Violations)
		p.Restart()
		p.call("GET", "/v1/pets", "")
		assert.Zero(t, p.Read().Violations)
		assert.Empty(t, p.Read().List[0].Violations)
	})
}

func TestRead_hidesKeysThatCameLater(t *testing.T) {
	p := newTestJournal(t)
	p.call("GET", "/v1/pets?q=team-key-000001", "")
	assert.Contains(t, p.Read().List[0].Path, "team-key-000001", "nobody knows that it is a key")
	p.srv.AddKey("team-key-000001", fake.PlanFree)
	assert.NotContains(t, p.Read().List[0].Path, "team-key-000001")
}

// In a bubble, since today's timestamps in the headers may contain 503.
func TestFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestJournal(t)
		p.srv.AddKey("team-key-000001", fake.PlanFree)
		p.call("POST", "/v1/pets?dry=1", `{"name":"Zoë","categoryId":1}`)
		p.srv.Inject(fake.Fault{Status: 503, RetryAfter: "77"})
		p.call("GET", "/v1/pets", "")
		p.callAs("team-key-000001", "GET", "/v1/pets/7", "")
		p.callAs("unknown-key", "GET", "/v1/no-such-path", "")
		fit := func(text string) (n int, problems []string) {
			filter, problems := p.NewFilter(text)
			for _, e := range p.Read().List {
				if fits, _ := filter.Fits(e); fits {
					n++
				}
			}
			return n, problems
		}
		for text, want := range map[string]int{
			"": 4, "ZOË": 1, "authorization: bearer": 4, "retry-after: 77": 1, "dry=1": 1, "getpet": 1, "status 503": 1, "no such": 1,
			"fault:TRUE": 1, "fault:false": 3, "categoryID": 1, "violation:true": 2, "violation:false": 2, "violation:deprecated-operation": 1,
			"violation:early-retry": 0, "before:3": 2, "since:3": 1, "Status:5xx 77": 1, "status:4XX": 3,
			"status:4xx -status:404": 1, "key:unknown": 1, "method:get getpet": 1, "status:": 4, "x-ratelimit-limit: 1000": 2, "-fault": 3,
			"status:200 status:503": 0, "operation:none": 1, "status:none": 0, "-": 4, "key:tea": 1, "key:#2": 1, "key:2": 1,
			"-key:2 -key:unknown": 2, "fake-API-key": 2, "unknown key": 2,
		} {
			n, problems := fit(text)
			assert.Empty(t, problems, text)
			assert.Equal(t, want, n, text)
		}
		for _, text := range []string{"violation:x", "before:x", "-status:4x", "fault:x", "operation:x", "key:secret-key"} {
			n, problems := fit(text)
			assert.Len(t, problems, 1, text)
			assert.NotContains(t, problems[0], "secret-key")
			assert.Equal(t, 4, n, "what makes no sense is left out")
		}
	})
}

// A search copies no bodies: its cost does not grow with them.
func TestFilter_allocations(t *testing.T) {
	p := newTestJournal(t, fake.WithPlan(fake.Plan{}))
	for range 100 {
		p.call("POST", "/v1/pets", `{"name":"`+strings.Repeat("x", 10_000)+`","categoryId":1}`)
	}
	list := p.Read().List
	filter, problems := p.NewFilter("-nowhere -text:GOT status:2xx key:fake-api-key operation:createPet violation:false fault:false")
	require.Empty(t, problems)
	assert.LessOrEqual(t, testing.AllocsPerRun(10, func() {
		for _, e := range list {
			filter.Fits(e)
		}
	}), 0.0)
}
