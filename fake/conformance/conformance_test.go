package conformance

import (
	"cmp"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/loopback"
)

// The flags with which the package tests another service than the fake.
var (
	serviceURL  = flag.String("petstore.url", "", "base address of a service to test, ending in /v1")
	serviceKey  = flag.String("petstore.key", "", "API key for it; PETSTORE_API_KEY if there is no such flag")
	observeFile = flag.String("petstore.observe", "", "file to write observations of the service to")
	category    = flag.Int64("petstore.category", 0, "category for the animals that are added; 0 is category 1")
	destructive = flag.Bool("petstore.destructive", false, "spend the key's quota until a 429 comes")
)

func TestService(t *testing.T) {
	if *serviceURL == "" {
		t.Skip("no service: -petstore.url and -petstore.key name one")
	}
	s, err := newSession(t.Context(), Target{
		BaseURL: *serviceURL, APIKey: cmp.Or(*serviceKey, os.Getenv("PETSTORE_API_KEY")),
		CategoryID: *category, Destructive: *destructive,
	})
	require.NoError(t, err)
	s.run(t)
	if *observeFile == "" {
		return
	}
	observations, err := s.observe()
	require.NoError(t, err)
	require.NoError(t, observations.WriteFile(*observeFile))
	t.Logf("%d observations are in %s", len(observations), *observeFile)
}

// catalogue is an option with more than a page of pets, and pets of every status.
func catalogue() fake.Option {
	var pets []petstore.NewPet
	for i := range 27 {
		status := []petstore.PetStatus{"available", "pending", "sold"}[i%3]
		pets = append(pets, petstore.NewPet{Name: "Mia", CategoryID: int64(i), Status: status})
	}
	return fake.WithPets(pets...)
}

func TestRun(t *testing.T) {
	t.Run("the fake conforms through every entry point", func(t *testing.T) {
		for name, open := range map[string]func(*testing.T, *fake.Server) Target{
			"memory": func(_ *testing.T, srv *fake.Server) Target {
				return Target{BaseURL: "https://petstore.example/v1", HTTPClient: srv.HTTPClient()}
			},
			"direct": func(_ *testing.T, srv *fake.Server) Target {
				return Target{BaseURL: "http://petstore.example/v1", HTTPClient: &http.Client{Transport: srv.Transport()}}
			},
			"loopback": func(t *testing.T, srv *fake.Server) Target {
				loopback.Need(t)
				return Target{BaseURL: srv.URL()}
			},
			"handler": func(t *testing.T, srv *fake.Server) Target {
				loopback.Need(t)
				ts := httptest.NewServer(srv)
				t.Cleanup(ts.Close)
				return Target{BaseURL: ts.URL + "/v1"}
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				srv := fake.NewTestServer(t, catalogue())
				target := open(t, srv)
				target.APIKey = srv.APIKey()
				Run(t, target)
			})
		}
	})
	t.Run("the fake conforms with an empty catalogue", func(t *testing.T) {
		srv := fake.NewTestServer(t)
		Run(t, Target{BaseURL: "http://petstore.example/v1", APIKey: srv.APIKey(), HTTPClient: srv.HTTPClient()})
	})
}

// verdict is a clause with the result of its check.
type verdict struct {
	clause
	err error
}

// checkAll checks all clauses.
func (s *session) checkAll() []verdict {
	var verdicts []verdict
	for _, c := range clauses() {
		verdicts = append(verdicts, verdict{c, s.check(c)})
	}
	return verdicts
}

// checkFake returns the verdicts on the fake with options, from inside a bubble. Destructive runs
// take minutes, which pass at once there.
func checkFake(t *testing.T, opts ...fake.Option) []verdict {
	t.Helper()
	srv := fake.NewServer(opts...)
	t.Cleanup(srv.Close)
	s, err := newSession(t.Context(), Target{
		BaseURL: "http://petstore.example/v1", APIKey: srv.APIKey(), Destructive: true,
		HTTPClient: &http.Client{Transport: srv.Transport()},
	})
	require.NoError(t, err)
	return s.checkAll()
}

// skipped returns the names of the clauses that could not be checked.
func skipped(verdicts []verdict) []string {
	var list []string
	for _, v := range verdicts {
		if isSkip(v.err) {
			list = append(list, v.name())
		}
	}
	return list
}

func TestClausesOnTheFake(t *testing.T) {
	t.Run("each can be checked", func(t *testing.T) {
		for name, plan := range map[string]fake.Plan{"Free": fake.PlanFree, "Business": fake.PlanBusiness} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					full := checkFake(t, catalogue(), fake.WithPlan(plan))
					empty := checkFake(t, fake.WithPlan(plan))
					for _, v := range slices.Concat(full, empty) {
						assert.Truef(t, v.err == nil || isSkip(v.err), "%s: %v", v.name(), v.err)
					}
					for _, name := range skipped(full) {
						assert.NotContains(t, skipped(empty), name)
					}
				})
			})
		}
	})
	// One variant sends a 429 without Retry-After, against section 8.3. The document leaves the
	// other choices open, and no clause may fail for them.
	t.Run("every variant conforms", func(t *testing.T) {
		for name, variant := range fake.Variants() {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					verdicts := checkFake(t, catalogue(), fake.WithPlan(fake.PlanFree), variant)
					for _, v := range verdicts {
						if v.err != nil && !isSkip(v.err) {
							assert.Equalf(t, "8.3 a 429 carries Retry-After", v.name(), "%v", v.err)
							assert.Contains(t, name, "retry-after=absent")
						}
					}
				})
			})
		}
	})
}

func TestClausesHaveUniqueNames(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range clauses() {
		assert.Falsef(t, seen[c.name()], "%q", c.name())
		seen[c.name()] = true
	}
}

func TestTarget(t *testing.T) {
	for name, target := range map[string]Target{
		"no address":   {APIKey: "key"},
		"no host":      {BaseURL: "/v1", APIKey: "key"},
		"other scheme": {BaseURL: "ftp://petstore.example/v1", APIKey: "key"},
		"query":        {BaseURL: "http://petstore.example/v1?a=b", APIKey: "key"},
		"user":         {BaseURL: "http://a:b@petstore.example/v1", APIKey: "key"},
		"no key":       {BaseURL: "http://petstore.example/v1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newSession(t.Context(), target)
			assert.ErrorContains(t, err, "conformance: Target.")
		})
	}
}
