package fake_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestJournalBytes(t *testing.T) {
	const mib = 1 << 20
	long := strings.Repeat("x", mib-100) // longer bodies take long to redact
	for name, c := range map[string]struct {
		response int
		request  request
		kept     int
	}{
		"responses": {response: 8 * mib, kept: 7},
		"bodies":    {request: request{path: "/pets", body: long}, kept: 63},
		"paths":     {request: request{path: "/pets?" + long}, kept: 63},
		"headers":   {request: request{path: "/pets", header: http.Header{"X-Big": {long}}}, kept: 63},
	} {
		t.Run("at most 64 MiB of "+name, func(t *testing.T) {
			srv := fake.NewTestServer(t)
			srv.Inject(fake.Fault{Status: http.StatusOK, Body: make([]byte, c.response), Times: fake.Forever})
			send := func() { // without net/http, which limits the size of headers
				srv.ServeHTTP(httptest.NewRecorder(), c.request.build(t, "http://service.test/v1"))
			}
			for range c.kept + 2 {
				send()
			}
			_, there := srv.Request(2)
			assert.False(t, there)
			_, there = srv.Request(3)
			assert.True(t, there)
			srv.ClearRequests()
			send()
			assert.Len(t, srv.Requests(), 1)
		})
	}
}

func TestJournal(t *testing.T) {
	throughEveryEntryPoint(t, "holds copies of the request and the response",
		nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
			srv.Inject(fake.Fault{Header: http.Header{
				"X-Trace": {"a", "b " + fake.DefaultAPIKey}, "X-Ratelimit-Reset": nil,
			}})
			q := create("Rex")
			q.path += "?dry=1"
			q.header = http.Header{"X-Trace": {"a", "b"}}
			before := time.Now()
			answer := d.send(t, q)
			assert.Contains(t, answer.header["X-Trace"], "b "+fake.DefaultAPIKey)
			answer.header["X-Trace"][1] = "b [redacted]"
			for range 2 { // a change of the first result must not show in the second
				r := lastRequest(t, srv)
				assert.Equal(t, []string{"a", "b"}, r.Header.Values("X-Trace"))
				assert.Equal(t, "Bearer [redacted]", r.Header.Get("Authorization"))
				assert.WithinDuration(t, before, r.Time, 10*time.Second)
				assert.Equal(t, fake.Request{
					Seq: 1, Operation: petstore.OpCreatePet, Key: 1, Method: http.MethodPost, Path: "/v1/pets?dry=1",
					Header: r.Header, Body: []byte(`{"name":"Rex","categoryId":1}`),
					StatusCode: answer.status, ResponseHeader: r.ResponseHeader, ResponseBody: []byte(answer.body),
					Time: r.Time, Duration: r.Duration,
					FaultEffect: "no header X-Ratelimit-Reset, header X-Trace: a, b [redacted]",
				}, r)
				for name := range answer.header {
					if name != "Connection" { // which net/http adds
						assert.Equal(t, answer.header[name], r.ResponseHeader[name])
					}
				}
				assert.NotContains(t, r.ResponseHeader, "X-Ratelimit-Reset")
				r.Body[2], r.ResponseBody[2], r.ResponseHeader["X-Trace"][0] = 'X', 'X', "changed"
				r.Header.Set("Authorization", "gone")
			}
		})
	t.Run("holds as many requests as WithJournal says, and finds them by their Seq", func(t *testing.T) {
		srv, d := open(t, fake.WithJournal(3))
		assert.Zero(t, srv.Arrived())
		for range 5 {
			d.list(t)
		}
		assert.Len(t, srv.Requests(), 3)
		for seq, want := range map[int]bool{-1: false, 0: false, 2: false, 3: true, 5: true, 6: false} {
			r, found := srv.Request(seq)
			assert.True(t, found == want && (!found || r.Seq == seq), "seq %d", seq)
		}
		assert.Equal(t, 5, srv.Arrived())

		for limit, opts := range map[int][]fake.Option{0: with(fake.WithJournal(0)), 10_000: nil} {
			srv := fake.NewTestServer(t, append(opts, fake.WithPlan(fake.Plan{}))...)
			r := request{path: "/pets"}.build(t, "http://service.test/v1")
			for range limit + 1 {
				srv.ServeHTTP(httptest.NewRecorder(), r)
			}
			assert.Len(t, srv.Requests(), limit)
		}
	})
	t.Run("has a request before the client has its response", func(t *testing.T) {
		srv := fake.NewTestServer(t)
		d := viaURL(t, srv)
		for range 200 {
			d.list(t)
			require.Equal(t, http.StatusOK, lastRequest(t, srv).StatusCode)
		}
		assert.Len(t, srv.Requests(), 200)
	})
	inBubble(t, "has a request while it is held back", nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		srv.SetLatency(time.Second)
		time.AfterFunc(time.Second-1, func() { assert.Zero(t, lastRequest(t, srv).StatusCode) })
		d.list(t)
		assert.Equal(t, http.StatusOK, lastRequest(t, srv).StatusCode)
		assert.Equal(t, time.Second, lastRequest(t, srv).Duration)
	})
}

