package fake_test

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/testkit"
)

// Each file in testdata/exchanges holds a request and its response as they are on the wire, without
// the CR before each line feed.
func TestGolden(t *testing.T) {
	const mark = "=== response ===\n"
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
				len(srv.Injections()), srv.Injections()[0].Applied(), usage.Plan, usage.Minute, usage.BannedUntil, second.Revoked)
		}
		first := state()
		for range 2 {
			begun := time.Now()
			assert.Equal(t, 503, srv.list(t).status, "the fault applies again")
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

func TestNewTestServer(t *testing.T) {
	t.Run("closes itself, and says nothing about success", func(t *testing.T) {
		tb := &recorder{}
		rules := []fake.Rule{fake.RuleDeprecated}
		strict := fake.WithStrict(rules...)
		rules[0] = fake.RuleEarlyRetry // the option has a copy
		srv := open(tb, strict, fake.WithStrict(rules...))
		srv.send(t, request{path: "/pets/1"}) // a violation of an allowed rule
		tb.end()
		assert.Empty(t, tb.errors.String()+tb.log.String())
		_, err := srv.try(t, request{path: "/pets"})
		assert.Error(t, err)
	})
	t.Run("a fault that never applied fails the test, which prints the journal", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tb := &recorder{}
			srv := open(tb)
			for range 98 {
				srv.list(t)
			}
			srv.Inject(fake.Fault{Operation: petstore.OpGetPet, Delay: 1, Status: 500, Drip: 1, AfterCommit: true})
			srv.Inject(fake.Fault{Wire: fake.WireReset, Skip: 3})
			srv.Inject(fake.Fault{Status: 502}).Remove()
			srv.Inject(fake.Fault{Status: 503, Chance: 1e-9, Times: fake.Forever})
			srv.Inject(fake.Fault{Wire: fake.WireClose, Times: 9, Skip: 2})
			srv.send(t, create("Rex"))
			srv.Advance(1500 * time.Millisecond)
			srv.send(t, request{path: "/pets?limit=0&key=k"})
			_, _ = srv.try(t, request{path: "/pets"})
			tb.end()
			assert.Equal(t, `fake: an injected fault never applied: fault on getPet after 1ns with status 500 dripping for 1ns after commit; 0 requests matched, Skip is 0
fake: an injected fault never applied: fault by reset; 3 requests matched, Skip is 3
`, tb.errors.String())
			assert.Regexp(t, `^fake: the server of TestImport served 101 requests\n\t\+0s #2 GET`, tb.log.String())
			assert.Contains(t, tb.log.String(), `
	+0s #99 POST /v1/pets "{\"name\":\"Rex\",\"categoryId\":1}" → 201
	+1.5s #100 GET /v1/pets?limit=0&key=k → 400: listPets: limit is "0"; it must be an integer from 1 to 100 (section 4.1)
	+1.5s #101 GET /v1/pets → no response, by a fault: injected fault by close
`, tb.log.String())
		})
	})
}

func TestOptionsCopy(t *testing.T) {
	pets := []petstore.NewPet{{Name: "Rex"}}
	faults := []fake.Fault{{Status: 503, Header: http.Header{"Via": {"a"}}, Body: []byte("[]")}}
	withPets, withFaults := fake.WithPets(pets...), fake.WithFaults(faults...)
	pets[0].Name, faults[0].Status = "Max", 500
	faults[0].Header["Via"][0], faults[0].Body[0] = "b", '!'
	srv := open(t, withPets, withFaults)
	assert.Equal(t, "Rex", srv.Pets()[0].Name)
	r := srv.list(t)
	assert.Equal(t, []string{"503", "a", "[]"}, []string{strconv.Itoa(r.status), r.header.Get("Via"), r.body})
}

func TestMisuse(t *testing.T) {
	srv := fake.NewTestServer(t)
	lost, h := fake.Plan{PerMinute: -1}, http.NotFoundHandler()
	orders := fake.WithHandler("GET /v1/orders", h)
	noTransport := petstore.WithTransport(func(http.RoundTripper) http.RoundTripper { return nil })
	for text, misuse := range map[string]func(){
		"WithKey: the key":                func() { fake.WithKey("two words", fake.PlanFree) },
		"AddKey: the key":                 func() { srv.AddKey("schlüssel", fake.PlanFree) },
		"WithAPIKey: the key":             func() { fake.WithAPIKey(" ") },
		"WithPlan: the plan":              func() { fake.WithPlan(lost) },
		"WithKey: the plan":               func() { fake.WithKey("another-key", lost) },
		"AddKey: the plan":                func() { srv.AddKey("another-key", lost) },
		"SetPlan: the plan":               func() { srv.SetPlan(srv.APIKey(), lost) },
		"SetUsage: the server":            func() { srv.SetUsage("unknown-key", 1, 1) },
		"SetUsage: -2":                    func() { srv.SetUsage(srv.APIKey(), 1, -2) },
		"BanKey: -1h":                     func() { srv.BanKey(srv.APIKey(), -time.Hour) },
		"SetLatency: -1s":                 func() { srv.SetLatency(-time.Second) },
		"WithLatency: -1s":                func() { fake.WithLatency(-time.Second) },
		"WithBan: -1":                     func() { fake.WithBan(-1, time.Minute) },
		"WithBan: 0s":                     func() { fake.WithBan(1, 0) },
		"WithJournal: -1":                 func() { fake.WithJournal(-1) },
		"ClientFor: ":                     func() { srv.ClientFor("unknown-key") },
		"Client: .*returned nil":          func() { srv.Client(noTransport) },
		"RequestsOf: ":                    func() { srv.RequestsOf("ListPets") },
		"WithMinute: ":                    func() { fake.WithMinute(0) },
		"WithFaults: ":                    func() { fake.WithFaults(fake.Fault{Times: -2}) },
		"WithStrict: ":                    func() { fake.WithStrict("deprecated") },
		"WithHandler: the handler is nil": func() { fake.WithHandler("GET /v1/orders", nil) },
		"WithHandler: the path":           func() { fake.WithHandler("GET /admin/v1/orders", h) },
		"WithHandler: .*orders.*conflict": func() { fake.NewServer(orders, orders) },
		"WithHandler: .*pets.*conflict":   func() { fake.NewServer(fake.WithHandler("GET /v1/pets/{id}", h)) },
		"WithBehavior: ":                  func() { fake.WithBehavior(fake.Behavior{DefaultStatus: "lost"}) },
	} {
		assert.Regexp(t, "^fake: "+text, panicOf(misuse))
		assert.NotRegexp(t, "two words|schlüssel|-key", panicOf(misuse), "it repeats a key")
	}
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
