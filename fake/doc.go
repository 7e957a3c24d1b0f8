// Package fake is the Pet Store Service in memory, for the tests of programs that call it.
//
//	func TestImport(t *testing.T) {
//		srv := fake.NewTestServer(t)
//		err := Import(t.Context(), srv.Client(), "animals.csv")
//		...
//	}
//
// A [Server] implements the whole service document: keys, plans with a limit per minute and per
// day, the three rate limit headers on every response, Retry-After, bans, validation, Error bodies.
// It fails on demand ([Server.Inject]), keeps a journal of the requests ([Server.Requests]) and
// reports requests that a well-behaved client does not send ([Server.Violations]).
//
// # Options
//
//	WithAPIKey, WithPlan, WithKey         the keys and their plans
//	WithPets, WithFaults                  the pets and the faults at the start
//	WithClock, WithTime, WithMinute       the server's time and the minute of its limits
//	WithBehavior, WithObserved, WithSeed  choices where the document is silent, and random ones
//	WithBan, WithLatency                  bans for repeated requests, and delays
//	WithStrict, WithAllowed               violations that fail the test
//	WithJournal, WithNotify               the size of the journal, and a function for each request
//
// # Time
//
// A server runs inside a testing/synctest bubble with nothing to set up, also when it was made
// outside: there a client waits for 24 hours of Retry-After in microseconds. Several bubbles may
// use one server one after another. Each begins in the year 2000: when the clock goes back, the
// windows of all keys begin anew, while a ban keeps the time it had left. If no time passes in a
// bubble, the next one shares its windows; [Server.Reset] separates them. Outside a bubble,
// [Server.Advance] and [Server.SetTime] move the server's clock, and no other: a client that waits
// follows its own clock.
//
// # Misuse
//
// A call that makes no sense is refused. Options and methods panic on an operation, rule, key,
// plan, duration, fault or behaviour that does not exist or can have no effect, with a string that
// begins with "fake: " and the name of the call; assertions such as [Server.AssertRequests] fail
// the test instead. No such message repeats a key.
//
// # What is different from a real deployment
//
//   - Nothing is kept on disk, and nothing is shared between two servers.
//   - Keys and plans come from options and methods; no request gets or changes them.
//   - There is no TLS. The entry points in memory take https addresses and send plain text.
//   - There is no latency but that of [WithLatency], [Server.SetLatency] and [Fault.Delay].
//   - The entry points in memory use a connection for every request; see [Server.HTTPClient].
//   - Input that net/http does not take for a request, such as a malformed header line, gets the
//     response of net/http: 400 and the like, without the rate limit headers.
//   - A request body is read up to 1 MiB. The journal is bounded too; see [Server.Requests].
//
// # Where the document is silent
//
// These are the server's choices. [Behavior] changes those that clients can come to depend on, and
// [Variants] runs a test under all of them.
//
//	section  what is open                       the server
//	1        other paths and methods            404; 405 with Allow; both with an Error body
//	2        limits of name                     any non-empty string of valid UTF-8
//	2        unknown fields                     ignored, and a violation
//	2        duplicate fields, trailing data    400
//	2        half of a surrogate pair           400
//	2        null                               400 for name and categoryId; status: as if left out
//	2        categoryId 1.0 or 1e3              400: an integer has neither fraction nor exponent
//	2        categoryId 0                       a category; a violation under WithStrict
//	3        status omitted on creation         stays omitted (Behavior.DefaultStatus)
//	4.1      order of pets                      by ascending id (Behavior.Order)
//	4.1, 7   limit invalid, status unknown      400 (Behavior.InvalidLimit, Behavior.InvalidStatus)
//	4.1      limit +5 or 005                    no number: there is one spelling of an integer
//	4.1      a parameter given twice            400
//	4.1      unknown parameters                 ignored, and a violation
//	4.2      media type missing or not JSON     400
//	4.2      body compressed or over 1 MiB      400
//	4.3      petId that is no int64, +1 or 01   404
//	4.3, 9   after 5 December 2030              as before (Behavior.Removal)
//	4.3      headers about the deprecation      none (Behavior.DeprecationHeaders)
//	5        case of the scheme                 any
//	5        two Authorization headers          401
//	5        headers of a 401                   WWW-Authenticate: Bearer
//	7        codes                              the Code constants
//	7        body of a 429                      an Error object (Behavior.LimitBody)
//	8.1      windows                            begun by their first request, on the whole second
//	                                            before it (Behavior.Window)
//	8.1      what counts                        every request with a valid key for a path of the
//	                                            service, unless it is refused with a 429
//	8.2      which limit the headers show       the one with fewer requests left; of two alike the
//	                                            one that lasts longer
//	8.2      headers without a valid key        the limits of the Free plan, untouched
//	8.2      headers of a plan without a limit  2147483647
//	8.3      Retry-After                        whole seconds, rounded up (Behavior.RetryAfter)
//	8.3      headers during a ban               nothing remaining; Retry-After is the ban's end, Reset
//	                                            the end of the minute (Behavior.BanReset), so that a
//	                                            client recognises a ban that outlasts the minute
//	8.3      when a key is banned               never (WithBan, Server.BanKey)
//	8.4      plan of a key                      Business for the default key (WithPlan, WithKey)
//
// Package [github.com/petstore/petstore-go/fake/conformance] observes what a real service chose,
// and [WithObserved] makes a server choose the same.
package fake
