package fake

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"
)

// Forever makes a [Fault] apply to every request that it matches.
const Forever = -1

// Fault is a failure on demand. Its first fields select requests; the others say what happens to a
// selected request. The zero Fault applies to the next request and changes nothing.
//
// What the service does with a selected request:
//
//	with AfterCommit                           handles it as usual, before the fault applies
//	without Status, and Wire "" or "truncate"  handles it as usual; the fault changes its response
//	with any other fault                       does not authenticate, count or carry it out
//
// Each response of a fault has the rate limit headers, except a login page.
//
// At most one fault applies to a request: the first injected fault that selects the request and is
// not used up. But faults with [WireRefuse] come first, since they apply before a request reaches
// the server.
type Fault struct {
	// Operation selects requests of one operation, such as [petstore.OpCreatePet]; if empty, all.
	Operation string `json:"operation,omitzero"`
	// APIKey selects requests that present this key; if empty, all.
	APIKey string `json:"apiKey,omitzero"`
	// Match selects requests for which it returns true; if nil, all. It gets a copy of the request,
	// with a body of its own to read. It runs on the request's goroutine, and may call the server.
	Match func(*http.Request) bool `json:"-"`
	// Skip is the number of matching requests that pass before the fault applies.
	Skip int `json:"skip,omitzero"`
	// Times is the number of requests to which the fault applies. 0 means one request or, with For,
	// all requests in that time. [Forever] means all requests.
	Times int `json:"times,omitzero"`
	// For is how long the fault lasts from its injection on, by the server's clock; 0: without end.
	For time.Duration `json:"for,omitzero"`
	// Chance is the probability with which the fault applies; 0: always. [WithSeed] sets the seed.
	Chance float64 `json:"chance,omitzero"`

	// Delay is how long the server holds the response back, or the failure in its place. The
	// service handles the request after the delay or, with AfterCommit, before the delay.
	// [Server.Advance] does not shorten a Delay or a Drip.
	Delay time.Duration `json:"delay,omitzero"`
	// AfterCommit lets the service handle the request before the fault applies: the service counts
	// the request and carries it out, or refuses it.
	AfterCommit bool `json:"afterCommit,omitzero"`
	// Status is the status of the response. With 0, the service chooses it.
	Status int `json:"status,omitzero"`
	// Code and Message are sent in the Error object of a Status of 400 or more. Both have defaults.
	Code    string `json:"code,omitzero"`
	Message string `json:"message,omitzero"`
	// RetryAfter is the value of the Retry-After header, sent as it is.
	RetryAfter string `json:"retryAfter,omitzero"`
	// Header replaces or adds headers of the response. A name without values removes the header.
	Header http.Header `json:"header,omitempty"`
	// Body is sent in place of the usual body, unless Body is nil.
	Body []byte `json:"body,omitzero"`
	// Drip is how long the server takes to send the body, in up to 100 pieces.
	Drip time.Duration `json:"drip,omitzero"`
	// Wire is what happens on the way between client and service. If it is empty, WireTruncate or
	// WireLoginPage, the client gets a response. With any other Wire, it gets none: Status and the
	// other fields of the response have no effect.
	Wire Wire `json:"wire,omitzero"`
}

// problem returns an error if the fault can never apply, or if its response cannot be sent. The
// error has no key in it.
func (f *Fault) problem() error {
	return cmp.Or(
		checkOperation(f.Operation),
		oneOf("wire", f.Wire, append(Wires(), "")),
		errorIf(f.Skip < 0 || min(f.For, f.Delay, f.Drip) < 0, "Skip, For, Delay or Drip is negative"),
		errorIf(f.Times < Forever, "Times is negative and not Forever"),
		errorIf(!(f.Chance >= 0 && f.Chance <= 1), "Chance is not between 0 and 1"), // NaN, too
		errorIf(f.Status != 0 && (f.Status < 200 || f.Status > 999),
			"Status %d does not lie between 200 and 999", f.Status),
		errorIf(f.Wire == WireRefuse && f.AfterCommit, "a refused connection carries out nothing"),
		errorIf(f.Code+f.Message != "" && (f.Status < 400 || f.Wire == WireLoginPage),
			"Code and Message need a Status from 400 on"),
	)
}

// onlyChanges reports whether the fault lets the service handle the request, and only changes
// the response.
func (f *Fault) onlyChanges() bool {
	return f.Status == 0 && (f.Wire == "" || f.Wire == WireTruncate)
}

// noFault stands for a request to which no fault applies.
var noFault = new(Fault)

// String describes the fault in a few words, without its key.
func (f Fault) String() string {
	text := "fault"
	add := func(applies bool, format string, args ...any) {
		if applies {
			text += fmt.Sprintf(format, args...)
		}
	}
	add(f.Operation != "", " on %s", f.Operation)
	add(f.Delay > 0, " after %v", f.Delay)
	add(f.Status != 0, " with status %d", f.Status)
	add(f.Drip > 0, " dripping for %v", f.Drip)
	add(f.Wire != "", " by %s", f.Wire)
	add(f.AfterCommit, " after commit")
	return text
}

// Wire is the part of a [Fault] that happens on the way between client and service. The empty Wire
// changes nothing. A client observes the same through every entry point, unless the comment of a
// value says otherwise. If your own server has TLS, a reset looks like a close. Over HTTP/2, each
// Wire except [WireLoginPage] and [WireStall] ends the stream with an error.
type Wire string

