package conformance

import (
	"cmp"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/testkit"
)

func TestMain(m *testing.M) {
	testkit.SkipExamples()
	goleak.VerifyTestMain(m)
}

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
	Run(t, Target{
		BaseURL: *serviceURL, APIKey: cmp.Or(*serviceKey, os.Getenv("PETSTORE_API_KEY")),
		CategoryID: *category, Destructive: *destructive,
	})
}

// catalogue is an option with more than a page of pets, and pets of every status.
func catalogue() fake.Option {
	var pets []petstore.NewPet
	for i := range 27 {
		pets = append(pets, petstore.NewPet{Name: "Mia", CategoryID: int64(i), Status: petstore.PetStatus(added[i%3])})
	}
	return fake.WithPets(pets...)
}

// The fake conforms through every entry point.
func TestRun(t *testing.T) {
	for name, open := range map[string]func(*testing.T, *fake.Server) Target{
		"memory": func(_ *testing.T, srv *fake.Server) Target {
			return Target{BaseURL: "https://petstore.example/v1", HTTPClient: srv.HTTPClient()}
		},
		"loopback": func(t *testing.T, srv *fake.Server) Target {
			testkit.Loopback(t)
			return Target{BaseURL: srv.URL() + "/"}
		},
		"handler": func(t *testing.T, srv *fake.Server) Target {
			testkit.Loopback(t)
			ts := httptest.NewServer(srv)
			t.Cleanup(ts.Close)
			return Target{BaseURL: ts.URL + "/v1"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := fake.NewTestServer(t, catalogue())
			target := open(t, srv)
			target.APIKey = srv.APIKey()
			Run(t, target)
		})
	}
}

// open opens a destructive session with a service. It takes minutes, which pass at once in a bubble.
func open(t *testing.T, b bug, opts ...fake.Option) (*fake.Server, *session) {
	t.Helper()
	srv := fake.NewServer(opts...)
	t.Cleanup(srv.Close)
	return srv, newSession(Target{
		BaseURL: "http://petstore.example/v1", APIKey: srv.APIKey(), Destructive: true,
		HTTPClient: &http.Client{Transport: &service{bug: b, fake: srv.HTTPClient().Transport}},
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

// names returns the names of all clauses.
func names() (list []string) {
	for _, c := range clauses {
		list = append(list, c.name())
	}
	return list
}

func TestClausesOnTheFake(t *testing.T) {
	t.Run("each can be checked alone", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for _, c := range clauses {
				_, full := open(t, bug{}, catalogue(), fake.WithPlan(fake.PlanFree))
				_, empty := open(t, bug{})
				p, p2 := full.check(c), empty.check(c)
				assert.True(t, p == nil || p.skip && p2 == nil, c.name())
				assert.True(t, p2 == nil || p2.skip, c.name())
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
				if strings.Contains(name, "retry-after=absent") {
					delete(failed, "8.3 a 429 carries Retry-After (Destructive)")
				}
				assert.Empty(t, failed, name)
			})
		}
	})
}
