package fake_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestFaultStatus(t *testing.T) {
	throughEveryEntryPoint(t, "is sent in place of the service's response, once", func(t *testing.T, srv server) {
		srv.Inject(fake.Fault{Status: 503, RetryAfter: "7"})
		r := srv.send(t, create("Rex"))
		assert.Equal(t, 503, r.status)
		assert.Equal(t, "7", r.header.Get("Retry-After"))
		assert.JSONEq(t, `{"code":"service_unavailable","message":"injected fault with status 503","status":503}`, r.body)
		assert.Equal(t, "1000", r.header.Get("X-RateLimit-Remaining"), "a fault is not counted")
		assert.Empty(t, srv.Pets())
		assert.Contains(t, srv.last(t).String(), " → 503, by a fault: injected fault with status 503")
		assert.Equal(t, http.StatusCreated, srv.send(t, create("Rex")).status)
		assert.Empty(t, srv.last(t).FaultEffect)
		srv.Inject(fake.Fault{Status: 202, AfterCommit: true})
		assert.Contains(t, srv.send(t, create("Max")).body, `"name":"Max"`, "the body of the service")
		srv.Inject(fake.Fault{Status: 302})
		assert.Empty(t, srv.list(t).body)
		srv.Inject(fake.Fault{Status: 302, Body: []byte("{}")})
		assert.Equal(t, "application/json", srv.list(t).header.Get("Content-Type"))
	})
	inBubble(t, "comes before the path, the key and the limits", func(t *testing.T, srv server) {
		srv.admitted(t)
		for _, q := range []request{{path: "/pets"}, {path: "/pets", auth: "none"}, {path: "/no-such-path"}} {
			srv.Inject(fake.Fault{Status: 599})
			r := srv.send(t, q)
			assert.Equal(t, 599, r.status)
			assert.Contains(t, r.body, `"code":"injected"`)
			assert.Equal(t, "application/json", r.header.Get("Content-Type"))
		}
	}, fake.WithPlan(fake.Plan{PerMinute: 1}))
}

func TestFaultDelay(t *testing.T) {
	const late, timeout = time.Hour + time.Second, 2 * time.Hour // late is with the latency; timeout is of the client
	for name, c := range map[string]struct {
		fault  fake.Fault
		status int // 0: the client gives up
		takes  time.Duration
	}{
		"holds the request back":             {fake.Fault{Delay: time.Hour}, 201, late},
		"holds the response back":            {fake.Fault{Delay: time.Hour, AfterCommit: true}, 201, late},
		"outlasts a client that gives up":    {fake.Fault{Delay: timeout + 1}, 0, timeout},
		"has no end in a stall":              {fake.Fault{Wire: fake.WireStall}, 0, timeout},
		"has no end in a stall after commit": {fake.Fault{Wire: fake.WireStall, AfterCommit: true}, 0, timeout},
	} {
		inBubble(t, name, func(t *testing.T, srv server) {
			srv.client.Timeout = timeout
			srv.Inject(c.fault)
			time.AfterFunc(timeout/4, func() {
				assert.Equal(t, c.fault.AfterCommit, len(srv.Pets()) == 1, srv.Pets())
				assert.Regexp(t, "^#1 POST /v1/pets .* → no response yet$", srv.last(t))
			})
			start := time.Now()
			r, _ := srv.try(t, create("Rex"))
			assert.Equal(t, c.takes, time.Since(start))
			assert.Equal(t, c.status, r.status)
			synctest.Wait()
			assert.Equal(t, c.status == 201 || c.fault.AfterCommit, len(srv.Pets()) == 1, srv.Pets())
			assert.Equal(t, len(srv.Pets()), srv.Usage(srv.APIKey()).Day, "it is counted if it is carried out")
			assert.Equal(t, c.status, srv.last(t).StatusCode)
			assert.Equal(t, c.takes, srv.last(t).Duration)
		}, fake.WithLatency(time.Second))
	}
}

func TestFaultHeader(t *testing.T) {
	throughEveryEntryPoint(t, "replaces the header and the body of the response", func(t *testing.T, srv server) {
		header, body := http.Header{
			"x-ratelimit-limit": {"many"}, "X-RateLimit-Reset": nil, "Via": {"a", "b"}, "Date": nil, "Content-Type": {},
		}, []byte(`[{"id":"1"}]`)
		injected := srv.Inject(fake.Fault{Header: header, Body: body})
		for _, fault := range []fake.Fault{{Header: header, Body: body}, injected.Fault()} { // the server has a copy
			fault.Header["Via"][0], fault.Body[0] = "c", '!'
		}
		r := srv.list(t)
		assert.Equal(t, "many", r.header.Get("X-RateLimit-Limit"))
		assert.Equal(t, "999", r.header.Get("X-RateLimit-Remaining"))
		assert.Equal(t, []string{"a", "b"}, r.header.Values("Via"))
		for _, name := range []string{"X-Ratelimit-Reset", "Date", "Content-Type"} {
			assert.NotContains(t, r.header, name)
		}
		assert.Equal(t, `[{"id":"1"}]`, r.body)
		assert.Equal(t, "12", r.header.Get("Content-Length"))
	})
}

