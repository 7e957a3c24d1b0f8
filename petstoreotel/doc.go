// Package petstoreotel records the calls of a [petstore.Client] as OpenTelemetry traces and
// metrics, by the HTTP semantic conventions, version 1.43.0. The files alerts.yml and
// dashboard.json are for Prometheus and Grafana.
//
//	client, err := petstore.NewClient(baseURL, apiKey, petstoreotel.New())
//
// The package does not change what the client returns. It changes what the client sends in one way:
// propagators write the context of a request's span into the header of the request. If
// propagation.Baggage is one of the propagators, the Pet Store Service gets all baggage in the
// caller's context. WithPropagators(propagation.TraceContext{}) prevents that.
//
// # Traces
//
// A call is an internal span with the name of its operation. Below it, each request is an HTTP
// client span, which ends when the response has been read. A wait is an event of the call's span.
//
//	createPet                           internal    2.1 s
//	├─ POST /v1/pets                    client      0.1 s   429
//	├─ petstore.wait, reason minute     event       1.8 s
//	└─ POST /v1/pets                    client      0.2 s   201, resent once
//
// All spans have petstore.operation. A call also has petstore.call.id, which is the call_id of the
// log, petstore.attempts and, if it applies, petstore.outcome_unknown. Like Attempts of the errors
// and attempts of the log, petstore.attempts is the number of requests that may have been sent: 0
// for a call that was refused before its first request. A wait has the petstore.wait.reason of a
// [ratelimit.Wait], petstore.wait.duration in seconds and petstore.wait.waiting_calls. error.type,
// of spans and metrics, has the values of error_type in the log. server.address and server.port are
// those of the base URL; url.full is the base URL with the template of the path. No span or metric
// has a header, a body, a query, the text of an error, or the path that was given to
// [petstore.Client.Do]. So none has the API key.
//
// # Metrics
//
//	http.client.request.duration                 histogram        s          a request, as long as its span
//	petstore.client.call.duration                histogram        s          a call, also one that sent nothing
//	petstore.client.rate_limit.wait_time         histogram        s          a wait for the rate limit
//	petstore.client.rate_limit.waiting_calls     up-down counter  {call}     calls that wait for the limit
//	petstore.client.rate_limit.limit             gauge            {request}  requests that the window allows
//	petstore.client.rate_limit.remaining         gauge            {request}  requests left in the window
//	petstore.client.rate_limit.closed_until      gauge            s          when a closed limit opens, Unix time
//
// call.duration has the attributes petstore.operation, error.type and petstore.outcome_unknown;
// wait_time has petstore.wait.reason; limit, remaining and closed_until have a
// petstore.rate_limit.scope. A closed_until in the past means that the limit is open. If a program
// has several keys, [WithAttributes] can add the tenant. Without it, limit and remaining are those
// of the last response to any key.
package petstoreotel
