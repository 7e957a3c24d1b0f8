package fake_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
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
	"github.com/petstore/petstore-go/fake/faketest"
	"github.com/petstore/petstore-go/internal/testkit"
)

func TestURL(t *testing.T) {
	testkit.Loopback(t)
	srv := fake.NewServer()
	synctest.Test(t, func(t *testing.T) {
		assert.PanicsWithValue(t, "fake: URL: a goroutine that reads from a socket stops the time of a"+
			" testing/synctest bubble; use Client or HTTPClient in a bubble", func() { srv.URL() })
	})
	u, err := url.Parse(srv.URL())
	require.NoError(t, err)
	assert.Equal(t, "/v1", u.Path)
	assert.True(t, net.ParseIP(u.Hostname()).IsLoopback())
	srv.Close()
	_, err = net.DialTimeout("tcp", u.Host, time.Second)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	assert.Equal(t, u.String(), srv.URL())
	unused := fake.NewServer()
	unused.Close()
	assert.PanicsWithValue(t, "fake: URL: the server is closed", func() { unused.URL() })
}

func TestClient(t *testing.T) {
	srv, other := open(t), open(t, fake.WithKey("second-key", fake.PlanFree))
	second := petstore.WithAPIKeyFunc(func(context.Context) (string, error) { return "second-key", nil })
	client := srv.Client(second, petstore.WithHTTPClient(other.client)) // options override the defaults
	_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	assert.Equal(t, 2, other.last(t).Key)
}

// One server, with one transport, serves one bubble after another.
func TestBubbles(t *testing.T) {
	srv := open(t, fake.WithPlan(fake.Plan{PerMinute: 3}))
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			n, limited := srv.admitted(t)
			assert.Equal(t, 3, n)
			assert.Equal(t, "60", limited.header.Get("Retry-After"))
			time.Sleep(time.Minute)
			assert.Equal(t, http.StatusOK, srv.list(t).status)
		})
	}
	var used *fake.Server
	faketest.Bubble(t, func(_ *testing.T, srv *fake.Server) { used = srv })
	_, err := used.Client().ListPets(t.Context(), petstore.ListPetsParams{})
	assert.ErrorIs(t, err, petstore.ErrNotSent, "the bubble has closed its server")
}

func TestClose(t *testing.T) {
	inBubble(t, "refuses connections and fails calls at once", func(t *testing.T, srv server) {
		client, start := srv.Client(), time.Now()
		srv.client.Transport.(*http.Transport).DisableKeepAlives = false
		srv.Inject(fake.Fault{Wire: fake.WireReset})
		_, err := srv.try(t, create("Rex"))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		srv.list(t) // on a connection that is kept
		srv.Close()
		srv.Close()
		synctest.Wait()
		_, err = srv.try(t, create("Rex"))
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		assert.Equal(t, "dial", err.(*url.Error).Err.(*net.OpError).Op, "this very type is promised")
		_, err = client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 1})
		require.ErrorIs(t, err, petstore.ErrNotSent)
		require.ErrorContains(t, err, "fake: the server is closed")
		assert.Less(t, time.Since(start), time.Millisecond, "nothing is left to wait for, and no attempt is repeated")
		require.ErrorIs(t, srv.WaitForRequests(t.Context(), 3), net.ErrClosed)
		assert.PanicsWithValue(t, http.ErrAbortHandler, func() {
			srv.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/pets", nil))
		})
		assert.Len(t, srv.Requests(), 2)
	})
	hang := func(*http.Request) bool { time.Sleep(time.Minute); return true }
	for name, fault := range map[string]fake.Fault{
		"a stalled request":    {Wire: fake.WireStall},
		"a handler that hangs": {Match: hang},
		"a leaked body":        {Body: make([]byte, 1<<20)},
	} {
		inBubble(t, name+" is broken off within a second", func(t *testing.T, srv server) {
			srv.Inject(fault)
			go func() {
				resp, err := srv.client.Do(request{path: "/pets"}.build(t, srv.base))
				if assert.Equal(t, fault.Body != nil, err == nil); err == nil {
					time.Sleep(time.Minute)
					_ = resp.Body.Close()
				}
			}()
			waited := make(chan error, 1)
			go func() { waited <- srv.WaitForRequests(t.Context(), 2) }()
			synctest.Wait()
			start := time.Now()
			srv.Close()
			assert.LessOrEqual(t, time.Since(start), time.Second)
			assert.ErrorIs(t, <-waited, net.ErrClosed)
			time.Sleep(time.Hour) // until all has ended
		})
	}
	for entry, reach := range entryPoints {
		t.Run("lets a request in flight finish/"+entry, func(t *testing.T) {
			for range 100 { // Close may come at any moment between the end of the handler and the last byte
				srv := reach(t, fake.NewServer(fake.WithLatency(time.Millisecond)))
				var wg sync.WaitGroup
				srv.Inject(fake.Fault{Match: func(*http.Request) bool { wg.Go(srv.Close); return false }})
				require.Equal(t, http.StatusOK, srv.list(t).status)
				wg.Wait()
			}
		})
	}
}

