package fake

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
)

// Forever makes a [Fault] apply to every request that it matches.
const Forever = -1

// Fault is a failure on demand. Its first fields select the requests to which it applies, the
// others say what happens to them. The zero Fault applies to the next request and changes nothing
// about its response.
//
// A request to which a fault applies is not authenticated, not counted and not carried out. The
// exception is a fault that only changes the response of the service: it has no Status, and its
// Wire, if it has one, lets the client see at least a part of that response. Then the service
// handles the request as usual. The response of a fault has the three rate limit headers too, with
// the numbers from before the request.
//
// One fault applies to a request: the first matching one that is not used up. Only a fault with a
// [WireRefuse] comes before it, because that applies before anything has reached the server.
type Fault struct {
	Operation string `json:"operation,omitzero"` // such as [petstore.OpCreatePet]; empty: any request
	APIKey    string `json:"apiKey,omitzero"`    // only requests that present this key; empty: any
	// Match selects only requests for which it returns true. It is called on the goroutine that
	// serves the request, with a copy of the request, whose body it may read. It may call the
	// server. Nil: any.
	Match func(*http.Request) bool `json:"-"`
	Skip  int                      `json:"skip,omitzero"` // let this many matching requests pass first
	// Times is the number of requests to which it applies. 0 means one request or, with For, all
	// requests in that time; [Forever] means all.
	Times int `json:"times,omitzero"`
	// how long after its injection it ends, by the server's clock; 0: never
	For time.Duration `json:"for,omitzero"`
	// the probability for each matching request, by [WithSeed]; 0 is always
	Chance float64 `json:"chance,omitzero"`

	// Delay is how long the response, or the failure in its place, is held back. It passes in real
	// time or, in a synctest bubble, in virtual time; [Server.Advance] does not shorten it. The
	// request is carried out after it, or before it with AfterCommit.
	Delay time.Duration `json:"delay,omitzero"`
	// AfterCommit carries the request out first, counted and stored as usual, and only then fails.
	AfterCommit bool `json:"afterCommit,omitzero"`
	Status      int  `json:"status,omitzero"` // of the response; 0 leaves it to the service
	// Code and Message go into the Error object that a response of 400 and above has for a body;
	// there are defaults for both.
	Code    string `json:"code,omitzero"`
	Message string `json:"message,omitzero"`
	// the value of the Retry-After header, sent as it is
	RetryAfter string `json:"retryAfter,omitzero"`
	// Header is added to the response in place of headers of the same name; a name with no values
	// removes the header.
	Header http.Header `json:"header,omitzero"`
	Body   []byte      `json:"body,omitzero"` // sent instead of the usual body; nil keeps that
	// Drip is how long the body takes: it comes in up to 100 pieces, the last one at the end of this
	// time. As with Delay, [Server.Advance] does not shorten it.
	Drip time.Duration `json:"drip,omitzero"`
	Wire Wire          `json:"wire,omitzero"` // what happens on the way
}

// Validate returns an error if the fault makes no sense: if it names an operation that does not
// exist, if it can never apply, or if its response cannot be sent. [Server.Inject] panics on such a
// fault. The error does not repeat a key.
func (f Fault) Validate() error {
	if err := f.problem(); err != nil {
		return fmt.Errorf("fake: Fault: %w", err)
	}
	return nil
}

func (f *Fault) problem() error {
	if err := checkOperation(f.Operation); err != nil {
		return err
	}
	if f.Wire != "" && !slices.Contains(f.Wire.Values(), f.Wire) {
		return noSuch("wire", f.Wire, f.Wire.Values())
	}
	for _, c := range []struct {
		wrong bool
		what  string
	}{
		{
			strings.ContainsAny(f.APIKey, " \t") || !credential.ValidHeaderValue(f.APIKey),
			"APIKey is a key that no request can present: it has a space or a control character",
		},
		{f.Skip < 0, "Skip is negative"},
		{f.Times < Forever, "Times is negative and not Forever"},
		{f.For < 0, "For is negative"},
		{f.Delay < 0, "Delay is negative"},
		{f.Drip < 0, "Drip is negative"},
		{!(f.Chance >= 0 && f.Chance <= 1), "Chance is not a probability between 0 and 1"},
		{f.Status != 0 && f.Status != min(max(f.Status, 200), 999), "Status does not lie between 200 and 999"},
		{f.Status < http.StatusBadRequest && f.Code+f.Message != "", "Code and Message need a Status of 400 or above"},
		{f.Wire == WireLoginPage && f.Code+f.Message != "", "a login page has no Code and no Message"},
		{!credential.ValidHeaderValue(f.RetryAfter), "RetryAfter holds a control character"},
		{f.Wire == WireTruncate && bodiless(f.Status), "a response of this Status has no body to truncate"},
		{f.Wire == WireRefuse && f.AfterCommit, "a connection that is refused cannot have carried out a request"},
	} {
		if c.wrong {
			return errors.New(c.what)
		}
	}
	return headerProblem(f.Header)
}

// changes reports whether the service handles the request as usual, and the fault only changes the
// response.
func (f *Fault) changes() bool { return f.Status == 0 && f.Wire.shows() && f.Wire != WireLoginPage }

// headerProblem returns why a header cannot be sent. net/http would silently drop a bad name, and
// end the client's connection for a bad value.
func headerProblem(h http.Header) error {
	for name, values := range h {
		if !credential.ValidToken(name) {
			return fmt.Errorf("%s in Header is no name of a header", quote(name))
		}
		if slices.ContainsFunc(values, func(v string) bool { return !credential.ValidHeaderValue(v) }) {
			return fmt.Errorf("the value of %s in Header holds a control character", name)
		}
	}
	return nil
}

// String describes the fault in a few words, without its key.
func (f Fault) String() string {
	var w words
	w.add(f.Operation != "", " on %s", f.Operation)
	w.add(f.Delay > 0, " after %v", f.Delay)
	w.add(f.Status != 0, " with status %d", f.Status)
	w.add(f.Drip > 0, " dripping for %v", f.Drip)
	w.add(f.Wire != "", " by %s", f.Wire)
	w.add(f.AfterCommit, " after commit")
	return "fault" + strings.Join(w, "")
}

// effect describes in words what the fault does to a request, such as "delayed by 2s, status 503,
// Retry-After 5". It does not say to which requests the fault applies, nor how often.
func (f *Fault) effect() string {
	var w words
	w.add(f.AfterCommit, "carried out")
	w.add(f.Delay > 0, "delayed by %v", f.Delay)
	w.add(f.Status != 0, "status %d", f.Status)
	w.add(f.Code != "", "code %s", f.Code)
	w.add(f.Message != "", "message %s", quote(f.Message))
	w.add(f.RetryAfter != "", "Retry-After %s", f.RetryAfter)
	for _, name := range slices.Sorted(maps.Keys(f.Header)) {
		values := f.Header[name]
		w.add(len(values) == 0, "no header %s", name)
		w.add(len(values) > 0, "header %s: %s", name, strings.Join(values, ", "))
	}
	w.add(f.Body != nil, "another body of %d bytes", len(f.Body))
	w.add(f.Drip > 0, "the body takes %v", f.Drip)
	w.add(f.Wire != "", "%s", f.Wire.row().effect)
	return cmp.Or(strings.Join(w, ", "), "no change")
}

type words []string

func (w *words) add(applies bool, format string, args ...any) {
	if applies {
		*w = append(*w, fmt.Sprintf(format, args...))
	}
}
