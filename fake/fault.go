package fake

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"
)

// Forever makes a [Fault] apply to every request that it matches.
const Forever = -1

// Fault is a failure on demand. Its first fields select the requests to which it applies, the
// others say what happens to them. The zero Fault applies to the next request and changes nothing.
//
// A request to which a fault applies is not authenticated, not counted and not carried out, unless
// the fault only changes the response of the service: it has no Status, and a Wire, if any, that
// lets the client see a part of that response. The response of a fault has the rate limit headers,
// too, with the numbers from before the request.
//
// One fault applies to a request: the first matching one that is not used up. Only a [WireRefuse]
// comes before it, since it applies before anything has reached the server.
type Fault struct {
	Operation string `json:"operation,omitzero"` // such as [petstore.OpCreatePet]; empty: any request
	APIKey    string `json:"apiKey,omitzero"`    // only requests that present this key; empty: any
	// Match selects only requests for which it returns true; nil: any. It gets a copy of the request,
	// whose body it may read, on the goroutine that serves it, and may call the server.
	Match func(*http.Request) bool `json:"-"`
	Skip  int                      `json:"skip,omitzero"` // let this many matching requests pass first
	// Times is the number of requests to which it applies: 0 is one or, with For, all in that time;
	// [Forever] is all.
	Times int `json:"times,omitzero"`
	// how long after its injection it ends, by the server's clock; 0: never
	For time.Duration `json:"for,omitzero"`
	// the probability for each matching request, by [WithSeed]; 0 is always
	Chance float64 `json:"chance,omitzero"`

	// Delay is how long the response, or the failure in its place, is held back; [Server.Advance] does
	// not shorten it. The request is carried out after it, or before it with AfterCommit.
	Delay time.Duration `json:"delay,omitzero"`
	// AfterCommit carries the request out first, counted and stored as usual, and only then fails.
	AfterCommit bool `json:"afterCommit,omitzero"`
	Status      int  `json:"status,omitzero"` // of the response; 0 leaves it to the service
	// Code and Message go into the Error object of a Status of 400 and above. Both have defaults.
	Code    string `json:"code,omitzero"`
	Message string `json:"message,omitzero"`
	// the value of the Retry-After header, sent as it is
	RetryAfter string `json:"retryAfter,omitzero"`
	// Header is added to the response in place of headers of the same name; a name with no values
	// removes the header.
	Header http.Header `json:"header,omitempty"`
	Body   []byte      `json:"body,omitzero"` // sent instead of the usual body; nil keeps that
	// Drip is how long the body takes, in up to 100 pieces. [Server.Advance] does not shorten it.
	Drip time.Duration `json:"drip,omitzero"`
	Wire Wire          `json:"wire,omitzero"` // what happens on the way
}

// problem returns an error if the fault can never apply, or its response cannot be sent. It does
// not repeat a key.
func (f *Fault) problem() error {
	return cmp.Or(
		checkOperation(f.Operation),
		oneOf("wire", f.Wire, append(f.Wire.Values(), "")),
		mistake(f.Skip < 0 || min(f.For, f.Delay, f.Drip) < 0, "Skip, For, Delay or Drip is negative"),
		mistake(f.Times < Forever, "Times is negative and not Forever"),
		mistake(!(f.Chance >= 0 && f.Chance <= 1), "Chance is not between 0 and 1"), // NaN, too
		mistake(f.Status != 0 && (f.Status < 200 || f.Status > 999), "Status %d does not lie between 200 and 999", f.Status),
		mistake(f.Wire == WireRefuse && f.AfterCommit, "a refused connection carries out nothing"),
		mistake(f.Code+f.Message != "" && (f.Status < 400 || f.Wire == WireLoginPage),
			"Code and Message need a Status from 400 on"),
	)
}

func mistake(made bool, format string, args ...any) error {
	if !made {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// onlyChanges reports whether the service handles the request, and the fault changes its response.
func (f *Fault) onlyChanges() bool { return f.Status == 0 && f.Wire.shows() && f.Wire != WireLoginPage }

// noFault stands for a request to which no fault applies.
var noFault = new(Fault)

// String describes in a few words what the fault does to which requests, without its key.
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

// Wire is something that happens on the way between client and service, as part of a [Fault]. The
// empty Wire changes nothing. A client observes the same through every entry point, unless it says.
type Wire string

// The values of Wire. Before the server resets or closes a socket, it sends 100 Continue, or
// net/http would silently repeat a GET on a connection that it kept.
const (
	// WireReset resets the connection instead of answering; errors match syscall.ECONNRESET.
	WireReset Wire = "reset"
	// WireClose closes the connection instead of answering; errors match io.EOF, on a socket
	// io.ErrUnexpectedEOF.
	WireClose Wire = "close"
	// WireTruncate sends half of the body and closes the connection; errors match io.ErrUnexpectedEOF.
	WireTruncate Wire = "truncate"
	// WireGarbage sends bytes that are not HTTP.
	WireGarbage Wire = "garbage"
	// WireStall sends nothing until the client gives up.
	WireStall Wire = "stall"
	// WireLoginPage sends the page of a proxy in place of the response, without rate limit headers:
	// with the status 200, or that of the fault, and with a Location if that is 3xx.
	WireLoginPage Wire = "login-page"
	// WireRefuse refuses the connection, so that nothing reaches the server or the journal; errors
	// match syscall.ECONNREFUSED. Match sees the request without its body. Through URL and ServeHTTP
	// the connection exists already, and is reset as by WireReset.
	WireRefuse Wire = "refuse"
)

// Values returns all values of Wire but the empty one.
func (Wire) Values() []Wire {
	return []Wire{WireReset, WireClose, WireTruncate, WireGarbage, WireStall, WireLoginPage, WireRefuse}
}

// shows reports whether the client gets to see the response, or a part of it.
func (w Wire) shows() bool { return w == "" || w == WireTruncate || w == WireLoginPage }

type closedError struct{}

func (closedError) Error() string { return "fake: the server is closed" }

// Unwrap makes the error match net.ErrClosed, syscall.ECONNREFUSED and, so that no client tries
// again, a net.DNSError of a host that does not exist.
func (closedError) Unwrap() []error {
	return []error{net.ErrClosed, syscall.ECONNREFUSED, &net.DNSError{Err: "no such host", IsNotFound: true}}
}
