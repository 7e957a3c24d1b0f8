package fake_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
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

func TestFault_statusIsSentInPlaceOfTheService(t *testing.T) {
	throughEveryEntryPoint(t, with(fake.WithPlan(fake.PlanFree)), func(t *testing.T, srv *fake.Server, d entryPoint) {
		injected := srv.Inject(fake.Fault{Status: 503, RetryAfter: "7"})
		r := d.send(t, create("Rex"))
		assert.Equal(t, 503, r.status)
		assert.Equal(t, "7", r.header.Get("Retry-After"))
		assert.JSONEq(t, `{"code":"service_unavailable","message":"injected fault with status 503","status":503}`, r.body)
		assert.Equal(t, "60", r.header.Get("X-RateLimit-Remaining"), "a fault is not counted")
		assert.Empty(t, srv.Pets())
		assert.Equal(t, 1, injected.Fired())
		assert.Equal(t, http.StatusCreated, d.send(t, create("Rex")).status, "a fault strikes once")
		entry := srv.Requests()[0]
		assert.True(t, entry.Fault)
		assert.Equal(t, 503, entry.StatusCode)
		assert.Equal(t, "injected fault with status 503", entry.Hint)
		assert.False(t, srv.Requests()[1].Fault)
	})
}

func TestFault_comesBeforeAuthenticationAndLimits(t *testing.T) {
	srv := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(1, 0)))
	d := viaTransport(t, srv)
	d.admitted(t)
	for _, q := range []request{{path: "/pets"}, {path: "/pets", auth: "-"}, {path: "/orders"}, {method: "PUT", path: "/pets"}} {
		srv.Inject(fake.Fault{Status: 502})
		assert.Equal(t, 502, d.send(t, q).status)
	}
}

func TestFault_afterCommitCarriesTheRequestOutFirst(t *testing.T) {
	for wire := range fake.WireRefuse {
		f := fake.Fault{AfterCommit: true, Wire: wire}
		if wire == fake.WireNone {
			f.Status = 500
		}
		t.Run(wire.String(), func(t *testing.T) {
			throughEveryEntryPoint(t, nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
				if wire == fake.WireStall {
					require.ErrorIs(t, d.giveUpOn(t, srv, f, create("Rex")), context.Canceled)
					assert.Eventually(t, func() bool { return len(srv.Pets()) == 1 }, 5*time.Second, time.Millisecond)
					return
				}
				f.Body = []byte("a")
				srv.Inject(f)
				r, err := d.try(t, create("Rex"))
				assert.Equal(t, wire != fake.WireNone && wire != fake.WireDrip, err != nil)
				if f.Status != 0 {
					assert.Equal(t, f.Status, r.status)
				}
				assert.Len(t, srv.Pets(), 1)
				assert.Equal(t, 1, srv.Usage(srv.APIKey()).Minute)
			})
		})
	}
}

func TestFault_wireFaultIsWhatAClientMeets(t *testing.T) {
	isReset := func(t *testing.T, err error) { assert.ErrorIs(t, err, syscall.ECONNRESET) }
	for wire, check := range map[fake.Wire]func(*testing.T, error){
		fake.WireReset: isReset,
		fake.WireClose: func(t *testing.T, err error) {
			assert.True(t, errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF), "%v", err)
		},
		fake.WireTruncate: func(t *testing.T, err error) { assert.ErrorIs(t, err, io.ErrUnexpectedEOF) },
		fake.WireGarbage: func(t *testing.T, err error) {
			assert.ErrorContains(t, err, "malformed HTTP response")
		},
	} {
		t.Run(wire.String(), func(t *testing.T) {
			throughEveryEntryPoint(t, nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
				d.list(t) // so that sockets are kept and used again
				for _, q := range []request{{path: "/pets"}, create("Rex")} {
					injected := srv.Inject(fake.Fault{Wire: wire})
					_, err := d.try(t, q)
					require.Error(t, err)
					check(t, err)
					assert.Equal(t, 1, injected.Fired())
				}
				assert.Len(t, srv.Pets(), map[bool]int{true: 1, false: 0}[wire == fake.WireTruncate])
			})
		})
	}
}

