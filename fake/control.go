package fake

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
)

// The methods of direct beside RoundTrip are for the program petstore-fake and for package
// conformance. Package internal/fakecontrol documents and calls them. Those that do not use srv
// work without a server.

func (d direct) Restart()                  { d.srv.restart() }
func (d direct) ClearRequests()            { d.srv.journal.clear() }
func (d direct) Latency() time.Duration    { return time.Duration(d.srv.latency.Load()) }
func (d direct) Redact(text string) string { return d.srv.keys.redactor().text(text) }

func (d direct) Prepare(apiKey string, notify func(seq int)) {
	d.srv.config.notify = notify
	if apiKey != "" {
		mustBeToken("New", apiKey)
		d.srv.config.apiKey = apiKey
	}
	d.srv.restart()
}

func (d direct) APIKeys() []string { return d.srv.keys.redactor() }

func (d direct) Revoked(key string) bool {
	k := d.srv.keys.lookup(key) // nil after a Restart
	return k == nil || k.revoked.Load()
}

func (d direct) Request(seq int) (Request, bool) {
	return first(d.srv.read(func(j *journal) []*entry { return j.find(seq) }))
}

func (direct) WriteHAR(w io.Writer, origin string, requests iter.Seq[Request]) error {
	return writeArchive(w, origin, requests)
}

func (d direct) AllInjections() []*Injection {
	l := &d.srv.faults
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Concat(l.ended, l.list)
	slices.SortFunc(all, func(a, b *Injection) int { return a.id - b.id })
	return all
}

func (d direct) Injection(i *Injection) (id int, f Fault, until time.Time, active bool) {
	d.srv.faults.mu.Lock()
	defer d.srv.faults.mu.Unlock()
	return i.id, i.fault.clone(), i.until, i.active()
}

func (direct) Rules() []string      { return rules() }
func (direct) Operations() []string { return operationNames() }

func (direct) PlanNames() string {
	names := make([]string, 0, len(namedPlans())+1)
	for _, p := range namedPlans() {
		names = append(names, p.String())
	}
	return oneOf(append(names, "enterprise:M,D"))
}

func (d direct) ParsePlan(text string) (Plan, error) {
	for _, p := range namedPlans() {
		if strings.EqualFold(text, p.Name) {
			return p, nil
		}
	}
	custom, ok := strings.CutPrefix(strings.ToLower(text), "enterprise:")
	if !ok {
		return Plan{}, fmt.Errorf("there is no plan %s; it is %s", quote(text), d.PlanNames())
	}
	perMinute, perDay, ok := strings.Cut(custom, ",")
	m, err1 := strconv.Atoi(perMinute)
	n, err2 := strconv.Atoi(perDay)
	if !ok || err1 != nil || err2 != nil || m < 0 || n < 0 {
		return Plan{}, fmt.Errorf("%s is not enterprise:M,D with the requests per minute and per day,"+
			" such as enterprise:2000,500000; 0 is unlimited", quote(text))
	}
	return Enterprise(m, n), nil
}

func (direct) Effect(f Fault) string { return f.effect() }

func (direct) ParseNewPet(text []byte) (petstore.NewPet, error) {
	pet, unknown, err := parseNewPet("the text", text)
	if err == nil && len(unknown) > 0 {
		return petstore.NewPet{}, fmt.Errorf("%s", noSuchField(unknown[0]))
	}
	return pet, err
}

func (direct) ParseBehavior(text string) (Behavior, error) {
	var b Behavior
	if text == "default" {
		return b, nil
	}
	seen := make(map[string]bool)
	for word := range strings.SplitSeq(text, ",") {
		name, choice, _ := strings.Cut(strings.TrimSpace(word), "=")
		if seen[name] {
			return Behavior{}, fmt.Errorf("%s is given twice", quote(name))
		}
		seen[name] = true
		if err := choose(&b, name, choice); err != nil {
			return Behavior{}, err
		}
	}
	return b, nil
}
