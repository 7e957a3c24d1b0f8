// Package petstoreotel shows the calls of a [petstore.Client] as OpenTelemetry traces and metrics.
//
//	client, err := petstore.NewClient(baseURL, apiKey, petstoreotel.New()...)
//
// It follows the HTTP semantic conventions, version 1.43.0. The client does what it does without it: the
// transport retries nothing, buffers nothing and has no goroutine.
//
// # Traces
//
// A call is a span, and each of its requests is a span below it. Between the requests, and before the first,
// the call waits: for the rate limit or for its backoff.
//
//	createPet                 internal    2.1 s
//	├─ POST /v1/pets          client      0.1 s   429
//	└─ POST /v1/pets          client      0.2 s   201, resent once
//
// The span of a request is an HTTP client span. The one of the call is not: the conventions allow no HTTP client
// span around others, or every request would be counted twice. Its kind is internal, and its name that of the
// operation. A request's span begins before the connection is looked for and ends when the body of the answer has
// been read to its end, or closed, which a petstore.Client always does before its call returns.
//
//	attribute                      call           request
//	petstore.operation             yes            yes            listPets, createPet, getPet
//	http.request.method            yes            yes
//	http.request.method_original   no             if not one of HTTP's own
//	url.template                   yes            yes            /v1/pets/{petId}
//	url.scheme                     no             yes
//	url.full                       no             yes            https://host/v1/pets/{petId}
//	server.address, server.port    yes            yes
//	http.request.resend_count      no             from the second request of a call on
//	http.response.status_code      the last       if there is an answer
//	network.protocol.version       no             of the answer, if the base says it
//	error.type                     if it failed   if it failed
//
// The conventions require url.full. It has neither query nor user information, and the names of path
// parameters instead of their values. No span or metric has a header, a query, a body, an animal's id or the
// text of an error, and so none has the API key. There are no events, and a status has no description.
//
// The span of a request that was not made by a petstore.Client has the method for a name, and neither
// template nor url.full. So has the span of one that the function of petstore.WithAPIKeyFunc makes through the
// transport with the context that it is given; it is below the span of the call. The same transport may be wrapped
// by others. Then the client does not find it, and there are no spans of calls; those of the requests are the same.
//
// # Metrics
//
// The attributes of a metric are few on purpose, and none has more values than there are servers, operations,
// statuses and kinds of error.
//
//	http.client.request.duration               histogram         s          a request, as long as its span
//	petstore.client.rate_limit.wait_time       histogram         s          wait of a request for the rate limit
//	petstore.client.rate_limit.waiting_calls   up-down counter   {call}     calls that wait for it now
//	petstore.client.rate_limit.limit           gauge             {request}  requests that the window allows
//	petstore.client.rate_limit.remaining       gauge             {request}  requests left in the window
//
// The first has the attributes http.request.method, server.address, server.port, url.scheme, url.template,
// http.response.status_code, network.protocol.version and error.type; the others have server.address and
// server.port. The limits are what the most recent answer said, also after the end of its window. If clients with
// several keys of one server share a transport, the gauges show the key with the fewest requests left; if each has
// a transport of its own, they show any one of the keys. A call that is given up while it waits is one of the
// waiting calls until then, and its wait is not recorded. A transport that is wrapped by others knows a client from
// its first request on, and records the wait before the first request of each call only.
//
// # Errors
//
// error.type is the status code of an answer of 400 or above, and otherwise one of these:
//
//	canceled             the caller's context was cancelled
//	timeout              the time of the attempt, of the call or of the caller's context ran out
//	rate_limited         the call was given up because of the rate limit, and no 429 was the reason
//	invalid_response     the answer does not follow the service document
//	connection_refused   nobody listens
//	connection_reset     the connection was reset
//	connection_closed    the connection was closed before the end of the answer
//	name_resolution      the host name could not be resolved
//	certificate          the server's certificate could not be verified
//
// Any other error is named by the Go type of its cause, or _OTHER if that says nothing. A call that ended with a
// redirect, which the client does not follow, has its status code for an error.type.
package petstoreotel
