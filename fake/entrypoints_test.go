package fake_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
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

func TestServer_everyEntryPointLeadsToTheSameService(t *testing.T) {
	srv := fake.NewTestServer(t)
	names := []string{"memory", "direct", "loopback", "handler"}
	for i, d := range []entryPoint{
		viaMemory(t, srv), viaTransport(t, srv), viaURL(t, srv), viaHandler(t, srv),
	} {
		r := d.send(t, create(names[i]))
		assert.Equal(t, http.StatusCreated, r.status)
	}
	require.Len(t, srv.Pets(), 4)
	for i, p := range srv.Pets() {
		assert.Equal(t, petstore.Pet{ID: int64(i + 1), Name: names[i], CategoryID: 1}, p)
	}
	srv.AssertRequests(t, fake.OpCreatePet, 4)
	assert.Equal(t, 4, srv.Usage(srv.APIKey()).Minute)
}

func TestServer_everyResponseCarriesTheThreeHeadersAndTheServersDate(t *testing.T) {
	opts := []fake.Option{fake.WithClock(func() time.Time { return time.Unix(1_000_000_000, 5) })}
	throughEveryEntryPoint(t, opts, func(t *testing.T, srv *fake.Server, d entryPoint) {
		srv.SetPlan(srv.APIKey(), fake.PlanFree)
		for _, c := range []struct {
			name      string
			request   request
			status    int
			remaining string
		}{
			{"list", request{path: "/pets"}, 200, "59"},
			{"created", create("Rex"), 201, "58"},
			{"found", request{path: "/pets/1"}, 200, "57"},
			{"bad request", request{path: "/pets", body: "{"}, 400, "56"},
			{"no key", request{path: "/pets", auth: "-"}, 401, "60"},
			{"no animal", request{path: "/pets/9"}, 404, "55"},
			{"no path", request{path: "/orders"}, 404, "55"},
			{"no path, no key", request{path: "/orders", auth: "-"}, 404, "60"},
			{"no method", request{method: "PATCH", path: "/pets"}, 405, "54"},
			{"head", request{method: "HEAD", path: "/pets"}, 405, "53"},
		} {
			r := d.send(t, c.request)
			assert.Equal(t, c.status, r.status, c.name)
			assert.Equal(t, "60", r.header.Get("X-RateLimit-Limit"), c.name)
			assert.Equal(t, c.remaining, r.header.Get("X-RateLimit-Remaining"), c.name)
			assert.Equal(t, "1000000060", r.header.Get("X-RateLimit-Reset"), c.name)
			assert.Equal(t, "Sun, 09 Sep 2001 01:46:40 GMT", r.header.Get("Date"), c.name)
			assert.Equal(t, "application/json", r.header.Get("Content-Type"), c.name)
			if c.request.method == http.MethodHead {
				assert.Empty(t, r.body)
			}
		}
	})
}

func TestServer_nothingRunsBeforeTheFirstRequestNorAfterClose(t *testing.T) {
	before := goroutines()
	srv := fake.NewServer()
	hc := srv.HTTPClient()
	srv.Transport()
	assert.LessOrEqual(t, goroutines(), before) // those of earlier tests may still end
	entryPoint{hc, "http://service.test/v1"}.list(t)
	d := viaURL(t, srv)
	d.list(t)
	srv.Close()
	d.client.CloseIdleConnections()
	assertNoMoreGoroutines(t, before)
}

func TestServer_thousandServersAtOnceLeaveNothingBehind(t *testing.T) {
	before := goroutines()
	var wg sync.WaitGroup
	for i := range 1_000 {
		wg.Go(func() {
			srv := fake.NewServer()
			d := viaMemory(t, srv)
			if i%20 == 0 {
				d = viaURL(t, srv)
			}
			assert.Equal(t, http.StatusOK, d.list(t).status)
			srv.Close()
			d.client.CloseIdleConnections()
		})
	}
	wg.Wait()
	assertNoMoreGoroutines(t, before)
}