// The values of Wire. Before the server resets or closes a socket, it sends 100 Continue. Without
// this response, net/http would silently repeat a GET on a connection that it has used before.
const (
	// WireReset resets the connection instead of answering; errors match syscall.ECONNRESET.
	WireReset Wire = "reset"
	// WireClose closes the connection instead of answering; errors match io.EOF. Over a socket,
	// they match io.ErrUnexpectedEOF.
	WireClose Wire = "close"
	// WireTruncate sends half of the body and closes the connection; errors match
	// io.ErrUnexpectedEOF.
	WireTruncate Wire = "truncate"
	// WireGarbage sends bytes that are not HTTP.
	WireGarbage Wire = "garbage"
	// WireStall sends nothing until the client gives up.
	WireStall Wire = "stall"
	// WireLoginPage sends the login page of a proxy in place of the response, without rate limit
	// headers. Its status is the Status of the fault, or 200 if that is 0. A 3xx has a Location.
	WireLoginPage Wire = "login-page"
	// WireRefuse refuses the connection, so that nothing reaches the server or the journal; errors
	// match syscall.ECONNREFUSED. Match sees the request without its body. A client of [Server.URL]
	// or [Server.ServeHTTP] is already connected: the server resets its connection, as with
	// WireReset.
	WireRefuse Wire = "refuse"
)

// Wires returns all values of Wire, except the empty one.
func Wires() []Wire {
	return []Wire{WireReset, WireClose, WireTruncate, WireGarbage, WireStall, WireLoginPage, WireRefuse}
}

// sendsResponse reports whether the client receives the response, or a part of it.
func (w Wire) sendsResponse() bool { return w == "" || w == WireTruncate || w == WireLoginPage }

// Injection is a fault that was injected. Its methods are safe for concurrent use.
type Injection struct {
	srv     *Server // its lock guards matched and applied
	id      int
	fault   Fault
	most    int       // number of requests to which the fault applies
	until   time.Time // when the fault ends by Fault.For; zero if it has no end
	matched int       // requests that the first fields of the fault select
	applied int
}

// Inject makes a fault apply to the requests that follow. It panics if the fault can never apply,
// or if its response cannot be sent. The server keeps a copy of f.
func (s *Server) Inject(f Fault) *Injection {
	panicOn("Inject", f.problem())
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inject(f)
}

// inject is Inject for a caller that holds mu.
func (s *Server) inject(f Fault) *Injection {
	s.lastID++
	i := &Injection{srv: s, id: s.lastID, fault: f.clone(), most: max(f.Times, 1)}
	if f.For > 0 {
		i.until = s.Now().Add(f.For)
	}
	if f.Times == Forever || f.Times == 0 && f.For > 0 {
		i.most = math.MaxInt
	}
	s.injections = append(s.injections, i)
	return i
}

// Injections returns the injections in their order. Injections that are used up are among them,
// those that were removed are not.
func (s *Server) Injections() []*Injection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.injections)
}

// clone returns a copy. The names in its Header have the canonical spelling of net/http.
func (f Fault) clone() Fault {
	h := make(http.Header, len(f.Header))
	for name, values := range f.Header {
		name = http.CanonicalHeaderKey(name)
		h[name] = append(h[name], values...) // a name without values gets nil
	}
	f.Header, f.Body = h, bytes.Clone(f.Body)
	return f
}

// ID is the number of the injection, counted from 1 since the server was made or reset.
func (i *Injection) ID() int { return i.id }

// Fault returns a copy of the fault.
func (i *Injection) Fault() Fault { return i.fault.clone() }

// Active reports whether the fault may still apply: it was not removed, it has applied less often
// than [Fault.Times] says, and its time has not passed.
func (i *Injection) Active() bool {
	i.srv.mu.Lock()
	defer i.srv.mu.Unlock()
	return i.active()
}

// active is Active for a caller that holds mu.
func (i *Injection) active() bool {
	return i.applied < i.most && (i.until.IsZero() || i.srv.Now().Before(i.until)) &&
		slices.Contains(i.srv.injections, i)
}

// Applied returns the number of requests to which the fault has applied.
func (i *Injection) Applied() int {
	i.srv.mu.Lock()
	defer i.srv.mu.Unlock()
	return i.applied
}

// Remove ends the fault. Requests to which it has applied already are not changed.
func (i *Injection) Remove() {
	i.srv.mu.Lock()
	defer i.srv.mu.Unlock()
	i.srv.injections = slices.DeleteFunc(i.srv.injections, func(o *Injection) bool { return o == i })
}

// pickFault returns the first fault that applies to a request, of those that refuse the connection
// or of the others; noFault if none does. It calls Match without the lock, since Match may do
// anything, even remove the fault.
func (x *exchange) pickFault(refuses bool) *Fault {
	for _, i := range x.srv.Injections() {
		f := &i.fault
		matches := refuses == (f.Wire == WireRefuse) &&
			(f.Operation == "" || f.Operation == x.operation.Name) &&
			(f.APIKey == "" || f.APIKey == x.token)
		if matches && i.Active() && (f.Match == nil || f.Match(x.copyRequest())) && i.apply() {
			return f
		}
	}
	return noFault
}

// apply counts a request that matches the fault, and reports whether the fault applies to it.
func (i *Injection) apply() bool {
	i.srv.mu.Lock()
	defer i.srv.mu.Unlock()
	if !i.active() {
		return false
	}
	i.matched++
	if i.matched <= i.fault.Skip || i.fault.Chance > 0 && i.srv.rng.Float64() >= i.fault.Chance {
		return false
	}
	i.applied++
	return true
}
