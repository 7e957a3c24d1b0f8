// Package retry decides whether a request is sent again, and when. It sends nothing and waits for
// nothing.
package retry

import (
	"math"
	"net/http"
)

// Failure is the kind of error that an attempt ended with.
//
//	symptom                                       failure      error of the call
//	dial refused, reset, timed out                connection   *TransportError
//	a 2xx that is cut off                         connection   *ResponseError
//	unknown host, certificate, TLS alert, no key  permanent    *TransportError
//	CONNECT refused by a proxy, as with 407       permanent    *TransportError
//	bytes that are not HTTP                       protocol     *ResponseError
type Failure uint8

// The kinds of failures.
const (
	None       Failure = iota // a complete response
	Connection                // the connection failed, or the time was up
	Permanent                 // a retry would fail in the same way
	Protocol                  // the response is not HTTP
)

// Rule is what a status or a failure means for the request that got it.
type Rule struct {
	Again bool // the same request, sent again, may have another result
	Done  bool // if the request was sent, the service may have carried it out
}

// statuses has the rules of all statuses; the first row that contains a status counts. Only a
// refusal by the service itself proves that a request was not carried out. A 408 or 5xx may come
// from a gateway although the service has carried out the request, and a 303 usually follows a POST
// that was carried out.
var statuses = [...]struct {
	from, to int
	rule     Rule
}{
	{http.StatusRequestTimeout, http.StatusRequestTimeout, Rule{Again: true, Done: true}},
	{http.StatusTooManyRequests, http.StatusTooManyRequests, Rule{Again: true}},
	{http.StatusNotImplemented, http.StatusNotImplemented, Rule{}},
	{400, 499, Rule{}},
	{500, math.MaxInt, Rule{Again: true, Done: true}},
	{math.MinInt, 399, Rule{Done: true}},
}

// failures has the rules of failures without a response, and of a success that was cut off.
var failures = [...]Rule{
	None:       {Done: true},
	Connection: {Again: true, Done: true},
	Permanent:  {Done: true},
	Protocol:   {Done: true},
}

// Status returns the rule of a status; 0 is no response.
func Status(code int) Rule {
	for _, row := range statuses {
		if row.from <= code && code <= row.to {
			return row.rule
		}
	}
	return Rule{Done: true} // not reached: the rows contain all numbers
}

// Result is the result of one request.
type Result struct {
	Sent    bool    // the request may have been written
	Status  int     // 0 without a response
	Success bool    // Status is the documented one
	Failure Failure // why there is no complete response
}

func (r Result) rule() Rule {
	if r.Success || r.Status == 0 {
		return failures[r.Failure]
	}
	return Status(r.Status)
}

// MayBeDone reports whether the service may have carried out the request. All that retries and
// errors say about a create follows from MayBeDone and from Status.
func (r Result) MayBeDone() bool { return r.Sent && r.rule().Done }
