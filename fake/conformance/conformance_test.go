package conformance

import (
	"cmp"
	"flag"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The flags with which the package tests another service than the fake.
var (
	serviceURL  = flag.String("petstore.url", "", "base address of a service to test, ending in /v1")
	serviceKey  = flag.String("petstore.key", "", "API key for it; PETSTORE_API_KEY if there is no such flag")
	category    = flag.Int64("petstore.category", 0, "category for the animals that are added; 0 is category 1")
	destructive = flag.Bool("petstore.destructive", false, "spend the key's quota until a 429 comes")
)

func TestService(t *testing.T) {
	if *serviceURL == "" {
		t.Skip("no service: -petstore.url and -petstore.key name one")
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	Run(t, Target{
		BaseURL: *serviceURL, APIKey: cmp.Or(*serviceKey, os.Getenv("PETSTORE_API_KEY")),
		CategoryID: *category, Destructive: *destructive,
	})
}

// catalogue is an option with more than a page of pets, and pets of every status.
func catalogue() fake.Option {
	pets := make([]petstore.NewPet, 27)
	for i := range pets {
		pets[i] = petstore.NewPet{Name: "Mia", CategoryID: int64(i), Status: petstore.PetStatus(added[i%3])}
	}
	return fake.WithPets(pets...)
}

// The fake conforms, in memory and on a port.
func TestRun(t *testing.T) {
	testkit.Loopback(t)
	srv := fake.NewTestServer(t, catalogue())
	Run(t, Target{BaseURL: "https://petstore.example/v1", APIKey: srv.APIKey(), HTTPClient: srv.HTTPClient()})
	Run(t, Target{BaseURL: srv.URL() + "/", APIKey: srv.APIKey()})
}

// open opens a destructive session with a service. In a bubble its waits take no time.
func open(t *testing.T, b bug, opts ...fake.Option) (*fake.Server, *session) {
	t.Helper()
	srv := fake.NewServer(opts...)
	t.Cleanup(srv.Close)
	return srv, newSession(Target{
		BaseURL: "http://petstore.example/v1", APIKey: srv.APIKey(), Destructive: true,
		HTTPClient: &http.Client{Transport: &service{b, regexp.MustCompile(b.pattern), srv.HTTPClient().Transport, 0}},
	})
}

// checkAll checks all clauses, and returns the texts of those that failed or were skipped.
func (s *session) checkAll() (failed, skipped map[string]string) {
	failed, skipped = make(map[string]string), make(map[string]string)
	for _, c := range clauses {
		if p := s.check(c); p != nil && p.skip {
			skipped[c.name()] = p.text
		} else if p != nil {
			failed[c.name()] = p.text
		}
	}
	return failed, skipped
}

func TestClausesOnTheFake(t *testing.T) {
	t.Run("each can be checked alone", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for _, c := range clauses {
				_, s := open(t, bug{}, catalogue(), fake.WithPlan(fake.PlanFree))
				p := s.check(c)
				assert.True(t, p == nil || p.skip && c.name() == "4.1 an empty list is an array", c.name())
			}
		})
	})
	// One variant sends a 429 without Retry-After, against section 8.3. The document leaves the
	// other choices open, and no clause may fail for them.
	t.Run("every variant conforms", func(t *testing.T) {
		for name, variant := range fake.Variants() {
			synctest.Test(t, func(t *testing.T) {
				_, s := open(t, bug{}, catalogue(), fake.WithPlan(fake.PlanFree), variant)
				failed, _ := s.checkAll()
				if strings.Contains(name, "retryAfter=absent") {
					delete(failed, "8.3 a 429 carries Retry-After (Destructive)")
				}
				assert.Empty(t, failed, name)
			})
		}
	})
}

// docs/conformance.md has each section with a clause, each flag, and each choice of the fake.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/conformance.md")
	assert.NoError(t, err)
	var want []string
	for _, c := range clauses {
		want = append(want, "\n| "+c.section+" | ")
	}
	flag.VisitAll(func(f *flag.Flag) {
		if strings.HasPrefix(f.Name, "petstore.") {
			want = append(want, "`-"+f.Name)
		}
	})
	for _, field := range reflect.VisibleFields(reflect.TypeFor[fake.Behavior]()) {
		want = append(want, "`"+field.Name+"`")
	}
	for _, part := range want {
		assert.True(t, strings.Contains(string(text), part), "docs/conformance.md lacks %q", part)
	}
}