func goroutines() int { return runtime.NumGoroutine() }

// assertNoMoreGoroutines gives goroutines that have nothing left to do a moment to be gone.
func assertNoMoreGoroutines(t *testing.T, before int) {
	t.Helper()
	assert.Eventually(t, func() bool { return goroutines() <= before+1 }, 10*time.Second, time.Millisecond)
	if t.Failed() {
		buf := make([]byte, 1<<16)
		t.Logf("%s", buf[:runtime.Stack(buf, true)])
	}
}

func TestServer_portIsOpenedAtTheFirstCallOfURLAndClosedByClose(t *testing.T) {
	srv := fake.NewServer()
	u, err := url.Parse(srv.URL())
	require.NoError(t, err)
	assert.Equal(t, "/v1", u.Path)
	assert.True(t, net.ParseIP(u.Hostname()).IsLoopback())
	assert.Equal(t, u.String(), srv.URL())
	srv.Close()
	_, err = net.DialTimeout("tcp", u.Host, time.Second)
	assert.ErrorIs(t, err, syscall.ECONNREFUSED)
	assert.Equal(t, u.String(), srv.URL())

	unused := fake.NewServer()
	unused.Close()
	assert.PanicsWithValue(t, "fake: URL: the server is closed", func() { unused.URL() })
}

func TestServer_closedServerRefusesConnections(t *testing.T) {
	srv := fake.NewServer()
	srv.Close()
	srv.Close()
	for _, d := range []entryPoint{viaMemory(t, srv), viaTransport(t, srv)} {
		_, err := d.try(t, create("Rex"))
		assert.ErrorIs(t, err, syscall.ECONNREFUSED)
		opErr, ok := err.(*url.Error).Err.(*net.OpError) //nolint:errorlint // this very type is promised
		require.True(t, ok)
		assert.Equal(t, "dial", opErr.Op)
	}
	rec := httptest.NewRecorder()
	srv.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/v1/pets", nil))
	assert.Equal(t, http.StatusServiceUnavailable, rec.Code)
	assert.Empty(t, srv.Requests())
}

func TestServer_HTTPClientTakesAnyHostAndHTTPS(t *testing.T) {
	srv := fake.NewTestServer(t)
	for _, base := range []string{
		"http://localhost/v1", "https://petstore.example.com/v1", "http://[2001:db8::1]:99/v1",
	} {
		assert.Equal(t, http.StatusOK, entryPoint{srv.HTTPClient(), base}.list(t).status)
	}
}

func TestServer_HTTPClientsAreTheCallersOwn(t *testing.T) {
	srv := fake.NewTestServer(t)
	first := srv.HTTPClient()
	first.Timeout, first.Transport = 1, nil
	assert.Equal(t, http.StatusOK, viaMemory(t, srv).list(t).status)
}

func TestServer_clientReachesItsServerWithAValidKey(t *testing.T) {
	srv := fake.NewTestServer(t, fake.WithPets(petstore.NewPet{Name: "Rex", CategoryID: 7}))
	result, err := srv.Client().ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	assert.Equal(t, []petstore.Pet{{ID: 1, Name: "Rex", CategoryID: 7}}, result.Pets)
	assert.Equal(t, 999, result.RateLimit.Remaining)
}

func TestServer_clientMayHaveAKeyThatRotates(t *testing.T) {
	srv := fake.NewTestServer(t, fake.WithKey("second-key", fake.PlanFree))
	keys := []string{srv.APIKey(), "second-key"}
	client := srv.Client(petstore.WithAPIKeyFunc(func(context.Context) (string, error) {
		key := keys[0]
		keys = keys[1:]
		return key, nil
	}))
	for _, number := range []int{1, 2} {
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		r, _ := srv.LastRequest()
		assert.Equal(t, number, r.Key)
	}
}

