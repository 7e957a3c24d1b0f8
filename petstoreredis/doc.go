// Package petstoreredis shares the budget of one API key between processes, through a Redis they
// already run.
//
//	limiter, err := petstoreredis.NewLimiter(rdb, "petstore, production key")
//	...
//	client, err := petstore.NewClient(baseURL, apiKey, petstore.WithLimiter(limiter))
//
// Every process of the fleet does the same; nothing else is to be set up. Sections named in this
// documentation are those of the service document, "Pet Store Service Interface".
//
// # The same rules for all
//
// The fleet keeps to the rules of [petstore.NewLimiter] as if it were one process. The first
// request is a probe for all of it, and so is the first after a window has been used up. No more
// requests are in flight than the lowest Remaining that still holds. After a 429 no process
// sends before the latest of Retry-After and Reset, and then one request, on whose success the
// others follow (section 8.3); closures in a row back off. A call waits for an exhausted window; a
// longer closure fails at once, in each process, which then asks Redis at most once in ten seconds
// whether another one has learned more. [Limiter.Reopen] has one request ask the service, for all
// of them. Without the rate limit headers at most two requests of the fleet are in flight. What
// one process sends before it can know of another's 429 is sent, as within one process.
//
// Calls of a process are served in the order in which they came, retried ones first. No process
// waits for ever: each may take its part of a window, and after that it leaves the rest to those
// that have waited for longer.
//
// # One exchange
//
// A process reserves several requests at once where there is room, as many as it will use in a
// moment, and reports their outcomes with its next command; only those that others wait for it
// reports at once. What it does not use goes back soon. One command is in flight at a time, however
// many callers there are.
//
//	call            process A                     Redis, one script             process B
//	Acquire  ──▶    queue: 3 calls
//	                command 7: want 3,     ──▶    settle the outcomes
//	                outcomes of 2 requests,       by the rules: 12 left,
//	                5 held                        8 outstanding: grant 3
//	         ◀──    3 permits              ◀──    granted 3, known 41
//	request         ...                           lease of A: 5 s        ◀──    command 3: want 9
//	Release  ──▶    outcome, for command 8        1 left of 12: grant 1  ──▶    1 permit; asks again
//	                                                                            for the rest in 137 ms
//
// # Processes that die
//
// What a process has reserved is leased to it (see [WithLease]). When the lease has run out, the
// requests count as spent, because they may have been sent, until a response to a request sent
// later shows what the service has really counted; then those that were not sent come back. So the
// death of a process cannot exceed the budget. A process that was stopped for longer than its lease
// finds its permits void. The clock is that of Redis; processes send durations.
//
// # Without Redis
//
// If Redis does not reply, in time or at all, a process goes on alone with a part of the key: Limit
// and Remaining divided by the number of processes (see [WithShare]), beginning with what was
// known, where all that was in flight counts as spent. If there are more processes than requests,
// each draws at random whether it sends one in a window. A process that has just started waits up
// to a second for Redis first, and then assumes 64 processes. Once a second Redis is tried again,
// and no call waits for that. A reply in time ends the fallback, several in a row if there was
// another one less than a minute before. The beginning and the end are logged, at most one line a
// minute.
//
// Each process remembers what it has seen, and tells it to a Redis that has lost its data or has
// come back with older data.
//
// # In Redis
//
// The state of a key is in four keys of Redis, which share a slot of a cluster and expire by
// themselves. Their names hold a hash of the limiter's name. All is done by one script, which needs
// Redis 5 or later, or a server that is compatible with it.
//
// This module uses internal packages of petstore-go, so that the two are released together under
// one version.
package petstoreredis
