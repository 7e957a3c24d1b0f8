package fake_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
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
	long := strings.Repeat("x", mib-100) // what is longer than 1 MiB is slow to redact
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
			send := func() { // without net/http, which bounds headers
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
			for range 2 { // the first of which is changed
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
		srv := fake.NewTestServer(t, fake.WithJournal(3))
		assert.Zero(t, srv.Arrived())
		for range 5 {
			viaMemory(t, srv).list(t)
		}
		assert.Len(t, srv.Requests(), 3)
		for seq, want := range map[int]bool{-1: false, 0: false, 2: false, 3: true, 5: true, 6: false} {
			r, found := srv.Request(seq)
			require.Equal(t, want, found, "seq %d", seq)
			assert.True(t, !found || r.Seq == seq)
		}
		assert.Equal(t, 5, srv.Arrived())

		none := fake.NewTestServer(t, fake.WithJournal(0))
		viaMemory(t, none).list(t)
		assert.Empty(t, none.Requests())
	})
	t.Run("has a request before the client has its response", func(t *testing.T) {
		srv := fake.NewTestServer(t)
		d := viaURL(t, srv)
		for i := range 200 {
			d.list(t)
			entries := srv.Requests()
			require.Len(t, entries, i+1)
			require.Equal(t, http.StatusOK, entries[i].StatusCode)
		}
	})
	t.Run("names a key by its number", func(t *testing.T) {
		srv, d := open(t, fake.WithKey("second-key", fake.PlanFree))
		srv.AddKey("third-key", fake.PlanPro)
		for _, auth := range []string{"", "Bearer second-key", "Bearer third-key", "-", "Bearer unknown-key", "Basic third-key"} {
			d.send(t, request{path: "/pets", auth: auth})
		}
		srv.RevokeKey("second-key")
		d.send(t, request{path: "/pets", auth: "Bearer second-key"})
		srv.AddKey("second-key", fake.PlanPro)
		d.send(t, request{path: "/pets", auth: "Bearer second-key"})
		for i, want := range []int{1, 2, 3, 0, 0, 0, 0, 2} {
			assert.Equal(t, want, srv.Requests()[i].Key, "request %d", i+1)
		}
		assert.Equal(t, []string{fake.DefaultAPIKey, "second-key", "third-key"}, srv.Keys())
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
	// The responses of requests that were cleared away meanwhile must take no room in the journal.
	t.Run("the response to a request that is gone takes no room", func(t *testing.T) {
		srv, clearing := fake.NewTestServer(t), true
		srv.OnRequest(func(seq int) {
			if _, found := srv.Request(seq); found && clearing {
				srv.ClearRequests()
			}
		})
		srv.Inject(fake.Fault{Status: 200, Body: make([]byte, 1<<20), Times: fake.Forever})
		d := viaMemory(t, srv)
		for range 65 {
			d.list(t)
		}
		assert.Empty(t, srv.Requests())
		clearing = false
		d.list(t)
		assert.Len(t, srv.Requests(), 1)
	})
}

func TestOnRequest(t *testing.T) {
	var noted []string
	srv := fake.NewTestServer(t)
	srv.OnRequest(func(seq int) {
		r, found := srv.Request(seq)
		noted = append(noted, fmt.Sprint(seq, found, r.StatusCode))
	})
	d := viaMemory(t, srv)
	d.list(t)
	assert.Equal(t, []string{"1 true 0", "1 true 200"}, noted)
	srv.Inject(fake.Fault{Status: 503})
	d.list(t)
	assert.Equal(t, []string{"2 true 0", "2 true 503"}, noted[2:])
}

func TestRequestsOf(t *testing.T) {
	srv, d := open(t, fake.WithKey("second-key", fake.PlanFree))
	d.list(t)
	_, err := srv.ClientFor("second-key").CreatePet(t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 7})
	require.NoError(t, err)
	d.send(t, request{path: "/pets", auth: "Bearer unknown-key"})
	require.Len(t, srv.RequestsOf(petstore.OpCreatePet), 1)
	assert.Equal(t, 2, srv.RequestsOf(petstore.OpCreatePet)[0].Seq)
	assert.Equal(t, srv.RequestsOf(petstore.OpCreatePet), srv.RequestsFor("second-key"))
	assert.Len(t, srv.RequestsFor(srv.APIKey()), 1)
	assert.Len(t, srv.RequestsOf(""), 3)
	assert.Empty(t, srv.RequestsOf(petstore.OpGetPet))
}

func TestWaitForRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := fake.NewTestServer(t)
		require.NoError(t, srv.WaitForRequests(t.Context(), 0))
		start := time.Now()
		go func() {
			for range 3 {
				time.Sleep(time.Second)
				_, err := srv.Client().ListPets(t.Context(), petstore.ListPetsParams{})
				assert.NoError(t, err)
			}
		}()
		require.NoError(t, srv.WaitForRequests(t.Context(), 2))
		assert.Equal(t, 2*time.Second, time.Since(start))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := srv.WaitForRequests(ctx, 4)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.EqualError(t, err, "fake: 3 of 4 requests arrived: context deadline exceeded")
	})
}
