package fake

import (
	"fmt"
	"slices"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/internal/service"
)

// Control returns what only the programs and the tests of this module do with a server. No other
// module can call it.
func (s *Server) Control(service.Pass) *control { // it is no part of the API
	return &control{s}
}

// control has the methods that package internal/fakecontrol documents and calls. Those that do not
// use srv work without a server.
type control struct{ srv *Server }

func (c *control) Restart()                  { c.srv.restart() }
func (c *control) ClearRequests()            { c.srv.journal.clear() }
func (c *control) Redact(text string) string { return safetext.Redact(text, c.srv.keys.known()...) }

func (c *control) Prepare(apiKey string, notify func(seq int)) {
	c.srv.config.notify = notify
	if apiKey != "" {
		mustBeKey("New", apiKey)
		c.srv.config.apiKey = apiKey
	}
	c.srv.restart()
}

func (c *control) APIKeys() []string { return c.srv.keys.known() }

func (c *control) Revoked(key string) bool {
	k := c.srv.keys.lookup(key) // nil after a Restart
	return k == nil || k.revoked.Load()
}

func (c *control) Request(seq int) (Request, bool) {
	return first(c.srv.read(func(j *journal) []*Request { return j.find(seq) }))
}

func (c *control) LastRequest() (Request, bool) {
	return first(c.srv.read(func(j *journal) []*Request { return j.find(j.seq) }))
}

func (c *control) AllInjections() []*Injection {
	l := &c.srv.faults
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

func (c *control) Injection(i *Injection) (id int, f Fault, until time.Time, active bool) {
	c.srv.faults.mu.Lock()
	defer c.srv.faults.mu.Unlock()
	return i.id, i.fault.clone(), i.until, i.active()
}

func (*control) Rules() []Rule        { return rules() }
func (*control) Wires() []Wire        { return wires() }
func (*control) Operations() []string { return operationNames() }
func (*control) Plans() []Plan        { return namedPlans() }

func (*control) ParseNewPet(text []byte) (petstore.NewPet, error) {
	pet, unknown, err := parseNewPet("the text", text)
	if err == nil && len(unknown) > 0 {
		return petstore.NewPet{}, fmt.Errorf("%s", noSuchField(unknown[0]))
	}
	return pet, err
}

func (*control) ParseBehavior(text string) (Behavior, error) { return parseBehavior(text) }