func TestFault_stallLastsUntilTheClientGivesUp(t *testing.T) {
	throughEveryEntryPoint(t, nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		err := d.giveUpOn(t, srv, fake.Fault{Wire: fake.WireStall}, create("Rex"))
		require.ErrorIs(t, err, context.Canceled)
		assert.Empty(t, srv.Pets())
		assert.Zero(t, srv.Requests()[0].StatusCode)
	})
	inBubble(t, nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		srv.Inject(fake.Fault{Wire: fake.WireStall})
		d.client.Timeout = 24 * time.Hour
		start := time.Now()
		_, err := d.try(t, request{path: "/pets"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 24*time.Hour, time.Since(start))
	})
}

func TestFault_refusedConnectionReachesNothing(t *testing.T) {
	throughEveryEntryPoint(t, nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		var seen string
		injected := srv.Inject(fake.Fault{Wire: fake.WireRefuse, Match: func(r *http.Request) bool {
			body, _ := io.ReadAll(r.Body)
			seen = r.Method + " " + r.URL.String() + " " + string(body)
			return true
		}})
		_, err := d.try(t, create("Rex"))
		require.Error(t, err)
		if strings.HasPrefix(d.base, "http://127.0.0.1") { // the connection was there already
			assert.ErrorIs(t, err, syscall.ECONNRESET)
		} else {
			assert.ErrorIs(t, err, syscall.ECONNREFUSED)
			opErr, ok := errors.AsType[*net.OpError](err)
			require.True(t, ok)
			assert.Equal(t, "dial", opErr.Op)
		}
		assert.Equal(t, 1, injected.Fired())
		assert.Equal(t, `POST /v1/pets {"name":"Rex","categoryId":1}`, seen)
		assert.Empty(t, srv.Requests())
		assert.Zero(t, srv.Usage(srv.APIKey()).Minute)
		assert.Equal(t, http.StatusCreated, d.send(t, create("Rex")).status)
	})
}

func TestFault_connectionIsRefusedBeforeAnyOtherFaultStrikes(t *testing.T) {
	srv := fake.NewTestServer(t)
	d := viaMemory(t, srv)
	srv.Inject(fake.Fault{Status: 500})
	srv.Inject(fake.Fault{Wire: fake.WireRefuse, Operation: fake.OpListPets})
	_, err := d.try(t, request{path: "/pets"})
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	assert.Equal(t, 500, d.list(t).status)
}

func TestFault_dripSendsAByteEveryHundredMilliseconds(t *testing.T) {
	for name, open := range map[string]func(testing.TB, *fake.Server) entryPoint{"memory": viaMemory, "direct": viaTransport} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := fake.NewTestServer(t)
				srv.Inject(fake.Fault{Wire: fake.WireDrip, Body: []byte("0123456789")})
				start := time.Now()
				assert.Equal(t, "0123456789", open(t, srv).list(t).body)
				assert.Equal(t, time.Second, time.Since(start))
			})
		})
	}
}

func TestFault_delayHoldsTheResponseBack(t *testing.T) {
	for afterCommit, pets := range map[bool]int{false: 0, true: 1} {
		synctest.Test(t, func(t *testing.T) {
			srv := fake.NewTestServer(t)
			srv.Inject(fake.Fault{Delay: time.Hour, AfterCommit: afterCommit})
			go func() {
				time.Sleep(time.Minute)
				assert.Len(t, srv.Pets(), pets)
			}()
			start := time.Now()
			r := viaMemory(t, srv).send(t, create("Rex"))
			assert.Equal(t, http.StatusCreated, r.status)
			assert.JSONEq(t, `{"id":1,"name":"Rex","categoryId":1}`, r.body)
			assert.Equal(t, time.Hour, time.Since(start))
			assert.Len(t, srv.Pets(), 1)
			assert.Equal(t, time.Hour, srv.Requests()[0].Duration)
		})
	}
}