func TestRunConduct(t *testing.T) {
	// Each test has a bubble of its own, with a fake and a session that is not destructive.
	test := func(name string, f func(*testing.T, *fake.Server, *session), opts ...fake.Option) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, s := open(t, bug{}, opts...)
				s.target.Destructive = false
				f(t, srv, s)
			})
		})
	}
	test("sends few requests and adds few pets", func(t *testing.T, srv *fake.Server, s *session) {
		s.checkAll()
		assert.Less(t, len(srv.Requests()), 100)
		names := make(map[string]bool) // a service may take a name only once
		for _, pet := range srv.Pets() {
			assert.True(t, strings.HasPrefix(pet.Name, "petstore-go conformance "), pet.Name)
			names[pet.Name] = true
		}
		assert.Len(t, names, 25)
	})
	// A 429 that a run provokes by accident could lead to a ban of the key.
	for _, ahead := range []time.Duration{-time.Hour, 0, time.Hour} {
		test("waits for a short quota, by the clock of the service", func(t *testing.T, srv *fake.Server, s *session) {
			srv.Advance(ahead)
			failed, _ := s.checkAll()
			assert.Empty(t, failed)
			assert.Nil(t, s.stopped)
			assert.Zero(t, srv.Usage(srv.APIKey()).Limited, "a 429 was provoked")
		}, fake.WithPlan(fake.Plan{PerMinute: 10}))
	}
	for value, wait := range map[string]time.Duration{
		"20": 20 * time.Second, "1.5": 1500 * time.Millisecond, "Sat, 01 Jan 2000 00:00:20 GMT": 20 * time.Second,
		"soon": time.Minute, "0": time.Minute,
	} {
		test("waits as long as a 429 says: "+value, func(t *testing.T, srv *fake.Server, s *session) {
			header := http.Header{headerLimit: nil, headerRemaining: nil, headerReset: nil}
			srv.Inject(fake.Fault{Status: http.StatusTooManyRequests, RetryAfter: value, Header: header})
			begun := time.Now()
			assert.Equal(t, http.StatusOK, s.ask(getPets).status)
			assert.Equal(t, wait, time.Since(begun))
		})
	}
	for name, fault := range map[string]fake.Fault{
		"an hour": {Status: http.StatusTooManyRequests, RetryAfter: "3600"},
		"again":   {Status: http.StatusTooManyRequests, RetryAfter: "1", Times: 2},
	} {
		test("ends before a long wait: "+name, func(t *testing.T, srv *fake.Server, s *session) {
			srv.Inject(fault)
			failed, skipped := s.checkAll()
			assert.Empty(t, failed)
			assert.Len(t, skipped, len(clauses))
			assert.LessOrEqual(t, len(srv.Requests()), 2)
		})
	}
	test("sends nothing on a day that is used up", func(t *testing.T, srv *fake.Server, s *session) {
		_, skipped := s.checkAll()
		assert.Contains(t, fmt.Sprint(skipped), "the quota is used up")
		assert.Equal(t, 11, srv.Usage(srv.APIKey()).Day, "one of twelve is left to others")
	}, fake.WithPlan(fake.Plan{PerMinute: 100, PerDay: 12}))
	test("sends one request to a service that is down", func(t *testing.T, srv *fake.Server, s *session) {
		injected := srv.Inject(fake.Fault{Wire: fake.WireReset, Times: fake.Forever})
		failed, _ := s.checkAll()
		assert.Contains(t, fmt.Sprint(failed), "expected a response to GET /pets?limit=1&status=available, got none")
		assert.Equal(t, 1, injected.Fired())
	})
	test("follows no redirects", func(t *testing.T, srv *fake.Server, s *session) {
		srv.Inject(fake.Fault{
			Times: fake.Forever, Status: http.StatusFound, Header: http.Header{"Location": {"http://elsewhere.example/v1/pets"}},
		})
		failed, _ := s.checkAll()
		assert.Contains(t, failed["4.1 limit may be 1 and 100"], "expected 200, got 302")
	})
	test("never names the key", func(t *testing.T, srv *fake.Server, s *session) {
		srv.Inject(fake.Fault{
			Times: fake.Forever, Status: http.StatusTeapot, Message: "what is " + fake.DefaultAPIKey + "?",
			Header: http.Header{"Content-Type": {fake.DefaultAPIKey}},
		})
		failed, skipped := s.checkAll()
		assert.NotContains(t, fmt.Sprint(failed, skipped), srv.APIKey())
		assert.Contains(t, fmt.Sprint(failed), "what is [key]?")
	})
}
