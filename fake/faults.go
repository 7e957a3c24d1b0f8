package fake

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Forever makes a [Fault] strike every request that it fits.
const Forever = -1

// Fault is a failure on demand. Its first fields say which requests it strikes, the others what
// happens to them. The zero Fault changes nothing about the answer to the next request.
//
// A fault comes before everything else: the request it strikes meets no authentication and no limit,
// is not counted and not carried out, unless the fault leaves the answer to the service: that is
// what a fault does that has neither a Status nor a Wire which hides the answer. Its answer carries
// the three rate limit headers like any other, showing what they would have shown before.
//
// One fault strikes a request: of those that fit, the one injected first; only a [WireRefuse] comes
// before it, since it strikes before anything has reached the server.
type Fault struct {
	// Operation is the operation it strikes, such as [OpCreatePet]. Empty: any request at all.
	Operation string
	// APIKey strikes only requests that present this key. Empty: any.
	APIKey string
	// Match strikes only requests for which it returns true. It gets a copy of the request with a
	// body of its own, on the goroutine that serves it, may read it, and may call the server.
	// Nil: any.
	Match func(*http.Request) bool
	// Skip lets this many fitting requests pass first.
	Skip int
	// Times is how many requests it strikes: 0 is one, [Forever] all of them.
	Times int
	// Chance is the probability with which it strikes a fitting request, decided by [WithSeed].
	// 0 is always.
	Chance float64

	// Delay is how long the answer is held back, by the time of the goroutine (in a synctest
	// bubble, virtual). The request is carried out after it, or before it with AfterCommit.
	Delay time.Duration
	// AfterCommit carries the request out first, counted and stored as ever, and only then fails.
	AfterCommit bool
	// Status is the status of the answer. 0 leaves it to the service.
	Status int
	// Code and Message go into the Error object that an answer of 400 and above has for a body;
	// there are defaults for both.
	Code    string
	Message string
	// RetryAfter is the value of the Retry-After header, sent as it is.
	RetryAfter string
	// Header is added to the answer in place of headers of the same name; a name with no values
	// takes the header away.
	Header http.Header
	// Body is sent instead of the body that would have been sent. Nil keeps that.
	Body []byte
	// Wire is what happens to the connection.
	Wire Wire
}

// Injection is a fault at work. Its methods are safe for concurrent use.
type Injection struct {
	list  *faultList
	fault Fault
	// Under list.mu:
	seen    int
	fired   int
	removed bool
}

// faultList holds the faults at work, in the order of their injection. The slice is never changed in
// place, so that requests walk through it without a lock while Match calls the server.
type faultList struct {
	mu      sync.Mutex
	list    []*Injection
	rng     *rand.Rand
	count   atomic.Int64 // of list, so that a server without faults takes no lock
	refusal atomic.Int64 // of list, those with WireRefuse
}

func (l *faultList) reset(seed uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rng = rand.New(rand.NewPCG(seed, 2))
	l.replace(nil)
}

// replace puts another list in place. The caller holds mu.
func (l *faultList) replace(list []*Injection) {
	l.list = list
	l.count.Store(int64(len(list)))
	var refusals int64
	for _, i := range list {
		if i.fault.Wire == WireRefuse {
			refusals++
		}
	}
	l.refusal.Store(refusals)
}

// Inject makes a fault strike the requests to come. It panics on a fault that makes no sense, such
// as one of an unknown operation. The server keeps a copy: changing f later changes nothing.
func (s *Server) Inject(f Fault) *Injection {
	if problem := f.problem(); problem != "" {
		panic("fake: Inject: " + problem)
	}
	f.Header, f.Body = f.Header.Clone(), bytes.Clone(f.Body)
	l := &s.faults
	i := &Injection{list: l, fault: f}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replace(append(slices.Clone(l.list), i))
	return i
}

// problem says what is wrong with a fault, if anything is.
func (f *Fault) problem() string {
	switch {
	case !slices.Contains([]string{"", OpListPets, OpCreatePet, OpGetPet}, f.Operation):
		return fmt.Sprintf("there is no operation %q", f.Operation)
	case f.Skip < 0:
		return "Skip is negative"
	case f.Times < Forever:
		return "Times is negative and not Forever"
	case f.Delay < 0:
		return "Delay is negative"
	case !(f.Chance >= 0 && f.Chance <= 1):
		return "Chance is not a probability between 0 and 1"
	case f.Status != 0 && (f.Status < 200 || f.Status > 999):
		return fmt.Sprintf("Status is %d; it must lie between 200 and 999", f.Status)
	case strings.ContainsAny(f.RetryAfter, "\r\n\x00"):
		return "RetryAfter holds a line break"
	case f.Wire < WireNone || f.Wire > WireRefuse:
		return fmt.Sprintf("there is no Wire %d", f.Wire)
	case f.Wire == WireRefuse && f.AfterCommit:
		return "a connection that is refused cannot have carried out a request"
	}
	return ""
}

// Fired returns how many requests the fault has struck.
func (i *Injection) Fired() int {
	i.list.mu.Lock()
	defer i.list.mu.Unlock()
	return i.fired
}

// Remove ends the fault. Requests that it has struck already are not changed.
func (i *Injection) Remove() {
	i.list.mu.Lock()
	defer i.list.mu.Unlock()
	i.removed = true
	i.list.drop(i)
}

// drop takes an injection out of the list. The caller holds mu.
func (l *faultList) drop(i *Injection) {
	l.replace(slices.DeleteFunc(slices.Clone(l.list), func(o *Injection) bool { return o == i }))
}