func TestFault_latencyHoldsEveryResponseBackAndLeavesRoomForFaults(t *testing.T) {
	inBubble(t, with(fake.WithLatency(time.Second)), func(t *testing.T, srv *fake.Server, d entryPoint) {
		srv.Inject(fake.Fault{Status: 500, Delay: time.Minute})
		start := time.Now()
		assert.Equal(t, 500, d.list(t).status)
		assert.Equal(t, 61*time.Second, time.Since(start))
		assert.Equal(t, 200, d.list(t).status)
		assert.Equal(t, 62*time.Second, time.Since(start))

		d.client.Timeout = time.Millisecond
		_, err := d.try(t, create("Rex"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		synctest.Wait()
		assert.Empty(t, srv.Pets())
	})
}

func TestFault_clientThatGivesUpDuringADelayGetsNothingDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := fake.NewTestServer(t)
		d := viaMemory(t, srv)
		d.client.Timeout = time.Minute
		srv.Inject(fake.Fault{Delay: time.Hour})
		_, err := d.try(t, create("Rex"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		synctest.Wait()
		assert.Empty(t, srv.Pets())
		entry := srv.Requests()[0]
		assert.Zero(t, entry.StatusCode)
		assert.Equal(t, time.Minute, entry.Duration)
	})
}

func TestFault_headersAndBodyOfAFaultReplaceThoseOfTheResponse(t *testing.T) {
	throughEveryEntryPoint(t, nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		header := http.Header{"x-ratelimit-limit": {"many"}, "X-RateLimit-Reset": nil, "Via": {"a", "b"}, "Date": nil, "Content-Type": {}}
		body := []byte(`[{"id":"1"}]`)
		srv.Inject(fake.Fault{Header: header, Body: body})
		header.Set("Via", "c")
		body[0] = '{'
		r := d.list(t)
		assert.Equal(t, http.StatusOK, r.status)
		assert.Equal(t, "many", r.header.Get("X-RateLimit-Limit"))
		assert.Empty(t, r.header.Values("X-RateLimit-Reset"))
		assert.Equal(t, "999", r.header.Get("X-RateLimit-Remaining"))
		assert.Equal(t, []string{"a", "b"}, r.header.Values("Via"))
		assert.NotContains(t, r.header, "Date")
		assert.NotContains(t, r.header, "Content-Type")
		assert.Equal(t, `[{"id":"1"}]`, r.body)
		assert.Equal(t, "12", r.header.Get("Content-Length"))
		assert.Equal(t, []byte(`[{"id":"1"}]`), srv.Requests()[0].Answer)
	})
}

func TestFault_responsesWithoutABodyHaveNone(t *testing.T) {
	throughEveryEntryPoint(t, nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		for _, status := range []int{204, 304, 200, 302} {
			srv.Inject(fake.Fault{Status: status})
			r := d.list(t)
			assert.Equal(t, status, r.status)
			assert.Empty(t, r.body)
		}
	})
}

func TestFault_announcedLengthThatIsWrongBreaksTheBodyOff(t *testing.T) {
	for _, length := range []string{"100", "1"} {
		throughEveryEntryPoint(t, nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
			srv.Inject(fake.Fault{Header: http.Header{"Content-Length": {length}}, Body: []byte("[]")})
			r, err := d.try(t, request{path: "/pets"})
			assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
			assert.Equal(t, length, r.header.Get("Content-Length"))
		})
	}
}

func TestFault_connectionCanBeRefusedAfterAWhile(t *testing.T) {
	for name, open := range map[string]func(testing.TB, *fake.Server) entryPoint{"memory": viaMemory, "direct": viaTransport} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := fake.NewTestServer(t)
				d, start := open(t, srv), time.Now()
				srv.Inject(fake.Fault{Wire: fake.WireRefuse, Delay: 5 * time.Second, Times: 2})
				_, err := d.try(t, request{path: "/pets"})
				assert.ErrorIs(t, err, syscall.ECONNREFUSED)
				assert.Equal(t, 5*time.Second, time.Since(start))
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err = d.do(request{path: "/pets"}.build(t, d.base).WithContext(ctx))
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Equal(t, 6*time.Second, time.Since(start))
				assert.Empty(t, srv.Requests())
			})
		})
	}
}

func TestFault_emptyBodyCanBeTruncatedToo(t *testing.T) {
	throughEveryEntryPoint(t, nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		srv.Inject(fake.Fault{Wire: fake.WireTruncate, Body: []byte{}})
		_, err := d.try(t, request{path: "/pets"})
		assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	})
}