func TestServer_clientPanicsOnABadOption(t *testing.T) {
	srv := fake.NewTestServer(t)
	assert.Panics(t, func() { srv.Client(petstore.WithMaxResponseBytes(-1)) })
}

func TestServer_madeOutsideServesOneBubbleAfterAnother(t *testing.T) {
	srv := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree))
	for i := range 3 {
		synctest.Test(t, func(t *testing.T) {
			d := viaMemory(t, srv)
			start := time.Now()
			for range fake.PlanFree.PerMinute {
				require.Equal(t, http.StatusOK, d.list(t).status)
			}
			limited := d.list(t)
			assert.Equal(t, http.StatusTooManyRequests, limited.status)
			assert.Equal(t, "60", limited.header.Get("Retry-After"))
			time.Sleep(time.Minute)
			assert.Equal(t, http.StatusOK, d.list(t).status)
			assert.Equal(t, time.Minute, time.Since(start))
		})
		assert.Equal(t, i+1, srv.Usage(srv.APIKey()).Limited)
	}
}

func TestServer_transportWorksInABubbleToo(t *testing.T) {
	srv := fake.NewTestServer(t)
	synctest.Test(t, func(t *testing.T) {
		srv.Inject(fake.Fault{Delay: time.Hour})
		start := time.Now()
		assert.Equal(t, http.StatusOK, viaTransport(t, srv).list(t).status)
		assert.Equal(t, time.Hour, time.Since(start))
	})
}

func TestServer_bubbleMayEndWithoutClosingAServerThatWasMadeOutside(t *testing.T) {
	srv := fake.NewTestServer(t)
	synctest.Test(t, func(t *testing.T) {
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { viaMemory(t, srv).list(t) })
		}
		wg.Wait()
	})
}

func TestServer_clockThatWentBackStartsNewWindowsAndKeepsABan(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	srv := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(1, 1)), fake.WithKey("banned", fake.PlanPro),
		fake.WithClock(func() time.Time { return now }))
	d := viaTransport(t, srv)
	srv.BanKey("banned", time.Hour)
	d.list(t)
	assert.Equal(t, http.StatusTooManyRequests, d.list(t).status)
	now = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	assert.Equal(t, http.StatusOK, d.list(t).status)
	banned := request{path: "/pets", auth: "Bearer banned"}
	assert.Equal(t, http.StatusTooManyRequests, d.send(t, banned).status)
	now = now.Add(time.Hour)
	assert.Equal(t, http.StatusOK, d.send(t, banned).status)
}

func TestServer_closeBreaksOffALeakedBodyWithinASecondAndNamesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := &recorder{}
		srv := fake.NewTestServer(tb)
		resp, err := srv.HTTPClient().Do(request{path: "/pets?status=sold"}.build(t, "http://service.test/v1"))
		require.NoError(t, err)
		start := time.Now()
		tb.end()
		assert.LessOrEqual(t, time.Since(start), time.Second)
		assert.Contains(t, tb.log.String(), "a response body was never closed: GET /v1/pets")
		assert.Empty(t, tb.errors.String())
		_ = resp.Body.Close()
	})
}

func TestServer_closeEndsAStalledRequestAndNamesIt(t *testing.T) {
	for name, open := range map[string]func(testing.TB, *fake.Server) entryPoint{
		"memory": viaMemory, "direct": viaTransport, "loopback": viaURL,
	} {
		t.Run(name, func(t *testing.T) {
			tb := &recorder{}
			srv := fake.NewTestServer(tb)
			d := open(t, srv)
			stalled := srv.Inject(fake.Fault{Wire: fake.WireStall})
			done := make(chan error)
			req := request{path: "/pets"}.build(t, d.base)
			go func() {
				_, err := d.do(req)
				done <- err
			}()
			require.Eventually(t, func() bool { return stalled.Fired() == 1 }, 5*time.Second, time.Millisecond)
			start := time.Now()
			tb.end()
			assert.Error(t, <-done)
			assert.Less(t, time.Since(start), 3*time.Second) // a second, on a machine that is free
			assert.Contains(t, tb.log.String(), "still waiting for its response: GET /v1/pets")
		})
	}
}