func TestFaultTimes(t *testing.T) {
	for want, fault := range map[string]fake.Fault{ // x: of ten requests, those to which the fault applies
		"x.........": {},
		"xxx.......": {Times: 3, For: time.Hour},
		"xxxxxxxxxx": {Times: fake.Forever},
		"...xxxxxxx": {Skip: 3, Times: fake.Forever},
		"..x.xxx.x.": {Chance: 0.5, Times: fake.Forever},
	} {
		fault.Status = 500
		srv, got := open(t, fake.WithSeed(3), fake.WithFaults(fault)), ""
		for i := range 20 {
			if i == 10 {
				srv.Reset()
			}
			got += map[int]string{500: "x", 200: "."}[srv.list(t).status]
		}
		assert.Equal(t, want+want, got, "the same after Reset")
	}
}

func TestInjections(t *testing.T) {
	inBubble(t, "the first that matches applies, but a refusal comes before the others", func(t *testing.T, srv server) {
		srv.Inject(fake.Fault{Status: 503, APIKey: "other-key"})
		srv.Inject(fake.Fault{Status: 500, Operation: petstore.OpCreatePet})
		srv.Inject(fake.Fault{Status: 501})
		often := srv.Inject(fake.Fault{Status: 502, Times: fake.Forever})
		srv.Inject(fake.Fault{Wire: fake.WireRefuse})
		_, err := srv.try(t, request{path: "/pets"})
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		for _, status := range []int{501, 502, 502} {
			assert.Equal(t, status, srv.list(t).status)
		}
		often.Remove()
		assert.Equal(t, 200, srv.list(t).status)
		assert.Equal(t, 500, srv.send(t, create("Rex")).status)
		assert.Equal(t, 503, srv.send(t, request{path: "/pets", auth: "Bearer other-key"}).status)
	})
	inBubble(t, "do not apply once Match, on a copy of the request, has removed them", func(t *testing.T, srv server) {
		var removed *fake.Injection
		removed = srv.Inject(fake.Fault{Status: 500, Match: func(r *http.Request) bool {
			r.Header.Del("Content-Type")
			removed.Remove()
			return true
		}})
		assert.Equal(t, 201, srv.send(t, create("Rex")).status)
		assert.Zero(t, removed.Applied())
	})
	inBubble(t, "end by the server's clock", func(t *testing.T, srv server) {
		status := func() int { r, _ := srv.try(t, request{path: "/pets"}); return r.status }
		for wire, during := range map[fake.Wire]int{"": 503, fake.WireRefuse: 0} {
			injected := srv.Inject(fake.Fault{Status: 503, Wire: wire, For: time.Minute})
			assert.Equal(t, during, status())
			srv.Advance(time.Minute - 1)
			assert.Equal(t, during, status())
			assert.True(t, injected.Active())
			srv.Advance(1)
			assert.Equal(t, 200, status())
			assert.False(t, injected.Active())
			assert.Equal(t, 2, injected.Applied())
		}
	})
	inBubble(t, "are listed unless removed", func(t *testing.T, srv server) {
		once := srv.Inject(fake.Fault{Status: 500, Header: http.Header{"x-a": {"1"}}})
		often := srv.Inject(fake.Fault{Status: 502, Times: fake.Forever})
		srv.Inject(fake.Fault{Status: 503}).Remove()
		listed := srv.Injections()
		for range 3 {
			srv.list(t)
		}
		assert.Equal(t, []int{1, 1, 2, 2}, []int{once.ID(), once.Applied(), often.ID(), often.Applied()})
		assert.Equal(t, []bool{false, true}, []bool{once.Active(), often.Active()})
		assert.Equal(t, fake.Fault{Status: 500, Header: http.Header{"X-A": {"1"}}}, once.Fault())
		once.Remove()
		assert.Equal(t, []*fake.Injection{often}, srv.Injections())
		assert.Equal(t, []*fake.Injection{once, often}, listed)
		srv.Reset()
		assert.Empty(t, srv.Injections())
		assert.False(t, often.Active())
	})
}

