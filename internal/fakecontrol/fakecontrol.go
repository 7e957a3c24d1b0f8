// Package fakecontrol does with a [fake.Server] what the program petstore-fake and the tests of
// this module need, and a user's test does not: it has what [fake.Server.Control] returns.
package fakecontrol

import (
	"fmt"
	"slices"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/service"
)

// Server is a fake with all that a program can do with it.
type Server struct {
	*fake.Server
	control
}

// control is what package fake offers beyond its API.
type control interface {
	// Restart puts everything back to where [New] left it: the keys and plans of the options and
	// no others, the latency of WithLatency, the clock, and all that Reset puts back. Entry points
	// and connections stay open.
	Restart()
	// Redact returns a text with every API key that the server knows replaced by "[redacted]",
	// however the key is escaped, as the journal does it. Keys of less than 6 characters stay.
	Redact(text string) string
	// Request returns the request of the journal with that Seq, and false if it holds none. It
	// shares its bodies with the journal: they must not be changed.
	Request(seq int) (fake.Request, bool)
	// LastRequest returns the latest request of the journal, and false if there is none.
	LastRequest() (fake.Request, bool)
	// ClearRequests empties the journal and nothing else: Request.Seq counts on, and violations
	// stay. Reset starts afresh.
	ClearRequests()

	// What follows is documented at the functions below.

	Prepare(apiKey string, notify func(seq int))
	APIKeys() []string // by their numbers, from 1
	Revoked(key string) bool
	AllInjections() []*fake.Injection
	Injection(i *fake.Injection) (id int, f fake.Fault, until time.Time, active bool)
	Operations() []string
	Rules() []fake.Rule
	Wires() []fake.Wire
	Plans() []fake.Plan
	ParseNewPet(text []byte) (petstore.NewPet, error)
	ParseBehavior(text string) (fake.Behavior, error)
}

// of returns what package fake offers for a server, or for none: nil.
func of(s *fake.Server) control { return s.Control(service.Pass{}) }

// New returns a fake of some options whose default key is apiKey, or [fake.DefaultAPIKey] if that
// is empty. If notify is not nil, it is called twice for each request of the journal, with its Seq:
// when the request is in the journal, and when its response is, before the client has it. notify
// runs on the goroutine that serves the request, which waits for it, and on several at a time; no
// lock is held, so that it may call the server.
func New(apiKey string, notify func(seq int), opts ...fake.Option) *Server {
	s := fake.NewServer(opts...)
	c := Of(s)
	c.Prepare(apiKey, notify)
	return c
}

// Of returns a fake with its controls.
func Of(s *fake.Server) *Server { return &Server{s, of(s)} }

// Key is an API key that a fake knows.
type Key struct {
	// Number is the number by which Request.Key names the key, from 1.
	Number int
	// APIKey is the key itself.
	APIKey string
	// Revoked reports whether requests with the key get 401.
	Revoked bool
	// Usage is what the key has used up.
	fake.Usage
}

// Keys returns the keys that the fake knows, revoked ones included, by ascending number.
func (s *Server) Keys() (keys []Key) {
	for i, key := range s.APIKeys() {
		keys = append(keys, Key{i + 1, key, s.Revoked(key), s.Usage(key)})
	}
	return keys
}

// KeyNumber returns the number by which Request.Key names an API key, 0 for one that the server
// does not know. A key that is revoked, or added again, keeps its number.
func (s *Server) KeyNumber(key string) int { return slices.Index(s.APIKeys(), key) + 1 }

// APIKey returns the key with a number, "" for a number that no key has.
func (s *Server) APIKey(number int) string {
	if keys := s.APIKeys(); number > 0 && number <= len(keys) {
		return keys[number-1]
	}
	return ""
}

// Injection is a fault that was injected.
type Injection struct {
	*fake.Injection

	// ID is the number of the injection, from 1 since the server was made or reset.
	ID    int
	Fault fake.Fault
	// Until is when the time of [fake.Fault.For] ends, by the server's clock; the zero time for a
	// fault without one.
	Until time.Time
	// Active reports whether the fault may still strike: whether it was not removed, has not struck
	// as often as it was to, and its time has not passed.
	Active bool
}

// Inject makes a fault apply to the requests that follow, as that of package fake.
func (s *Server) Inject(f fake.Fault) Injection { return s.injection(s.Server.Inject(f)) }

// Injections returns the injections in the order in which they were injected: those that may still
// strike, and the last 1,000 that have struck as often as they were to. Removed ones are not among
// them.
func (s *Server) Injections() (all []Injection) {
	for _, i := range s.AllInjections() {
		all = append(all, s.injection(i))
	}
	return all
}

func (s *Server) injection(i *fake.Injection) Injection {
	id, f, until, active := s.Injection(i)
	return Injection{i, id, f, until, active}
}

// Operations returns the operations of the service.
func Operations() []string { return of(nil).Operations() }

// Wires returns all wires, [fake.WireNone] first.
func Wires() []fake.Wire { return of(nil).Wires() }

// Rules returns the rules of [fake.Server.Violations].
func Rules() []fake.Rule { return of(nil).Rules() }

// PlanNames returns what ParsePlan reads, in words: free, pro, business or enterprise:M,D.
func PlanNames() string {
	var names strings.Builder
	for _, p := range of(nil).Plans() {
		names.WriteString(p.String() + ", ")
	}
	return strings.TrimSuffix(names.String(), ", ") + " or enterprise:M,D"
}

// ParsePlan reads the name of a plan in any case, or enterprise:M,D with the requests per minute
// and per day, 0 for unlimited.
func ParsePlan(text string) (fake.Plan, error) {
	for _, p := range of(nil).Plans() {
		if strings.EqualFold(text, p.Name) {
			return p, nil
		}
	}
	var perMinute, perDay uint32
	text = strings.ToLower(text)
	_, _ = fmt.Sscanf(text, "enterprise:%d,%d", &perMinute, &perDay)
	if p := fake.Enterprise(int(perMinute), int(perDay)); p.String() == text {
		return p, nil
	}
	return fake.Plan{}, fmt.Errorf("there is no plan %.64q; it is %s: the requests per minute and per day,"+
		" such as enterprise:2000,500000; 0 is unlimited", text, PlanNames())
}

// ParseNewPet reads a NewPet object as createPet does (section 4.2), but a field that NewPet does
// not have is an error.
func ParseNewPet(text []byte) (petstore.NewPet, error) { return of(nil).ParseNewPet(text) }

// ParseBehavior reads what [fake.Behavior.String] writes, and [fake.Variants] yields: "default", or
// a list of choices, such as "retry-after=date,window=sliding". What it does not name has its
// default.
func ParseBehavior(text string) (fake.Behavior, error) { return of(nil).ParseBehavior(text) }