// Each file in testdata/exchanges holds a request and its response as they are on the wire, but for
// the CR before each line feed.
func TestGolden(t *testing.T) {
	const mark = "=== answer ===\n"
	files, err := filepath.Glob("testdata/exchanges/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		inBubble(t, strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T, srv server) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			question, _, _ := strings.Cut(string(text), mark)
			header, body, _ := strings.Cut(strings.TrimSuffix(question, "\n"), "\n\n")
			srv.Advance(time.Until(time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)))
			srv.SetUsage("used-up-key", 1, 1)
			conn := srv.dial(t)
			_, err = io.WriteString(conn, strings.ReplaceAll(header, "\n", "\r\n")+"\r\n\r\n"+body)
			require.NoError(t, err)
			answer, err := io.ReadAll(conn)
			require.NoError(t, err)
			require.NoError(t, conn.Close())
			testkit.AssertGolden(t, file, question+mark+strings.ReplaceAll(string(answer), "\r\n", "\n")+"\n")
		}, fake.WithPlan(fake.PlanFree), fake.WithKey("used-up-key", fake.Plan{PerMinute: 1}), fake.WithPets(
			petstore.NewPet{Name: "Rex", CategoryID: 1, Status: petstore.PetStatusAvailable},
			petstore.NewPet{Name: "Tom", CategoryID: 2},
			petstore.NewPet{Name: "Leo", CategoryID: 1, Status: petstore.PetStatusAvailable},
		))
	}
}

func TestReset(t *testing.T) {
	inBubble(t, "puts everything back", func(t *testing.T, srv server) {
		state := func() string {
			usage, second := srv.Usage("own-default-key"), srv.Usage("second-key")
			return fmt.Sprint(time.Until(srv.Now()), srv.Keys(), srv.Pets(), srv.Requests(), srv.Violations(),
				len(srv.Injections()), srv.Injections()[0].Fired(), usage.Plan, usage.Minute, usage.BannedUntil, second.Revoked)
		}
		first := state()
		for range 2 {
			begun := time.Now()
			assert.Equal(t, 503, srv.list(t).status, "the fault strikes again")
			assert.Equal(t, 1, srv.last(t).Seq)
			srv.send(t, request{path: "/pets/1", auth: "Bearer own-default-key"})
			assert.Equal(t, 2*time.Second, time.Since(begun), "the latency is that of the options")
			srv.AddKey("third-key", fake.PlanFree)
			srv.RevokeKey("second-key")
			srv.SetPlan("own-default-key", fake.PlanPro)
			srv.BanKey("own-default-key", time.Hour)
			srv.AddPet(petstore.NewPet{Name: "Max"})
			srv.Inject(fake.Fault{Status: 500})
			srv.Advance(time.Hour)
			srv.SetLatency(time.Minute)
			srv.Reset()
			assert.Equal(t, first, state())
		}
		srv.list(t)
	}, fake.WithAPIKey("own-default-key"), fake.WithPlan(fake.PlanFree), fake.WithKey("second-key", fake.PlanPro),
		fake.WithPets(petstore.NewPet{Name: "Rex", CategoryID: 1}), fake.WithLatency(time.Second),
		fake.WithFaults(fake.Fault{Status: 503}))
}

