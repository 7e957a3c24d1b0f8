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
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// With these flags, the package tests another service than the fake.
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

// catalogue returns an option with pets of every status, more than one list returns by default.
func catalogue() fake.Option {
	var pets []petstore.NewPet
	for i := range 27 {
		pets = append(pets, petstore.NewPet{Name: "Mia", CategoryID: int64(i), Status: petstore.PetStatus(added[i%3])})
	}
	return fake.WithPets(pets...)
}

// The fake conforms over a port. The other tests reach it in memory.
func TestRun(t *testing.T) {
	testkit.Loopback(t)
	srv := fake.NewTestServer(t, catalogue())
	Run(t, Target{BaseURL: srv.URL() + "/", APIKey: srv.APIKey()})
}

// open opens a destructive session with a service. In a bubble its waits take no time.
func open(t *testing.T, b bug, opts ...fake.Option) (*fake.Server, *session) {
	t.Helper()
	srv := fake.NewServer(opts...)
	t.Cleanup(srv.Close)
	return srv, newSession(Target{
		BaseURL: "http://petstore.example/v1", APIKey: srv.APIKey(), Destructive: true,
		HTTPClient: &http.Client{Transport: &service{b, regexp.MustCompile(b.pattern), srv, 0}},
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

func TestEachClauseAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range clauses {
			_, full := open(t, bug{}, catalogue(), fake.WithPlan(fake.PlanFree))
			_, empty := open(t, bug{})
			p, p2 := full.check(c), empty.check(c)
			assert.True(t, p == nil || p.skip && p2 == nil, c.name())
			assert.True(t, p2 == nil || p2.skip, c.name())
		}
	})
}

// Some variants send a 429 without Retry-After, against section 8.3. The document leaves all other
// choices open, and no clause may fail for them.
func TestEveryVariant(t *testing.T) {
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
}

// docs/conformance.md has a row for each section with a clause, and names each field of Behavior.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/conformance.md")
	require.NoError(t, err)
	for _, c := range clauses {
		assert.Contains(t, string(text), "\n| "+c.section+" | ", "a row of the section")
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[fake.Behavior]()) {
		assert.Contains(t, string(text), "`"+field.Name+"`")
	}
}

// One request at a time may be too few to use up the quota of a slow service.
func TestRun_slowService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, s := open(t, bug{}, catalogue(), fake.WithLatency(time.Second))
		failed, skipped := s.checkAll()
		assert.Empty(t, failed)
		assert.Contains(t, skipped["8.3 a request over the limit is 429 (Destructive)"], "did not use up the quota")
		assert.Less(t, len(srv.Requests()), 250)
	})
}

