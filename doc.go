// Package petstore is a client of the Pet Store Service: it lists pets, adds them, and fetches one.
//
//	client, err := petstore.NewClient("https://host/v1", apiKey)
//	...
//	result, err := client.ListPets(ctx, petstore.ListPetsParams{Limit: 100})
//	...
//	fmt.Println(result.Pets, result.RateLimit.Remaining)
//
// Five names are enough to begin:
//
//	NewClient           makes a client; keep one for each API key
//	Client.ListPets     lists pets
//	Client.CreatePet    adds a pet
//	ErrOutcomeUnknown   CreatePet failed, but the pet may exist: look for it, do not repeat
//	fake.NewServer      is the service in memory, for your tests
//
// A call sends a failed request again if that is safe, and waits for the rate limit. So put no
// retry loop around a call. Set [WithRetryPolicy] and [WithMaxWait] instead, or wait for the time
// that [RetryAfter] returns.
//
// Section numbers refer to the service document, "Pet Store Service Interface". [Option] and
// [CallOption] list the options. In a test with [testing/synctest], the waits of a client take no
// real time; see package [github.com/petstore/petstore-go/fake].
//
// # Rate limit
//
// The service allows each key a number of requests per minute and per day, and may ban a key that
// keeps sending after a 429 (section 8). Therefore a [Client] asks a [Limiter] before each request.
// [ratelimit.Limiter] describes when a call waits. If the wait would exceed [WithMaxWait] or the
// context's deadline, the call fails immediately with a [*RateLimitError], whose RetryAt is the
// earliest time to try again. Clients with the same key should share one limiter through
// [WithLimiter]; see [WithProcesses] for clients in other processes.
//
// Each result and each [*APIError] has a field RateLimit: the [RateLimit] of the last response.
//
// # Retries
//
// A call sends up to [RetryPolicy].MaxAttempts requests. In the table, "again" means that the call
// sends the same request again, and "once" that it does not. Reads are listPets, getPet and a GET
// of [Client.Do]; writes are createPet and the other methods of Do:
//
//	response or failure                       read                  write
//	429                                       waits, again          waits, again
//	408, 5xx other than 501                   backs off, again      once; ErrOutcomeUnknown
//	3xx, never followed                       once                  once; ErrOutcomeUnknown
//	other 4xx, 501                            once                  once
//	a 2xx with another status or body         once                  once; ErrOutcomeUnknown
//	reset, cut off, attempt timed out         backs off, again      once; ErrOutcomeUnknown
//	nothing written, such as a refused dial   backs off, again      backs off, again
//	unknown host, refused certificate         once                  once
//	a response that is not HTTP               once                  once; ErrOutcomeUnknown
//
// After a 401 that does not follow another 401, the request is sent again if the [WithAPIKeyFunc]
// function returns another key.
//
// The backoff is exponential with jitter. There is none before the second attempt if the first one
// used an idle connection and got no byte of a response. The wait is never shorter than the
// Retry-After of a 429 or 503. The call fails immediately if a wait would exceed the context's
// deadline, or if a wait for the rate limit or a Retry-After would exceed WithMaxWait. Retries do
// not multiply the load during an outage: each client has 100 retries, and ten successful calls add
// one, up to 100. A client that [Client.ForKey] made has 100 of its own. A retry does not count
// after a 401, after a 429, after a request that was never written, or if an idle connection of
// HTTP/1 gave no byte of a response.
//
// A request counts as not written if there was no connection, if the connection was lost before
// anything was written, or if the server refused the client's certificate. It also counts as not
// written if an HTTP/2 server reported that it has not processed the request, by a REFUSED_STREAM
// or by a GOAWAY that excludes the request's stream.
//
// net/http itself never repeats a write. It may repeat a read over HTTP/2, after a GOAWAY, a
// REFUSED_STREAM or a PROTOCOL_ERROR. Over HTTP/1, it repeats a read only with the transport of
// [WithHTTPClient]: once for each idle connection that turns out to be closed.
//
// # Errors
//
// A call that fails returns a nil result and an error of one of these types, for [errors.AsType]:
//
//	*ArgumentError    an argument that the document rules out; nothing was sent
//	*APIError         a response other than the operation's success
//	*RateLimitError   the call gave up because of the rate limit; it may wrap the *APIError of a 429
//	*ResponseError    a response that does not follow the document
//	*TransportError   no whole response: no connection, no key, or the call was ended
//
// With [errors.Is] these errors match the sentinels of this package, such as [ErrOutcomeUnknown],
// and, if the caller's own context ended, that context's error and cause. [RetryAfter] returns how
// long to wait. The text of each error is one line of at most 512 bytes. To find the call in the
// log, search for the CallID of the error. To let the service's support find a call, give the call
// an id: WithHeader("X-Request-ID", id).
//
// # The API key
//
// The client sends the key to the scheme, host and port of the base URL only: it does not follow
// redirects, and it refuses plain http except to loopback. No error, log or dump of a client
// contains the key in plain text. But a key that the server itself sends in another form, such as
// with escapes, is not recognised, and neither is a key of fewer than six bytes. With
// [WithInsecureHTTP], a proxy that HTTP_PROXY names can read the key.
//
// [Client.ForKey] makes a client for another key: one for each tenant of a program.
// [WithAPIKeyFunc] is for a single identity whose key rotates.
package petstore