func TestFaultWire(t *testing.T) {
	for wire, words := range map[fake.Wire]string{
		fake.WireReset: "connection reset", fake.WireClose: "EOF", fake.WireTruncate: "unexpected EOF",
		fake.WireGarbage: "malformed HTTP response",
	} {
		throughEveryEntryPoint(t, string(wire)+" breaks the connection", func(t *testing.T, srv server) {
			srv.list(t) // so that there is a socket to use again
			shows := wire == fake.WireTruncate
			for _, f := range []fake.Fault{{}, {AfterCommit: true}, {Body: []byte{}}, {Status: 503}} {
				pets := len(srv.Pets())
				for _, q := range []request{{path: "/pets"}, create("Rex")} {
					f.Wire = wire
					injected := srv.Inject(f)
					_, err := srv.try(t, q)
					require.ErrorContains(t, err, words, "%s, %s", f, q.path)
					assert.Equal(t, wire == fake.WireReset, errors.Is(err, syscall.ECONNRESET), "%s: %v", f, err)
					assert.Equal(t, 1, injected.Applied(), f)
				}
				assert.Equal(t, shows, srv.last(t).StatusCode == cmp.Or(f.Status, http.StatusCreated), srv.last(t))
				assert.Equal(t, shows && f.Body == nil, len(srv.last(t).ResponseBody) > 0, srv.last(t))
				assert.Equal(t, shows && f.Status == 0 || f.AfterCommit, len(srv.Pets()) == pets+1, "%s: %v", f, srv.Pets())
			}
			srv.Inject(fake.Fault{Wire: wire})
			assert.PanicsWithValue(t, http.ErrAbortHandler, func() { srv.serve(t) }, "the connection cannot be hijacked")
			assert.Equal(t, shows, srv.last(t).Hint != "injected fault by "+string(wire))
		})
	}
	throughEveryEntryPoint(t, "nothing reaches the server if refused", func(t *testing.T, srv server) {
		start := time.Now()
		srv.Inject(fake.Fault{Wire: fake.WireRefuse, Delay: time.Millisecond, Match: func(r *http.Request) bool {
			body, _ := io.ReadAll(r.Body)
			return assert.Equal(t, "POST /v1/pets", r.Method+" "+r.URL.Path+string(body))
		}})
		_, err := srv.try(t, create("Rex"))
		late := errors.Is(err, syscall.ECONNRESET) // over a socket, the client is already connected
		assert.True(t, late || errors.Is(err, syscall.ECONNREFUSED))
		assert.NotEqual(t, late, strings.Contains(srv.base, "://service.test"))
		assert.GreaterOrEqual(t, time.Since(start), time.Millisecond)
		assert.Empty(t, srv.Requests())
		assert.Zero(t, srv.Usage(srv.APIKey()).Minute)
	})
	throughEveryEntryPoint(t, "a login page comes from a proxy", func(t *testing.T, srv server) {
		srv.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		for given, status := range map[int]int{0: 200, 307: 307, 511: 511} {
			srv.Inject(fake.Fault{Wire: fake.WireLoginPage, Status: given})
			r := srv.send(t, create("Rex"))
			assert.Equal(t, status, r.status)
			assert.Equal(t, status == 307, r.header.Get("Location") != "")
			assert.Equal(t, "text/html; charset=utf-8", r.header.Get("Content-Type"))
			assert.Contains(t, r.body, "<title>Log in</title>")
			assert.NotContains(t, fmt.Sprint(r.header), "Ratelimit")
		}
		assert.Zero(t, srv.Usage(srv.APIKey()).Minute)
	})
}

func TestFaultDrip(t *testing.T) {
	for name, c := range map[string]struct {
		fault fake.Fault
		body  string // the body that arrives, in up to 100 pieces
	}{
		"a long body comes in 100 pieces":              {fake.Fault{Body: make([]byte, 12_345)}, string(make([]byte, 12_345))},
		"half of a body that is cut off takes as long": {fake.Fault{Body: []byte("abcd"), Wire: fake.WireTruncate}, "ab"},
		"a delay comes before the body":                {fake.Fault{Delay: time.Hour, Body: []byte("ab")}, "ab"},
	} {
		inBubble(t, name, func(t *testing.T, srv server) {
			c.fault.Drip = time.Minute
			srv.Inject(c.fault)
			begun := time.Now()
			resp, err := srv.client.Do(request{path: "/pets"}.build(t, srv.base))
			require.NoError(t, err)
			defer resp.Body.Close()
			first := make([]byte, 1)
			_, _ = resp.Body.Read(first)
			assert.InDelta(t, time.Minute/time.Duration(min(len(c.body), 100))+c.fault.Delay, time.Since(begun), 10)
			rest, err := io.ReadAll(resp.Body)
			assert.Equal(t, c.body, string(first)+string(rest))
			assert.Equal(t, c.fault.Wire != "", err != nil)
			assert.Equal(t, time.Minute+c.fault.Delay, time.Since(begun))
		})
	}
}
