package fake_test

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

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
	twice := fake.WithHandler("GET /v1/orders", h)
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
		"WithBan: -1s":                    func() { fake.WithBan(1, -time.Second) },
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
		"WithBehavior: ":                  func() { fake.WithBehavior(fake.Behavior{DefaultStatus: "lost"}) },
	} {
		assert.Regexp(t, "^fake: "+text, panicOf(misuse))
		assert.NotRegexp(t, "two words|schlüssel|-key", panicOf(misuse), "it repeats a key")
	}
	assert.Contains(t, panicOf(func() { fake.NewServer(fake.WithHandler("GET /v1/pets/{id}", h)) }), "conflicts with pattern")
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