func TestRunConduct(t *testing.T) {
	const over, forever = http.StatusTooManyRequests, fake.Forever
	elsewhere := http.Header{"Location": {"http://elsewhere.example/v1/pets"}}
	asks, key := "what is "+fake.DefaultAPIKey+" or fake-a?", http.Header{"Content-Type": {fake.DefaultAPIKey}}
	ten, removed := fake.WithPlan(fake.Plan{PerMinute: 10}), fake.WithBehavior(fake.Behavior{Removal: true})
	limited := func(retryAfter string) fake.Fault {
		header := http.Header{headerReset: {"946684800"}} // when a bubble begins
		return fake.Fault{Status: over, RetryAfter: retryAfter, Header: header}
	}
	for name, c := range map[string]struct {
		opt   fake.Option
		fault fake.Fault
		ahead time.Duration // the clock of the service
		says  string        // a part of the text of a failure; empty: nothing fails
		takes time.Duration // 0: any time
		sends int           // requests; 0: as many as usual
	}{
		"works with a short key in capitals":       {opt: fake.WithAPIKey("A")},
		"takes the removal of getPet as announced": {opt: removed, ahead: 31 * 366 * 24 * time.Hour},
		"waits for a short quota":                  {opt: ten},
		"waits if the service is an hour behind":   {opt: ten, ahead: -time.Hour},
		"waits if the service is an hour ahead":    {opt: ten, ahead: time.Hour},
		"waits if others use up the quota":         {fault: fake.Fault{Skip: 7, Status: over, RetryAfter: "20"}},
		"waits for two minutes":                    {fault: limited("120"), takes: 2 * time.Minute},
		"waits for a second and a half":            {fault: limited("1.5"), takes: 1500 * time.Millisecond},
		"waits until a date, by the clock of the service": {
			fault: limited("Sat, 01 Jan 2000 00:00:20 GMT"), ahead: 4 * time.Second, takes: 16 * time.Second,
		},
		"waits for a minute if a 429 says nothing": {fault: limited("soon"), takes: time.Minute},
		"waits for a minute if Retry-After is 0":   {fault: limited("0"), takes: time.Minute},
		"leaves one request of a day to others": {
			opt: fake.WithPlan(fake.Plan{PerMinute: 100, PerDay: 12}), says: "the quota is used up for 24h", sends: 11,
		},
		"ends if the wait is longer than two minutes": {fault: limited("121"), says: "used up for 2m1s", sends: 1},
		"ends at a second 429":                        {fault: fake.Fault{Status: over, RetryAfter: "1", Times: 2}, says: "sent another", sends: 2},
		"sends one request to a service that is down": {
			fault: fake.Fault{Wire: fake.WireReset}, sends: 1,
			says: "section 4.1: expected a response to GET /pets?limit=1&status=available, got none",
		},
		"does not wait for the quota of unknown keys": {fault: fake.Fault{
			Match: func(r *http.Request) bool { return r.Header.Get("Authorization") == "" }, Times: forever,
			Header: http.Header{headerRemaining: {"0"}, headerReset: {"946771200"}}, // in a day
		}},
		"takes a Reset as it is if there is no Date": {
			fault: fake.Fault{Header: http.Header{"Date": nil}, Times: forever}, ahead: -time.Hour,
		},
		"follows no redirects": {
			fault: fake.Fault{Operation: petstore.OpListPets, Times: forever, Status: http.StatusFound, Header: elsewhere},
			says:  "4.1 success is 200:section 4.1: expected 200, got 302",
		},
		"never names the key": {
			fault: fake.Fault{Times: forever, Status: http.StatusTeapot, Message: asks, Header: key},
			says:  "what is [key] or [key]?",
		},
		"leaves the half of a short key as it is": {
			opt:   fake.WithAPIKey("fake-key-01"),
			fault: fake.Fault{Times: forever, Status: http.StatusTeapot, Message: "what is fake-key-01 or fake-?"},
			says:  "what is [key] or fake-?",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, s := open(t, bug{}, c.opt)
				s.target.Destructive = false
				srv.Inject(c.fault)
				srv.Advance(c.ahead)
				begun := time.Now()
				failed, skipped := s.checkAll()
				if s.stopped != nil {
					failed["the run"] = s.stopped.text
					assert.NotNil(t, s.check(clauses[0]), "no clause is checked after the end")
				}
				assert.True(t, c.takes == 0 || c.takes == time.Since(begun), time.Since(begun))
				said := fmt.Sprint(failed)
				assert.Contains(t, said, c.says)
				assert.Equal(t, c.says == "", len(failed) == 0, said)
				assert.NotContains(t, said+fmt.Sprint(skipped), fake.DefaultAPIKey)
				assert.True(t, c.sends == 0 || c.sends == len(srv.Requests()), len(srv.Requests()))
				assert.Less(t, len(srv.Requests()), 110)
				assert.Zero(t, srv.Usage(srv.APIKey()).Limited, "a 429 was provoked, which may lead to a ban")
				for _, v := range srv.Violations() {
					assert.NotEqual(t, fake.RuleEarlyRetry, v.Rule, v.Detail)
				}
				names := make(map[string]bool)
				for _, pet := range srv.Pets() {
					names[pet.Name] = strings.HasPrefix(pet.Name, "petstore-go conformance ")
					assert.True(t, names[pet.Name], pet.Name)
				}
				assert.Len(t, srv.Pets(), len(names), "a service may take a name only once")
				assert.True(t, len(names) == 25 || c.says != "", len(names))
				assert.Nil(t, s.target.HTTPClient.CheckRedirect, "the client is copied")
			})
		})
	}
}
