// Package petstore is a client of the Pet Store Service: it lists pets, adds them, and fetches one.
//
//	client, err := petstore.NewClient("https://host/v1", apiKey)
//	...
//	result, err := client.ListPets(ctx, petstore.ListPetsParams{Status: petstore.PetStatusAvailable})
//	...
//	fmt.Println(result.Pets, result.RateLimit.Remaining)
//
// Sections named in this documentation are those of the service document, "Pet Store Service Interface".
// Package [github.com/petstore/petstore-go/fake] is the service in memory, for tests.
//
// # Rate limit
//
// A key has so many requests a minute and so many a day, and the service may ban a key that keeps sending
// after a 429 (section 8). A [Client] therefore asks a [Limiter] before every request: it lets no more
// requests out than the responses so far have left, waits for the end of the window, and then goes on. Calls
// queue, first come, first served; [WithMaxWait] and the context bound the wait, and a wait that
// would not fit fails at once with a [*RateLimitError] that says when to come back. Clients that use the same
// key should share one limiter through [WithLimiter].
//
// Every result and every [*APIError] embeds a [Response], and with it the [RateLimit] of its response.
//
// # Retries
//
// A call sends up to [RetryPolicy].MaxAttempts requests:
//
//	response or failure                       listPets, getPet      createPet
//	429                                       waits, again          waits, again
//	408, 5xx other than 501                   backs off, again      once; ErrOutcomeUnknown
//	3xx, never followed                       once                  once; ErrOutcomeUnknown
//	other 4xx, 501                            once                  once
//	a 2xx that is not the documented one      once                  once; ErrOutcomeUnknown
//	reset, cut off, attempt timed out         backs off, again      once; ErrOutcomeUnknown
//	nothing was written, as a refused dial    backs off, again      backs off, again
//	unknown host, TLS certificate             once                  once
//	a response that is not HTTP               once                  once; ErrOutcomeUnknown
//
// The backoff is exponential with jitter. Retry-After, on a 429 or 503, is a lower bound of the wait; of a 429
// that used up its window so is X-RateLimit-Reset. A wait that would outlast the context's deadline or
// WithMaxWait is not begun: the call returns at once what it knows. An outage is not multiplied: a client has
// 100 retries to spend, and earns one back with every ten successes. Retries after a 429, and of requests of which
// nothing was sent, take none. net/http, which repeats some requests by itself, has nothing here that it could
// repeat: one permit of the limiter is one request on the wire.
//
// # Errors
//
// A call returns one of five types, for [errors.AsType]:
//
//	*ArgumentError    an argument the document rules out; nothing was sent
//	*APIError         a response other than the operation's success
//	*RateLimitError   given up because of the rate limit; unwraps to the *APIError of the 429, if any
//	*ResponseError    a response that cannot be trusted
//	*TransportError   no response: the connection, the key, or the caller's context
//
// and they match, under [errors.Is], [ErrBadRequest], [ErrUnauthorized], [ErrNotFound], [ErrRateLimited],
// [ErrOutcomeUnknown], [ErrInvalidResponse] and, if the caller's own context ended, its error and cause.
// The text of each is one line of at most 512 bytes.
//
// # The API key
//
// The key is sent to the scheme, host and port of the base URL and nowhere else: redirects are not followed,
// and plain http is refused beyond loopback. It is in no error, no log and no dump of a client.
package petstore
