package fake_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestFaultTimes(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault fake.Fault
		want  string
	}{
		{"once", fake.Fault{}, "x........."},
		{"three times", fake.Fault{Times: 3}, "xxx......."},
		{"for ever", fake.Fault{Times: fake.Forever}, "xxxxxxxxxx"},
		{"the fourth", fake.Fault{Skip: 3}, "...x......"},
		{"from the fourth on", fake.Fault{Skip: 3, Times: fake.Forever}, "...xxxxxxx"},
		{"by chance", fake.Fault{Chance: 0.5, Times: fake.Forever}, "..x.xxx.x."},
		{"by chance, twice", fake.Fault{Chance: 0.5, Times: 2}, "..x.x....."},
		{"certainly", fake.Fault{Chance: 1, Times: 2}, "xx........"},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv, d := open(t, fake.WithSeed(3))
			c.fault.Status = 500
			injected := srv.Inject(c.fault)
			got := ""
			for range 10 {
				got += map[bool]string{true: "x", false: "."}[d.list(t).status == 500]
			}
			assert.Equal(t, c.want, got)
			assert.Equal(t, strings.Count(c.want, "x"), injected.Fired())
		})
	}
}

func TestFaultFor(t *testing.T) {
	srv := fake.NewTestServer(t, fake.WithClock(func() time.Time { return time.Unix(1_000_000_000, 0) }))
	d := viaMemory(t, srv)
	injected := srv.Inject(fake.Fault{Status: 503, For: time.Minute})
	assert.Equal(t, srv.Now().Add(time.Minute), injected.Until())
	assert.Equal(t, 503, d.list(t).status)
	srv.Advance(time.Minute - 1)
	assert.Equal(t, 503, d.list(t).status)
	require.Len(t, srv.Injections(), 1)
	assert.True(t, srv.Injections()[0].Active())
	srv.Advance(1)
	assert.Equal(t, 200, d.list(t).status)
	assert.False(t, srv.Injections()[0].Active())
	assert.Zero(t, srv.Inject(fake.Fault{Status: 503}).Until())
	srv.Reset() // so that the last fault need not strike
}

