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
//	Client.CreatePet    adds one
//	ErrOutcomeUnknown   a pet may have been added all the same: look, do not repeat
//	fake.NewServer      is the service in memory, for your tests
//
// A call repeats what may be repeated, and waits for the rate limit. So put no retry loop around
// it. Set [WithRetryPolicy] and [WithMaxWait] instead, or wait for the time that [RetryAfter]
// returns.
//
// Section numbers refer to the service document, "Pet Store Service Interface". [Option] and
// [CallOption] list the options. In a bubble of [testing/synctest], the waits of a client take no
// time; see package [github.com/petstore/petstore-go/fake].
//
// # Rate limit
//
// The service allows each key a number of requests per minute and per day, and may ban a key that
// keeps sending after a 429 (section 8). Therefore a [Client] asks a [Limiter] before each request.
// [ratelimit.Limiter] describes when a call waits. If the wait would exceed [WithMaxWait] or the
// context's deadline, the call fails immediately with a [*RateLimitError], whose RetryAt is the
// time from which to try again. Clients with the same key should share one limiter through
// [WithLimiter]; see [WithProcesses] for clients in other processes.
//
// Each result and each [*APIError] embeds a [Response], which has the [RateLimit] of that response.
//
// # Retries
//
// A call sends up to [RetryPolicy].MaxAttempts requests. Reads are listPets, getPet and a GET of
// [Client.Do]; writes are createPet and the other methods of Do:
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
// With [WithAPIKeyFunc], a 401 is sent again, once, if the function returns another key.
//
// The backoff is exponential with jitter. The wait is never shorter than the Retry-After of a 429
// or 503. If a wait would exceed the context's deadline or WithMaxWait, the call fails immediately.
// Retries do not multiply the load during an outage: each client, also one that [Client.ForKey]
// made, has 100 retries, and every ten successes add one, up to 100. A retry costs nothing after a
// 429, after a request that was never written, or if an idle connection of HTTP/1 was lost.
//
// A request was not written if there was no connection, if the server refused our certificate, or
// if the server says that it has not processed the request: by a GOAWAY before the stream, or by
// REFUSED_STREAM. net/http itself repeats no write. It may repeat a read: over HTTP/2, after a
// GOAWAY, a REFUSED_STREAM or a PROTOCOL_ERROR; over HTTP/1, with the transport of [WithHTTPClient],
// for each idle connection that turns out to be closed.
//
// # Errors
//
// A call that fails returns a nil result, and one of five types, for [errors.AsType]:
//
//	*ArgumentError    an argument that the document rules out; nothing was sent
//	*APIError         a response other than the operation's success
//	*RateLimitError   given up because of the rate limit; unwraps to the *APIError of a 429
//	*ResponseError    a response that does not follow the document
//	*TransportError   no response: the connection, the key, or the caller's context failed
//
// With [errors.Is] these errors match the sentinels of this package, such as [ErrOutcomeUnknown],
// and, if the caller's own context ended, that context's error and cause. [RetryAfter] returns how
// long to wait. The text of each error is one line of at most 512 bytes. Search the log for its
// CallID. To let the service's support find a call, give the call an id: WithHeader("X-Request-ID",
// id).
//
// # The API key
//
// The client sends the key to the scheme, host and port of the base URL only: it does not follow
// redirects, and it refuses plain http except to loopback. No error, log or dump of a client
// contains the key. With [WithInsecureHTTP], a proxy of the environment can read the key.
//
// [Client.ForKey] makes a client for another key: one for each tenant of a program.
// [WithAPIKeyFunc] is for a single identity whose key rotates.
package petstore
