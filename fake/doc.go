// Package fake is the Pet Store Service in memory, for the tests of programs that call it.
//
//	func TestImport(t *testing.T) {
//		srv := fake.NewTestServer(t)
//		err := Import(t.Context(), srv.Client(), "pets.csv")
//		...
//	}
//
// A [Server] implements the whole service document: keys, limits per minute and per day with their
// headers, Retry-After, bans, validation, Error bodies. It fails on demand ([Server.Inject]), keeps
// a journal ([Server.Requests]) and reports mistakes of clients ([Server.Violations]).
//
// # Which fault for which failure
//
//	To make                                     inject a Fault with
//	three 503s in a row                         Status: 503, Times: 3
//	about half of the creates fail              Operation: petstore.OpCreatePet, Status: 500,
//	                                            Chance: 0.5, Times: Forever
//	an outage of five minutes                   Status: 503, For: 5 * time.Minute
//	refused connections for five minutes        Wire: WireRefuse, For: 5 * time.Minute
//	a 429 with a wait                           Status: 429, RetryAfter: "30"
//	a 429 by the real limit                     no fault: use WithPlan(Plan{PerMinute: 3})
//	a used-up day, a ban                        no fault: use Server.SetUsage, Server.BanKey
//	a 401 for a key that was good               no fault: use Server.RevokeKey
//	a create that was not carried out           Operation: petstore.OpCreatePet, Wire: WireReset
//	a create whose response is lost             the same, and AfterCommit: true
//	a connection closed without a response      Wire: WireClose
//	a slow response; one that never comes       Delay: time.Second; Wire: WireStall
//	a body cut off; one that takes a minute     Wire: WireTruncate; Drip: time.Minute
//	a 503 whose body is cut off                 Status: 503, Wire: WireTruncate
//	bytes that are not HTTP                     Wire: WireGarbage
//	a login page in place of the service        Wire: WireLoginPage; with Status: 302, a redirect
//	a response without a rate limit header      Header: http.Header{"X-RateLimit-Limit": nil}
//	a sequence: a 503, a 429, then a success    two Faults, one after the other
//
// [Server.Inject] and [WithFaults] take these faults. For an operation that the document does not
// have, [WithHandler] adds a handler.
//
// # Time
//
// [github.com/petstore/petstore-go/fake/faketest.Bubble] runs a test with a server inside a
// testing/synctest bubble, where a client waits for 24 hours of Retry-After in microseconds. A
// server and a client that were made outside of a bubble work inside, too, and in several bubbles
// one after another. Each bubble begins at the same time in 2000. So the clock goes back from one
// bubble to the next, and the server starts new windows (see [Server.Advance]). If no time passed
// in the first bubble, its windows continue in the next: call [Server.Reset] in between.
//
// # Outside of Go
//
// [Fault], [Plan], [Usage] and [Behavior] are read and written as JSON, with the names of their
// fields in lowerCamel and durations as strings: {"status":503,"times":3,"for":"5m"}. A field that
// a Fault, Plan or Behavior does not have is an error that names the field.
//
// # Misuse
//
// Options and methods panic on an argument that is unknown, can have no effect, or is refused by
// petstore.NewClient. The value of the panic is a string that begins with "fake: " and the name of
// the function. It never repeats a key.
//
// # What is different from a real deployment
//
//   - Nothing is kept on disk, and there is no latency unless a test asks for it.
//   - There is no TLS: the entry points in memory take https addresses and send plain text.
//   - In memory, every request has a connection of its own.
//   - A request that net/http does not accept, and OPTIONS *, gets the response of net/http,
//     without the rate limit headers and without an entry in the journal.
//   - A request body may have at most 1 MiB.
//
// # Where the document is silent
//
// docs/conformance.md has a table of the server's choices. [Behavior] changes the choices on which
// a client can come to depend. With [Variants], a test runs with each of these choices.
package fake