func TestFaultMatch(t *testing.T) {
	t.Run("strikes only fitting requests", func(t *testing.T) {
		srv, d := open(t, fake.WithKey("other-key", fake.PlanFree))
		other := request{path: "/pets", auth: "Bearer other-key"}

		srv.Inject(fake.Fault{Operation: petstore.OpCreatePet, Status: 500})
		assert.Equal(t, 200, d.list(t).status)
		assert.Equal(t, 500, d.send(t, create("Rex")).status)

		srv.Inject(fake.Fault{APIKey: "other-key", Status: 500})
		assert.Equal(t, 200, d.list(t).status)
		assert.Equal(t, 500, d.send(t, other).status)

		srv.Inject(fake.Fault{Status: 500, Match: func(r *http.Request) bool { return r.URL.Query().Has("limit") }})
		assert.Equal(t, 200, d.list(t).status)
		assert.Equal(t, 500, d.send(t, request{path: "/pets?limit=3"}).status)
	})
	t.Run("the first of several fitting faults strikes", func(t *testing.T) {
		srv, d := open(t)
		first := srv.Inject(fake.Fault{Status: 501})
		srv.Inject(fake.Fault{Status: 502})
		removed := srv.Inject(fake.Fault{Status: 503, Times: fake.Forever})
		assert.Equal(t, 501, d.list(t).status)
		assert.Equal(t, 502, d.list(t).status)
		assert.Equal(t, 503, d.list(t).status)
		removed.Remove()
		removed.Remove()
		first.Remove()
		assert.Equal(t, 200, d.list(t).status)
		assert.Equal(t, 1, removed.Fired())
	})
	throughEveryEntryPoint(t, "may read the body and call the server",
		nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
			inner := srv.HTTPClient()
			var injected *fake.Injection
			injected = srv.Inject(fake.Fault{Status: 500, Operation: petstore.OpCreatePet, Match: func(r *http.Request) bool {
				body, err := io.ReadAll(r.Body)
				assert.NoError(t, err)
				assert.Equal(t, "/v1/pets", r.RequestURI)
				srv.AddPet(petstore.NewPet{Name: "by Match"})
				assert.Zero(t, injected.Fired())
				assert.Equal(t, http.StatusOK, entryPoint{inner, "http://service.test/v1"}.list(t).status)
				r.Header.Set("Authorization", "gone")
				return strings.Contains(string(body), "Max")
			}})
			r := d.send(t, create("Rex"))
			assert.Equal(t, http.StatusCreated, r.status)
			assert.Contains(t, r.body, `"name":"Rex"`)
			assert.Equal(t, 500, d.send(t, create("Max")).status)
		})
	throughEveryEntryPoint(t, "strikes as many of concurrent requests as of others",
		nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
			injected := srv.Inject(fake.Fault{Status: 500, Skip: 5, Times: 3})
			var mu sync.Mutex
			struck := 0
			var wg sync.WaitGroup
			for range 40 {
				wg.Go(func() {
					if d.list(t).status == 500 {
						mu.Lock()
						defer mu.Unlock()
						struck++
					}
				})
			}
			wg.Wait()
			assert.Equal(t, 3, struck)
			assert.Equal(t, 3, injected.Fired())
		})
	t.Run("a panic is a response, or no connection, and fails the test", func(t *testing.T) {
		for _, wire := range []fake.Wire{"", fake.WireRefuse} {
			tb := &recorder{}
			srv := fake.NewTestServer(tb)
			srv.Inject(fake.Fault{
				Match: func(*http.Request) bool { panic("oh no") }, Chance: 0.5, Times: fake.Forever, Wire: wire,
			})
			r, err := viaMemory(t, srv).try(t, request{path: "/pets"})
			if wire == fake.WireRefuse {
				assert.ErrorContains(t, err, "the fake server panicked: oh no")
			} else {
				assert.Equal(t, http.StatusInternalServerError, r.status)
				assert.Contains(t, r.body, "the fake server panicked: oh no")
			}
			srv.Reset() // so that the fault need not strike
			tb.end()
			assert.Contains(t, tb.errors.String(), "the handling of a request panicked: oh no")
			assert.Contains(t, tb.errors.String(), "injection_test.go")
		}
	})
}

func TestInjections(t *testing.T) {
	srv := fake.NewTestServer(t)
	srv.Inject(fake.Fault{Status: 500, Header: http.Header{"x-a": {"1"}}})
	often := srv.Inject(fake.Fault{Status: 502, Times: fake.Forever})
	srv.Inject(fake.Fault{Status: 503}).Remove()
	for range 3 {
		viaMemory(t, srv).list(t)
	}
	all := srv.Injections()
	require.Len(t, all, 2)
	assert.Equal(t, []int{1, 2}, []int{all[0].ID(), all[1].ID()})
	assert.Equal(t, []int{1, 2}, []int{all[0].Fired(), all[1].Fired()})
	assert.Equal(t, []bool{false, true}, []bool{all[0].Active(), all[1].Active()})
	assert.Equal(t, fake.Fault{Status: 500, Header: http.Header{"X-A": {"1"}}}, all[0].Fault())
	all[0].Fault().Header.Set("X-A", "2")
	assert.Equal(t, "1", srv.Injections()[0].Fault().Header.Get("X-A"), "the result is a copy")
	all[0].Remove()
	assert.Equal(t, []*fake.Injection{often}, srv.Injections())
	often.Remove()
	for range 1_100 {
		srv.Inject(fake.Fault{Status: 500})
		req := request{path: "/pets"}.build(t, "http://service.test/v1")
		req.Body = nil
		srv.ServeHTTP(httptest.NewRecorder(), req)
	}
	all = srv.Injections()
	assert.InDelta(t, 1_000, len(all), 10, "those that struck long ago are forgotten")
	assert.Equal(t, 1_103, all[len(all)-1].ID())
	srv.Reset()
	assert.Empty(t, srv.Injections())
}