func TestServer_closeLetsARequestInFlightFinish(t *testing.T) {
	srv := fake.NewServer()
	d := viaURL(t, srv)
	entered, release := make(chan bool), make(chan bool)
	srv.Inject(fake.Fault{Match: func(*http.Request) bool {
		entered <- true
		<-release
		return false
	}})
	status := make(chan int)
	req := request{path: "/pets"}.build(t, d.base)
	go func() {
		r, _ := d.do(req)
		status <- r.status
	}()
	<-entered
	closed := make(chan bool)
	go func() {
		srv.Close()
		close(closed)
	}()
	close(release)
	assert.Equal(t, http.StatusOK, <-status)
	<-closed
}

func TestServer_closeGivesUpOnAHandlerThatHangsAndNamesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := &recorder{}
		srv := fake.NewTestServer(tb)
		release := make(chan bool)
		srv.Inject(fake.Fault{Match: func(*http.Request) bool { return <-release }})
		d := viaMemory(t, srv)
		req := request{path: "/pets"}.build(t, d.base)
		go func() { _, _ = d.do(req) }()
		synctest.Wait()
		start := time.Now()
		tb.end()
		assert.LessOrEqual(t, time.Since(start), time.Second)
		assert.Contains(t, tb.log.String(), "still being handled: GET /v1/pets")
		assert.NotContains(t, tb.log.String(), "never closed")
		close(release)
	})
}

func TestServer_everyEntryPointHonoursTheRequestsContext(t *testing.T) {
	throughEveryEntryPoint(t, nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		err := d.giveUpOn(t, srv, fake.Fault{Delay: time.Hour}, request{path: "/pets"})
		require.ErrorIs(t, err, context.Canceled)
		assert.Eventually(t, func() bool {
			r := srv.Requests()
			return len(r) == 1 && r[0].Hint != ""
		}, 5*time.Second, time.Millisecond)
	})
}

func TestServer_transportSendsNothingOnAContextThatHasEnded(t *testing.T) {
	srv := fake.NewTestServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	body := &closeRecorder{Reader: strings.NewReader("{}")}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://x/v1/pets", body)
	require.NoError(t, err)
	_, err = srv.Transport().RoundTrip(req) //nolint:bodyclose // there is none
	assert.ErrorIs(t, err, context.Canceled)
	assert.True(t, body.closed)
	assert.Empty(t, srv.Requests())
}

type closeRecorder struct {
	io.Reader
	closed bool
}

func (c *closeRecorder) Close() error {
	c.closed = true
	return nil
}

func TestServer_entryPointsInMemoryCloseTheBodyOfARequestThatIsNotSent(t *testing.T) {
	for name, open := range map[string]func(testing.TB, *fake.Server) entryPoint{"memory": viaMemory, "direct": viaTransport} {
		t.Run(name, func(t *testing.T) {
			srv := fake.NewTestServer(t)
			d := open(t, srv)
			srv.Inject(fake.Fault{Wire: fake.WireRefuse})
			for _, what := range []string{"refused", "closed"} {
				body := &closeRecorder{Reader: strings.NewReader("{}")}
				req := create("Rex").build(t, d.base)
				req.Body, req.GetBody = body, nil
				resp, err := d.client.Transport.RoundTrip(req)
				if err == nil {
					resp.Body.Close()
				}
				assert.ErrorIs(t, err, syscall.ECONNREFUSED, what)
				assert.True(t, body.closed, what)
				srv.Close()
			}
		})
	}
}

func TestServer_bodyThatIsClosedIsReadNoFurther(t *testing.T) {
	throughEveryEntryPoint(t, nil, func(t *testing.T, _ *fake.Server, d entryPoint) {
		resp, err := d.client.Do(request{path: "/pets"}.build(t, d.base))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		_, err = resp.Body.Read(make([]byte, 1))
		assert.ErrorContains(t, err, "closed")
	})
}

