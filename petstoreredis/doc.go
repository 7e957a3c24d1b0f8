// Package petstoreredis shares the rate limits of API keys between processes, through a Redis.
//
//	limiter, err := petstoreredis.NewLimiter(rdb)
//	...
//	client, err := petstore.NewClient(baseURL, apiKey, petstore.WithLimiter(limiter))
//
// Each process of the fleet does this; there is nothing else to set up. README.md has the rules,
// with the code of each. The state of a key is its pot, a hash in Redis, which only the script
// pot.lua reads and writes. A process whose calls wait sends one command, a call of the script,
// that asks for permits for all of them, and gets permits, or what to wait for. Outcomes of
// requests go with the next command or, if none follows in 20 ms, with one of their own. No process
// holds permits in advance: after a 429 this process sends nothing more, and the others stop as
// soon as Redis knows of the 429.
//
// The share of a process is the limit, divided by the number of processes. In the first second of a
// window a process gets no more than its share, and in two seconds no more than twice its share, so
// that those that ask a moment later find theirs. After that, a process may use what the others
// leave. A process that is killed cannot report: its permits count as spent until their window is
// over, a minute at most. All processes must have the same version of this package, but for the
// time of an update: see docs/scaling.md.
//
// # Without Redis
//
// If a command fails, or gets no reply in time (see [WithTimeout]), a process goes on with a
// [ratelimit.Limiter] that knows what Redis knew last. It gets one share of the limit in each
// window, at most (see [WithShare]). Once a second it tries Redis again, and the first reply ends
// this. The log has a line for the beginning and one for the end.
//
// A pot that is missing, unreadable or older than what a process knows begins anew with one
// request. Therefore an operator may delete it at any time.
package petstoreredis