func TestJournalSecrets(t *testing.T) {
	t.Run("a key does not get into it, wherever a client puts it", func(t *testing.T) {
		const key = "s3cret/key+1=="
		srv := fake.NewTestServer(t, fake.WithKey(key, fake.PlanFree), fake.WithKey("longer"+key, fake.PlanFree))
		for _, auth := range []string{"Bearer " + key, "bearer " + key, "Basic " + key, key, "Bearer unknown-key"} {
			d := viaMemory(t, srv)
			d.send(t, request{
				path: "/pets?" + url.QueryEscape(key) + "=1&key=" + url.QueryEscape(key) + "&status=" + url.QueryEscape(key), auth: auth,
				header: http.Header{"X-Api-Key": {key}, "Proxy-Authorization": {"Basic unknown-key"}},
			})
			d.send(t, request{path: "/pets/" + url.PathEscape(key), auth: auth})
			d.send(t, request{path: "/pets/longer" + key, auth: auth})
			d.send(t, request{path: "/pets", auth: auth, body: `{"name":"` + key + `","categoryId":1}`})
		}
		srv.RevokeKey(key)
		all := fmt.Sprintf("%+v %v", srv.Requests(), srv.Violations())
		for _, r := range srv.Requests() {
			all += string(r.Body) + string(r.ResponseBody)
		}
		for _, secret := range []string{key, url.QueryEscape(key), url.PathEscape(key), "unknown-key", "longer"} {
			assert.NotContains(t, all, secret)
		}
		assert.Equal(t, strings.Repeat("fake.Server ", 5), fmt.Sprintf("%v %+v %#v %d %x ", srv, srv, srv, srv, srv))
	})
}

func TestClearRequests(t *testing.T) {
	t.Run("empties the journal alone and counts on", func(t *testing.T) {
		srv, d := open(t)
		d.send(t, create("Rex"))
		d.send(t, request{path: "/pets/1"})
		srv.ClearRequests()
		assert.Empty(t, srv.Requests())
		assert.Len(t, srv.Violations(), 1)
		assert.Len(t, srv.Pets(), 1)
		assert.Equal(t, 2, srv.Usage(srv.APIKey()).Minute)
		d.list(t)
		require.Len(t, srv.Requests(), 1)
		assert.Equal(t, 3, srv.Requests()[0].Seq)
	})
	inBubble(t, "the responses to requests that are gone take no room", nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		srv.Inject(fake.Fault{Delay: time.Second, Body: make([]byte, 1<<20), Times: 65}) // more than 64 MiB
		var wg sync.WaitGroup
		for range 65 {
			wg.Go(func() { d.list(t) })
		}
		synctest.Wait()
		srv.ClearRequests()
		wg.Wait()
		d.list(t)
		assert.Len(t, srv.Requests(), 1)
	})
}

func TestOnRequest(t *testing.T) {
	srv, d := open(t)
	var noted []string
	srv.OnRequest(func(seq int) {
		r, found := srv.Request(seq)
		noted = append(noted, fmt.Sprint(seq, found, r.StatusCode))
	})
	d.list(t)
	srv.Inject(fake.Fault{Status: 503})
	d.list(t)
	assert.Equal(t, []string{"1 true 0", "1 true 200", "2 true 0", "2 true 503"}, noted)
}

func TestRequestsOf(t *testing.T) {
	srv, d := open(t, fake.WithKey("second-key", fake.PlanFree))
	d.list(t)
	_, err := srv.ClientFor("second-key").CreatePet(t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 7})
	require.NoError(t, err)
	d.send(t, request{path: "/pets", auth: "Bearer unknown-key"})
	seqs := func(list []fake.Request) (seqs []int) {
		for _, r := range list {
			seqs = append(seqs, r.Seq)
		}
		return seqs
	}
	assert.Equal(t, []int{2}, seqs(srv.RequestsOf(petstore.OpCreatePet)))
	assert.Equal(t, []int{1, 3}, seqs(srv.RequestsOf(petstore.OpListPets)))
	assert.Equal(t, []int{1, 2, 3}, seqs(srv.RequestsOf("")))
	assert.Equal(t, []int{2}, seqs(srv.RequestsFor("second-key")))
	assert.Equal(t, []int{1}, seqs(srv.RequestsFor(srv.APIKey())))
}

