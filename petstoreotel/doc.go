// Package petstoreotel records the calls of a [petstore.Client] as OpenTelemetry traces and
// metrics.
//
//	client, err := petstore.NewClient(baseURL, apiKey, petstoreotel.New())
//
// It follows the HTTP semantic conventions, version 1.43.0. It changes nothing that the client
// sends or returns, except that it adds the headers of the propagators.
//
// # Traces
//
// A call is a span, and each of its requests is a span below it. A wait before a request, for the
// rate limit or for the backoff, is an event on the span of the call.
//
//	createPet                           internal    2.1 s
//	├─ POST /v1/pets                    client      0.1 s   429
//	├─ petstore.wait, reason minute     event       1.8 s
//	└─ POST /v1/pets                    client      0.2 s   201, resent once
//
// The span of a request is an HTTP client span, which ends when the response has been read. The
// span of the call is not: the conventions allow no HTTP client span around others, or every request
// would be counted twice. Its kind is internal, and its name that of the operation.
//
//	attribute                      call           request
//	petstore.operation             yes            yes            as petstore.Call has it: listPets, do GET
//	petstore.call.id               yes            no             the call_id of the client's log
//	petstore.attempts              yes            no             requests that the call took
//	petstore.outcome_unknown       if it is       no             true: the pet may have been added
//	http.request.method            yes            yes
//	url.template                   yes            yes            /v1/pets/{petId}
//	url.scheme                     no             yes
//	url.full                       no             yes            https://host/v1/pets?limit=5&status=sold
//	server.address, server.port    yes            yes            of the base URL
//	http.request.resend_count      no             from the second request of a call on
//	http.response.status_code      the last       if there is a response
//	network.protocol.version       no             of the response
//	error.type                     if it failed   if it failed
//
// The event petstore.wait has the time at which the wait began, petstore.wait.duration in seconds,
// petstore.wait.waiting_calls in the queue then, and petstore.wait.reason, as in [petstore.Wait].
//
// url.full has the path as it was sent and, of the query, limit and status with values of the
// service document; all else is left out. No span or metric has a header, a body or the text of an
// error, and so none has the API key. The id of a pet is in url.full only, not in a metric.
//
// # Metrics
//
//	http.client.request.duration                 histogram         s          a request, as long as its span
//	petstore.client.call.duration                histogram         s          a call, also one that sent nothing
//	petstore.client.rate_limit.wait_time         histogram         s          wait of a request for the rate limit
//	petstore.client.rate_limit.waiting_calls     up-down counter   {call}     calls that wait for it now
//	petstore.client.rate_limit.waits_given_up    counter           {wait}     waits that ended with their call
//	petstore.client.rate_limit.limit             gauge             {request}  requests that the window allows
//	petstore.client.rate_limit.remaining         gauge             {request}  requests left in the window
//	petstore.client.rate_limit.closed_until      gauge             s          when the closed limit opens, Unix time
//
// All have server.address and server.port; the first has also http.request.method, url.scheme,
// url.template, http.response.status_code, network.protocol.version and error.type; the duration of
// calls has petstore.operation, error.type and petstore.outcome_unknown. No attribute contains a
// key.
//
// The wait time counts each request that is sent, with or without a wait; a request that waited has
// the petstore.wait.reason of its longest wait. A wait is given up when the call ends during it, or
// before it begins because it would be too long; it has petstore.wait.reason and the error.type of
// its call. While a key is banned, each call that is refused without a request counts here and in the
// duration of calls.
//
// The gauges limit and remaining have the values of the last response, also when its window is over.
// The gauge closed_until has a petstore.rate_limit.scope: minute, day or ban. It is the latest end
// among the program's keys; a time in the past, or 0 after the limit opened early, means that the
// limit is open.
//
// # Propagation and baggage
//
// Each request carries the context of its span, as the propagators write it. If
// propagation.Baggage is among them, as in many programs, each request sends all baggage in the
// caller's context to the Pet Store Service. To prevent that:
//
//	petstoreotel.New(petstoreotel.WithPropagators(propagation.TraceContext{}))
//
// # Errors
//
// error.type is the status code of a response of 400 or above, and otherwise one of these:
//
//	canceled             the caller's context was cancelled
//	stopped              petstore.WithStop ended the call
//	timeout              the time of the attempt, of the call or of the caller's context ran out
//	rate_limited         the call was given up because of the rate limit, and no 429 was the reason
//	invalid_response     the response does not follow the service document
//	connection_refused   no server listens there
//	connection_reset     the connection was reset
//	connection_closed    the connection was closed before the end of the response
//	name_resolution      the host name could not be resolved
//	certificate          the server's certificate could not be verified
//
// Any other error is named by the Go type of its cause, or _OTHER if that says nothing. A call that
// ended with a redirect, which the client does not follow, has its status code for an error.type.
package petstoreotel
