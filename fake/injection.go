package fake

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Injection is a fault that was injected. Its methods are safe for concurrent use.
type Injection struct {
	srv   *Server
	id    int
	fault Fault
	until time.Time // the end of Fault.For; zero: none
	// Under faultList.mu:
	fitting int // requests for which the fault is meant
	fired   int
}

// faultList holds the faults in the order of their injection, but not those that were removed.
type faultList struct {
	mu   sync.Mutex
	list []*Injection
	last int // id
	rng  *rand.Rand
}

func (l *faultList) reset(seed uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list, l.last = nil, 0
	l.rng = rand.New(rand.NewPCG(seed, 2))
}

// Inject makes a fault apply to the requests that follow. It panics if the fault can never apply,
// or its response cannot be sent. The server keeps a copy: changing f later changes nothing.
func (s *Server) Inject(f Fault) *Injection {
	check("Inject", f.problem())
	i := &Injection{srv: s, fault: f.clone()}
	if f.For > 0 {
		i.until = s.Now().Add(f.For)
	}
	l := &s.faults
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	i.id = l.last
	l.list = append(l.list, i)
	return i
}

// Injections returns the injections in their order, also those that are used up, but none that was
// removed.
func (s *Server) Injections() []*Injection {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	return slices.Clone(s.faults.list)
}

// clone returns a copy, whose header has its names in the spelling that net/http looks for.
func (f Fault) clone() Fault {
	h := make(http.Header, len(f.Header))
	for name, values := range f.Header {
		name = http.CanonicalHeaderKey(name)
		h[name] = append(h[name], values...) // nil if there are none
	}
	f.Header, f.Body = h, bytes.Clone(f.Body)
	return f
}

// ID is the number of the injection, from 1 since the server was made or reset.
func (i *Injection) ID() int { return i.id }

// Fault returns a copy of the fault.
func (i *Injection) Fault() Fault { return i.fault.clone() }

// Active reports whether the fault may still strike: it was not removed, it has struck less often
// than [Fault.Times] says, and its time has not passed.
func (i *Injection) Active() bool {
	i.srv.faults.mu.Lock()
	defer i.srv.faults.mu.Unlock()
	return i.active()
}

// Fired returns the number of requests to which the fault has applied.
func (i *Injection) Fired() int {
	i.srv.faults.mu.Lock()
	defer i.srv.faults.mu.Unlock()
	return i.fired
}

// Remove ends the fault. Requests to which it has applied already are not changed.
func (i *Injection) Remove() {
	l := &i.srv.faults
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(l.list, func(o *Injection) bool { return o == i })
}

// active is Active for a caller that holds mu.
func (i *Injection) active() bool {
	f := &i.fault
	always := f.Times == Forever || f.Times == 0 && f.For > 0
	return (always || i.fired < max(f.Times, 1)) && (i.until.IsZero() || i.srv.Now().Before(i.until)) &&
		slices.Contains(i.srv.faults.list, i)
}

// pick returns the first fault that applies to a request, noFault if none does. It looks only at
// faults with a WireRefuse if refusals is true, and only at the others if not. No lock is held
// while it calls Match, which may do anything.
func (s *Server) pick(x *exchange, refusals bool) *Fault {
	for _, i := range s.Injections() {
		f := &i.fault
		meant := (f.Wire == WireRefuse) == refusals && (f.Operation == "" || f.Operation == x.route.name()) &&
			(f.APIKey == "" || f.APIKey == x.token)
		if meant && i.Active() && (f.Match == nil || f.Match(x.copyRequest())) && i.strike() {
			return f
		}
	}
	return noFault
}

// strike counts a request that fits, and reports whether the fault applies to it.
func (i *Injection) strike() bool {
	l := &i.srv.faults
	l.mu.Lock()
	defer l.mu.Unlock()
	if !i.active() { // it may have ended meanwhile
		return false
	}
	i.fitting++
	if i.fitting <= i.fault.Skip || i.fault.Chance > 0 && l.rng.Float64() >= i.fault.Chance {
		return false
	}
	i.fired++
	return true
}

// unfired describes the injections that never struck, except those with a Chance.
func (l *faultList) unfired() (list []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range l.list {
		if i.fired == 0 && i.fault.Chance == 0 {
			list = append(list, fmt.Sprintf("%s; %d fitting requests came, Skip is %d", i.fault, i.fitting, i.fault.Skip))
		}
	}
	return list
}