func TestWaitForRequests(t *testing.T) {
	inBubble(t, "", nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		require.NoError(t, srv.WaitForRequests(t.Context(), 0))
		start := time.Now()
		for i := range 3 {
			time.AfterFunc(time.Duration(i+1)*time.Second, func() { d.list(t) })
		}
		require.NoError(t, srv.WaitForRequests(t.Context(), 2))
		assert.Equal(t, 2*time.Second, time.Since(start))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := srv.WaitForRequests(ctx, 4)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.EqualError(t, err, "fake: 3 of 4 requests arrived: context deadline exceeded")
	})
}

func TestRepeat(t *testing.T) {
	ban := with(fake.WithPlan(fake.Plan{PerMinute: 1}), fake.WithBan(1, time.Hour), fake.WithStrict())
	inBubble(t, "is marked, and no client's", ban, func(t *testing.T, srv *fake.Server, d entryPoint) {
		d.send(t, create("Rex"))
		for seq := 2; seq < 6; seq++ { // over the limit, early, often enough for a ban, and a repeated create
			n, err := srv.Repeat(1)
			require.NoError(t, err)
			assert.Equal(t, seq, n)
			synctest.Wait()
		}
		first, _ := srv.Request(1)
		last := lastRequest(t, srv)
		assert.Equal(t, 1, last.Repeats)
		assert.Equal(t, http.StatusTooManyRequests, last.StatusCode)
		assert.Equal(t, first.Body, last.Body)
		assert.Equal(t, 1, last.Key)
		assert.Empty(t, srv.Violations())
		assert.Zero(t, srv.Usage(srv.APIKey()).BannedUntil)
	})
	again := with(fake.WithPlan(fake.Plan{PerMinute: 1}), fake.WithBan(1, time.Hour))
	inBubble(t, "does not keep the client from a ban", again, func(t *testing.T, srv *fake.Server, d entryPoint) {
		d.admitted(t)
		time.Sleep(time.Minute)
		_, err := srv.Repeat(1)
		require.NoError(t, err)
		synctest.Wait()
		d.list(t) // the second 429 without an admitted request of the client in between
		assert.NotZero(t, srv.Usage(srv.APIKey()).BannedUntil)
	})
	inBubble(t, "leaves the conduct of the client as it is", nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		q := create("Rex")
		q.path += "?dry=1"
		broken := []fake.Rule{fake.RuleRepeatedCreate, fake.RuleUnknownName}
		srv.Inject(fake.Fault{Status: 502})
		d.send(t, q)
		srv.Inject(fake.Fault{Status: 429, RetryAfter: "3600"})
		for range 2 {
			_, err := srv.Repeat(1)
			require.NoError(t, err)
			synctest.Wait()
		}
		assert.Empty(t, rules(srv))
		d.send(t, q)
		assert.Equal(t, broken, rules(srv), "and the 429 asked only the operator to wait")
	})
	inBubble(t, "is bounded, and ends with Close", with(fake.WithStrict()), func(t *testing.T, srv *fake.Server, d entryPoint) {
		_, err := srv.Repeat(1)
		require.EqualError(t, err, "fake: Repeat: there is no request #1 in the journal")
		d.list(t)
		refusal := srv.Inject(fake.Fault{Wire: fake.WireRefuse})
		_, err = srv.Repeat(1)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		refusal.Remove()
		srv.Inject(fake.Fault{Wire: fake.WireStall, Times: fake.Forever})
		for range 16 {
			_, err = srv.Repeat(1)
			require.NoError(t, err)
		}
		_, err = srv.Repeat(1)
		require.EqualError(t, err, "fake: Repeat: 16 repeats have not ended yet")
		srv.Close()
		_, err = srv.Repeat(1)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
	})
}

func TestRequestsAfter(t *testing.T) {
	srv, d := open(t, fake.WithJournal(5))
	for range 8 {
		d.list(t)
	}
	for _, c := range []struct {
		after, n int
		want     []int
	}{
		{0, 100, []int{4, 5, 6, 7, 8}}, {0, 2, []int{4, 5}}, {3, 1, []int{4}}, {5, 2, []int{6, 7}},
		{7, 9, []int{8}}, {8, 9, []int{}}, {99, 9, []int{}}, {-1, 1, []int{4}}, {5, 0, []int{}}, {5, -1, []int{}},
	} {
		got := []int{}
		for _, r := range srv.RequestsAfter(c.after, c.n) {
			got = append(got, r.Seq)
		}
		assert.Equal(t, c.want, got, "after %d, %d", c.after, c.n)
	}
}