func TestOptionsCopy(t *testing.T) {
	pets := []petstore.NewPet{{Name: "Rex"}}
	faults := []fake.Fault{{Status: 503, Header: http.Header{"Via": {"a"}}, Body: []byte("[]")}}
	withPets, withFaults := fake.WithPets(pets...), fake.WithFaults(faults...)
	pets[0].Name, faults[0].Status, faults[0].Header["Via"][0], faults[0].Body[0] = "Max", 500, "b", '!'
	srv := open(t, withPets, withFaults)
	assert.Equal(t, "Rex", srv.Pets()[0].Name)
	r := srv.list(t)
	assert.Equal(t, []string{"503", "a", "[]"}, []string{strconv.Itoa(r.status), r.header.Get("Via"), r.body})
}

func TestMisuse(t *testing.T) {
	srv := fake.NewTestServer(t)
	lost, h := fake.Plan{PerMinute: -1}, http.NotFoundHandler()
	twice := fake.WithHandler("GET /v1/orders", h)
	noTransport := petstore.WithTransport(func(http.RoundTripper) http.RoundTripper { return nil })
	for text, misuse := range map[string]func(){
		"WithKey: the key":       func() { fake.WithKey("two words", fake.PlanFree) },
		"AddKey: the key":        func() { srv.AddKey("schlüssel", fake.PlanFree) },
		"WithAPIKey: the key":    func() { fake.WithAPIKey(" ") },
		"WithPlan: the plan":     func() { fake.WithPlan(lost) },
		"WithKey: the plan":      func() { fake.WithKey("another-key", lost) },
		"AddKey: the plan":       func() { srv.AddKey("another-key", lost) },
		"SetPlan: the plan":      func() { srv.SetPlan(srv.APIKey(), lost) },
		"SetUsage: the server":   func() { srv.SetUsage("unknown-key", 1, 1) },
		"SetUsage: -2":           func() { srv.SetUsage(srv.APIKey(), 1, -2) },
		"BanKey: -1h":            func() { srv.BanKey(srv.APIKey(), -time.Hour) },
		"SetLatency: -1s":        func() { srv.SetLatency(-time.Second) },
		"WithLatency: -1s":       func() { fake.WithLatency(-time.Second) },
		"WithBan: -1":            func() { fake.WithBan(-1, time.Minute) },
		"WithBan: -1s":           func() { fake.WithBan(1, -time.Second) },
		"WithBan: 0s":            func() { fake.WithBan(1, 0) },
		"WithJournal: -1":        func() { fake.WithJournal(-1) },
		"ClientFor: ":            func() { srv.ClientFor("unknown-key") },
		"Client: .*returned nil": func() { srv.Client(noTransport) },
		"RequestsOf: ":           func() { srv.RequestsOf("ListPets") },
		"WithMinute: ":           func() { fake.WithMinute(0) },
		"WithFaults: ":           func() { fake.WithFaults(fake.Fault{Times: -2}) },
		"WithStrict: ":           func() { fake.WithStrict("deprecated") },
		"WithHandler: the path":  func() { fake.WithHandler("GET /orders", h) },
		"WithBehavior: ":         func() { fake.WithBehavior(fake.Behavior{DefaultStatus: "lost"}) },
	} {
		assert.Regexp(t, "^fake: "+text, panicOf(misuse))
		assert.NotRegexp(t, "two words|schlüssel|-key", panicOf(misuse), "it repeats a key")
	}
	assert.Contains(t, panicOf(func() { fake.WithHandler("GET /v1/pets/{id}", h) }), "conflicts with pattern")
	assert.Contains(t, panicOf(func() { fake.NewServer(twice, twice) }), "conflicts with pattern")
	for _, f := range []fake.Fault{
		{Operation: "listpets"}, {Wire: "cut"}, {Wire: fake.WireRefuse, AfterCommit: true}, {Skip: -1}, {Times: -2},
		{For: -1}, {Delay: -1}, {Drip: -1}, {Chance: -0.1}, {Chance: 1.1}, {Chance: math.NaN()},
		{Code: "x"}, {Message: "x", Status: 399},
		{Wire: fake.WireLoginPage, Status: 511, Code: "x"}, {Status: 199}, {Status: 1000},
	} {
		assert.Regexp(t, "^fake: Inject: ", panicOf(func() { srv.Inject(f) }), "%+v", f)
	}
	for _, f := range []fake.Fault{{Times: fake.Forever, Status: 999}, {Status: 200}, {Code: "x", Status: 400}} {
		srv.Inject(f).Remove()
	}
}

// panicOf returns the text with which a function panics.
func panicOf(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}