func TestServer_entryPointsInMemoryRefuseARequestWithoutAURL(t *testing.T) {
	srv := fake.NewTestServer(t)
	for _, rt := range []http.RoundTripper{srv.HTTPClient().Transport, srv.Transport()} {
		resp, err := rt.RoundTrip(&http.Request{Header: http.Header{}})
		if err == nil {
			resp.Body.Close()
		}
		assert.ErrorContains(t, err, "URL")
	}
}

func TestServer_emptyMethodIsGET(t *testing.T) {
	srv := fake.NewTestServer(t)
	for _, d := range []entryPoint{viaMemory(t, srv), viaTransport(t, srv)} {
		req := request{path: "/pets"}.build(t, d.base)
		req.Method = ""
		resp, err := d.client.Transport.RoundTrip(req)
		require.NoError(t, err)
		resp.Body.Close()
		assert.Equal(t, http.StatusOK, resp.StatusCode)
	}
	assert.Equal(t, fake.OpListPets, srv.Requests()[1].Operation)
	assert.Equal(t, http.MethodGet, srv.Requests()[1].Method)
}

func TestServer_bodyThatComesSlowlyDoesNotLookLikeAClockSetBack(t *testing.T) {
	inBubble(t, with(fake.WithPlan(fake.Enterprise(2, 0))), func(t *testing.T, srv *fake.Server, d entryPoint) {
		pr, pw := io.Pipe()
		req := request{method: http.MethodPost, path: "/pets"}.build(t, d.base)
		req.Body, req.ContentLength = pr, -1
		var wg sync.WaitGroup
		wg.Go(func() {
			r, err := d.do(req)
			assert.NoError(t, err)
			assert.Equal(t, http.StatusCreated, r.status)
		})
		time.Sleep(30 * time.Second)
		d.list(t)
		_, err := io.WriteString(pw, create("Rex").body)
		require.NoError(t, err)
		require.NoError(t, pw.Close())
		wg.Wait()
		assert.Equal(t, 2, srv.Usage(srv.APIKey()).Minute)
		assert.Equal(t, http.StatusTooManyRequests, d.list(t).status)
	})
}

func TestServer_servesManyAtOnce(t *testing.T) {
	throughEveryEntryPoint(t, nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 10 {
					assert.Equal(t, http.StatusCreated, d.send(t, create("Rex")).status)
					assert.Equal(t, http.StatusOK, d.list(t).status)
				}
			})
		}
		wg.Wait()
		assert.Len(t, srv.Pets(), 80)
		srv.AssertRequests(t, "", 160)
		assert.Equal(t, 160, srv.Usage(srv.APIKey()).Day)
	})
}

func TestServer_URL_failsAtOnceInBubble(t *testing.T) {
	outside := fake.NewTestServer(t)
	synctest.Test(t, func(t *testing.T) {
		for _, srv := range []*fake.Server{outside, fake.NewTestServer(t)} {
			assert.PanicsWithValue(t, "fake: URL: a goroutine that reads from a socket stops the time of a"+
				" testing/synctest bubble; use Client, HTTPClient or Transport in a bubble",
				func() { srv.URL() })
		}
	})
	assert.NotEmpty(t, outside.URL())
}

func TestServer_bubblesSideBySideMayShareAServer(t *testing.T) {
	srv := fake.NewTestServer(t)
	t.Run("bubbles", func(t *testing.T) {
		for range 4 {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					for range 20 {
						srv.Inject(fake.Fault{Delay: time.Second})
						assert.Equal(t, http.StatusOK, viaMemory(t, srv).list(t).status)
						assert.Equal(t, http.StatusOK, viaTransport(t, srv).list(t).status)
						time.Sleep(time.Second)
					}
				})
			})
		}
	})
}