func TestFault_strikesWhenAndAsOftenAsItSays(t *testing.T) {
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
			srv := fake.NewTestServer(t, fake.WithSeed(3))
			d := viaTransport(t, srv)
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

func TestFault_strikesOnlyTheRequestsItFits(t *testing.T) {
	srv := fake.NewTestServer(t, fake.WithKey("other-key", fake.PlanFree))
	d := viaTransport(t, srv)
	other := request{path: "/pets", auth: "Bearer other-key"}

	srv.Inject(fake.Fault{Operation: fake.OpCreatePet, Status: 500})
	assert.Equal(t, 200, d.list(t).status)
	assert.Equal(t, 500, d.send(t, create("Rex")).status)

	srv.Inject(fake.Fault{APIKey: "other-key", Status: 500})
	assert.Equal(t, 200, d.list(t).status)
	assert.Equal(t, 500, d.send(t, other).status)

	srv.Inject(fake.Fault{Status: 500, Match: func(r *http.Request) bool { return r.URL.Query().Has("limit") }})
	assert.Equal(t, 200, d.list(t).status)
	assert.Equal(t, 500, d.send(t, request{path: "/pets?limit=3"}).status)
}

func TestFault_ofTheFaultsThatFitTheFirstStrikes(t *testing.T) {
	srv := fake.NewTestServer(t)
	d := viaTransport(t, srv)
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
}

func TestFault_matchMayReadTheBodyAndCallTheServer(t *testing.T) {
	throughEveryEntryPoint(t, nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		inner := srv.HTTPClient()
		var injected *fake.Injection
		injected = srv.Inject(fake.Fault{Status: 500, Operation: fake.OpCreatePet, Match: func(r *http.Request) bool {
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
}

func TestFault_oneOfManyRequestsAtOnceIsStruck(t *testing.T) {
	throughEveryEntryPoint(t, nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
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
}

func TestFault_withoutSensePanics(t *testing.T) {
	srv := fake.NewTestServer(t)
	for _, f := range []fake.Fault{
		{Operation: "listpets"},
		{Skip: -1},
		{Times: -2},
		{Delay: -1},
		{Chance: -0.1},
		{Chance: 1.1},
		{Code: "x"},
		{Message: "x", Status: 200},
		{Status: 99},
		{Status: 101},
		{Status: 1000},
		{RetryAfter: "1\r\nX: y"},
		{RetryAfter: "\x01"},
		{Status: 304, Wire: fake.WireTruncate},
		{Header: http.Header{"a b": {"c"}}},
		{Header: http.Header{"": nil}},
		{Header: http.Header{"A": {"b", "c\nD: e"}}},
		{Wire: 99},
		{Wire: -1},
		{Wire: fake.WireRefuse, AfterCommit: true},
	} {
		assert.Panics(t, func() { srv.Inject(f) }, "%+v", f)
	}
}

func TestFault_panicOfAMatchIsAResponseAndAFinding(t *testing.T) {
	tb := &recorder{}
	srv := fake.NewTestServer(tb)
	d := viaMemory(t, srv)
	srv.Inject(fake.Fault{Match: func(*http.Request) bool { panic("oh no") }, Chance: 0.5, Times: fake.Forever})
	r := d.list(t)
	assert.Equal(t, http.StatusInternalServerError, r.status)
	assert.Contains(t, r.body, "the fake server panicked: oh no")
	tb.end()
	assert.Contains(t, tb.errors.String(), "the handling of a request panicked: oh no")
	assert.Contains(t, tb.errors.String(), "fault_test.go")
}

func TestFault_panicOfAMatchThatRefusesIsAFindingToo(t *testing.T) {
	tb := &recorder{}
	srv := fake.NewTestServer(tb)
	srv.Inject(fake.Fault{Wire: fake.WireRefuse, Match: func(*http.Request) bool { panic("oh no") }})
	_, err := viaMemory(t, srv).try(t, request{path: "/pets"})
	assert.ErrorContains(t, err, "the fake server panicked: oh no")
	tb.end()
	assert.Contains(t, tb.errors.String(), "the handling of a request panicked: oh no")
}

func TestFault_everyWireHasAName(t *testing.T) {
	var names []string
	for w := fake.WireNone - 1; w <= fake.WireRefuse+1; w++ {
		names = append(names, w.String())
	}
	assert.Equal(t, []string{
		"Wire(-1)", "none", "reset", "close", "truncate", "garbage", "stall", "drip", "refuse", "Wire(8)",
	}, names)
}