// pick returns the fault that strikes a request, nil if none does.
func (l *faultList) pick(x *exchange, refusal bool) *Fault {
	if l.count.Load() == 0 || refusal && l.refusal.Load() == 0 {
		return nil
	}
	l.mu.Lock()
	list := l.list
	l.mu.Unlock()
	for _, i := range list {
		if (i.fault.Wire == WireRefuse) == refusal && i.fits(x) && i.strike() {
			return &i.fault
		}
	}
	return nil
}

// fits reports whether the fault is meant for a request. No lock is held, since Match may do
// anything.
func (i *Injection) fits(x *exchange) bool {
	f := &i.fault
	switch {
	case f.Operation != "" && f.Operation != x.route.operation:
		return false
	case f.APIKey != "" && f.APIKey != x.cred.token:
		return false
	}
	return f.Match == nil || f.Match(x.requestCopy())
}

// strike decides about one fitting request. A fault that has done its work leaves the list.
func (i *Injection) strike() bool {
	l := i.list
	l.mu.Lock()
	defer l.mu.Unlock()
	times := max(i.fault.Times, 1)
	if i.removed || i.fault.Times != Forever && i.fired >= times {
		return false
	}
	i.seen++
	if i.seen <= i.fault.Skip {
		return false
	}
	if i.fault.Chance > 0 && l.rng.Float64() >= i.fault.Chance {
		return false
	}
	i.fired++
	if i.fault.Times != Forever && i.fired >= times {
		l.drop(i)
	}
	return true
}

// unfired describes the injections that never struck. One that fitting requests met, and that left
// it to chance, has done what it was to do.
func (l *faultList) unfired() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, i := range l.list {
		if i.fired > 0 || i.fault.Chance > 0 && i.seen > i.fault.Skip {
			continue
		}
		out = append(out, fmt.Sprintf("%s; %d fitting requests came, Skip is %d",
			i.fault.String(), i.seen, i.fault.Skip))
	}
	return out
}

// String describes the fault in a few words.
func (f *Fault) String() string {
	words := []string{"fault"}
	if f.Operation != "" {
		words = append(words, "on "+f.Operation)
	}
	if f.Delay > 0 {
		words = append(words, "after "+f.Delay.String())
	}
	if f.Status != 0 {
		words = append(words, fmt.Sprintf("with status %d", f.Status))
	}
	if f.Wire != WireNone {
		words = append(words, "by "+f.Wire.String())
	}
	if f.AfterCommit {
		words = append(words, "after commit")
	}
	return strings.Join(words, " ")
}

// requestCopy returns the request as Match gets it, the same through every door.
func (x *exchange) requestCopy() *http.Request {
	r := x.req.Clone(x.req.Context())
	r.Body = io.NopCloser(bytes.NewReader(x.body))
	r.Method = x.method
	r.ContentLength = int64(len(x.body))
	r.RequestURI = x.req.URL.RequestURI()
	r.URL = &url.URL{Path: x.req.URL.Path, RawPath: x.req.URL.RawPath, RawQuery: x.req.URL.RawQuery}
	r.GetBody = nil
	return r
}

// shows reports whether the client gets to see the answer, or a part of it.
func (w Wire) shows() bool { return w == WireNone || w == WireTruncate || w == WireDrip }

// fail lets a fault strike a request.
func (s *Server) fail(x *exchange, f *Fault) answer {
	var a answer
	if f.AfterCommit {
		a = s.carryOut(x)
	}
	if err := x.pause(f.Delay); err != nil {
		return answer{fault: f, lost: err, hint: "the client gave up during an injected delay"}
	}
	if !f.AfterCommit && f.Status == 0 && f.Wire.shows() {
		a = s.carryOut(x)
	}
	a.fault, a.wire = f, f.Wire
	f.apply(&a)
	if f.Wire == WireStall {
		a.lost = x.pause(-1)
	}
	return a
}

// apply changes an answer as the fault says.
func (f *Fault) apply(a *answer) {
	if f.Status != 0 {
		a.status = f.Status
		a.hint = "injected " + f.String()
	}
	if f.Status >= http.StatusBadRequest {
		code, message := f.Code, f.Message
		if code == "" {
			code = defaultCode(f.Status)
		}
		if message == "" {
			message = "injected " + f.String()
		}
		a.contentType, a.body = mediaJSON, appendError(nil, code, message, f.Status)
	}
	if f.Body != nil {
		a.body = f.Body
		if a.contentType == "" {
			a.contentType = mediaJSON
		}
	}
	if !f.Wire.shows() {
		a.hint = "injected " + f.String()
	}
	if f.RetryAfter != "" {
		a.set("Retry-After", f.RetryAfter)
	}
}

// header applies Header to an answer's header.
func (f *Fault) header(h http.Header) {
	for name, values := range f.Header {
		name = http.CanonicalHeaderKey(name)
		h[name] = slices.Clone(values)
		if len(values) == 0 && name != "Date" { // net/http adds a Date unless it is there and nil
			delete(h, name)
		}
	}
}

// defaultCode makes a code of a status, in the manner of the other codes.
func defaultCode(status int) string {
	switch status {
	case http.StatusBadRequest:
		return CodeInvalidRequest
	case http.StatusTooManyRequests:
		return CodeRateLimited
	case http.StatusInternalServerError:
		return CodeInternal
	}
	text := strings.ToLower(http.StatusText(status))
	if text == "" {
		return "injected"
	}
	return strings.NewReplacer(" ", "_", "-", "_", "'", "").Replace(text)
}
