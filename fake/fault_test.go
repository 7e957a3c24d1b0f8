package fake_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestFaultStatus(t *testing.T) {
	throughEveryEntryPoint(t, "is sent in place of the service's response",
		with(fake.WithPlan(fake.PlanFree)), func(t *testing.T, srv *fake.Server, d entryPoint) {
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
			assert.NotEmpty(t, entry.FaultEffect)
			assert.Equal(t, 503, entry.StatusCode)
			assert.Equal(t, "injected fault with status 503", entry.Hint)
			assert.Empty(t, srv.Requests()[1].FaultEffect)
		})
	t.Run("comes before authentication and limits", func(t *testing.T) {
		srv, d := open(t, fake.WithPlan(fake.Plan{PerMinute: 1}))
		d.admitted(t)
		for _, q := range []request{{path: "/pets"}, {path: "/pets", auth: "-"}, {path: "/no-such-path"}, {method: "NOSUCH", path: "/pets"}} {
			srv.Inject(fake.Fault{Status: 502})
			assert.Equal(t, 502, d.send(t, q).status)
		}
	})
	throughEveryEntryPoint(t, "a response without a body has none",
		nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
			for _, status := range []int{204, 304, 200, 302} {
				srv.Inject(fake.Fault{Status: status})
				r := d.list(t)
				assert.Equal(t, status, r.status)
				assert.Empty(t, r.body)
			}
		})
}

func TestFaultAfterCommit(t *testing.T) {
	for _, wire := range append(fake.Wire("").Values(), "") {
		if wire == fake.WireRefuse {
			continue // which reaches no server
		}
		f := fake.Fault{AfterCommit: true, Wire: wire}
		if wire == "" {
			f.Status = 500
		}
		throughEveryEntryPoint(t, string(wire), nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
			if wire == fake.WireStall {
				require.ErrorIs(t, d.giveUpOn(t, srv, f, create("Rex")), context.Canceled)
				assert.Eventually(t, func() bool { return len(srv.Pets()) == 1 }, time.Minute, time.Millisecond)
				return
			}
			f.Body = []byte("a")
			srv.Inject(f)
			r, err := d.try(t, create("Rex"))
			assert.Equal(t, wire != "" && wire != fake.WireLoginPage, err != nil)
			if f.Status != 0 {
				assert.Equal(t, f.Status, r.status)
			}
			assert.Len(t, srv.Pets(), 1)
			assert.Equal(t, 1, srv.Usage(srv.APIKey()).Minute)
		})
	}
}

func TestFaultDelay(t *testing.T) {
	t.Run("holds the response back", func(t *testing.T) {
		for afterCommit, pets := range map[bool]int{false: 0, true: 1} {
			inBubble(t, fmt.Sprint("after commit: ", afterCommit), nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
				srv.Inject(fake.Fault{Delay: time.Hour, AfterCommit: afterCommit})
				go func() {
					time.Sleep(time.Minute)
					assert.Len(t, srv.Pets(), pets)
				}()
				start := time.Now()
				r := d.send(t, create("Rex"))
				assert.Equal(t, http.StatusCreated, r.status)
				assert.JSONEq(t, `{"id":1,"name":"Rex","categoryId":1}`, r.body)
				assert.Equal(t, time.Hour, time.Since(start))
				assert.Len(t, srv.Pets(), 1)
				assert.Equal(t, time.Hour, srv.Requests()[0].Duration)
			})
		}
	})
	inBubble(t, "comes on top of the latency",
		with(fake.WithLatency(time.Second)), func(t *testing.T, srv *fake.Server, d entryPoint) {
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
	inBubble(t, "nothing is done for a client that gives up meanwhile",
		nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
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

func TestFaultHeader(t *testing.T) {
	throughEveryEntryPoint(t, "header and body replace those of the response",
		nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
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
			assert.Equal(t, []byte(`[{"id":"1"}]`), srv.Requests()[0].ResponseBody)
		})
}

func TestFaultInvalid(t *testing.T) {
	srv := fake.NewTestServer(t)
	for _, f := range []fake.Fault{
		{Operation: "listpets"},
		{APIKey: "two words"},
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
		{Wire: "cut"},
		{Wire: fake.WireRefuse, AfterCommit: true},
	} {
		assert.Error(t, f.Validate(), "%+v", f)
		assert.Panics(t, func() { srv.Inject(f) }, "%+v", f)
	}
	require.NoError(t, fake.Fault{}.Validate())
	assert.EqualError(t, fake.Fault{Chance: 2}.Validate(),
		"fake: Fault: Chance is not a probability between 0 and 1")
}

func TestFault_Effect(t *testing.T) {
	for want, f := range map[string]fake.Fault{
		"no change": {Operation: petstore.OpCreatePet, Times: fake.Forever},
		"carried out, delayed by 2s, status 503, code busy, message \"later\", Retry-After 5, " +
			"header X-A: 1, 2, no header X-B, another body of 2 bytes, body cut off after its first half": {
			AfterCommit: true, Delay: 2 * time.Second, Status: 503, Code: "busy", Message: "later", RetryAfter: "5",
			Header: http.Header{"X-B": nil, "X-A": {"1", "2"}}, Body: []byte("{}"), Wire: fake.WireTruncate,
		},
	} {
		inBubble(t, want[:9], with(fake.WithFaults(f)), func(t *testing.T, srv *fake.Server, d entryPoint) {
			_, _ = d.try(t, create("Rex"))
			assert.Equal(t, want, lastRequest(t, srv).FaultEffect)
		})
	}
}
