// Package petstoreredis shares the budget of one API key between processes, through a Redis.
//
//	limiter, err := petstoreredis.NewLimiter(rdb, "petstore, production key")
//	...
//	client, err := petstore.NewClient(baseURL, apiKey, petstore.WithLimiter(limiter))
//
// Each process of the fleet does this; there is nothing else to set up. Sections in this
// documentation are those of the service document, "Pet Store Service Interface".
//
// # The same rules for all
//
// The fleet follows the rules of [petstore.NewLimiter] as if it were one process. The first request
// of the fleet is a probe, and so is the first after a window is used up: the others wait for its
// response. There are never more requests in flight than the lowest Remaining allows. After a 429 no
// process sends before the later of Retry-After and Reset; then one probe is sent, and the others
// follow if it succeeds (section 8.3). Further 429s make this time longer. A call waits for a window
// that is used up. If that would take too long, the call fails immediately in each process, which
// asks Redis at most once in ten seconds whether another process has learned more. [Limiter.Reopen]
// lets one process send a probe for all. Without the rate limit headers, at most two requests of the
// fleet are in flight. Only requests in flight can get a 429 after the first one.
//
// Calls of a process are served in the order of their arrival, retried ones first. Each process gets
// its part of a window before others get more, so that none waits for ever.
//
// # One command
//
// A process reserves several requests with one command if there is room: as many as it will
// probably use soon. It reports their outcomes with its next command, or immediately if other
// processes wait for them. It returns unused permits soon. There is one command in flight at a time,
// however many callers there are.
//
//	call            process A                     Redis, one script             process B
//	Acquire  ──▶    queue: 3 calls
//	                command 7: want 3,     ──▶    record the outcomes
//	                outcomes of 2 requests,       by the rules: 12 left,
//	                5 in flight                   8 in flight: grant 3
//	         ◀──    3 permits              ◀──    granted 3, known 41
//	request         ...                           lease of A: 5 s        ◀──    command 3: want 9
//	Release  ──▶    outcome, for command 8        1 left of 12: grant 1  ──▶    1 permit; next command
//	                                                                            in 137 ms
//
// # Processes that die
//
// Permits are leased to a process (see [WithLease]). When the lease ends, their requests count as
// lost: they may have been sent. The response to a later request shows how many the service has
// counted, and those that were not sent become free again. So a process that dies cannot cause a
// 429. If a process was suspended for longer than its lease, its unused permits are dropped. All
// times are those of the clock of Redis; processes send durations.
//
// # Without Redis
//
// If Redis does not reply in time, a process starts a fallback: it goes on alone with its share of
// the key, which is Limit and Remaining divided by the number of processes (see [WithShare]). At the
// start all requests in flight count as spent. If there are more processes than requests, each draws
// at random whether it sends one in a window. A new process waits up to a second for Redis first, and
// then assumes 64 processes. During a fallback a command is sent once a second, and no call waits for
// it. A reply in time ends the fallback; if there was another one less than a minute before, it takes
// several replies in a row. The start and the end are logged, at most one line a minute.
//
// Each process remembers the responses it has seen. It sends them to a Redis that has lost its data
// or has older data.
//
// # In Redis
//
// The state of a key is in four keys of Redis, which are in one slot of a cluster and expire by
// themselves. Their names contain a hash of the limiter's name. One script does everything. It needs
// Redis 5 or later, or a compatible server.
//
// This module uses internal packages of petstore-go: both are released together, with the same
// version.
package petstoreredis
