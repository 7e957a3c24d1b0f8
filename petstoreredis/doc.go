// Package petstoreredis shares the rate limits of API keys between processes, through Redis.
//
//	limiter, err := petstoreredis.NewLimiter(rdb)
//	...
//	client, err := petstore.NewClient(baseURL, apiKey, petstore.WithLimiter(limiter))
//
// Each process of the fleet does this; there is nothing else to set up. README.md has the rules,
// and the functions that implement them. The state of a key is called its pot. It is a hash in
// Redis, which only the script pot.lua reads and writes. If calls of a process wait, the process
// sends one command, which calls the script and asks for permits for all of them. The reply has
// permits, or what the calls must wait for. The command also reports outcomes of requests. If no
// command follows an outcome within 20 ms, the process sends one only to report outcomes. No
// process holds permits in advance. So after a 429, a process sends nothing more, and the others
// stop once Redis knows it.
//
// The share of a process is what the window allows the fleet, divided by the number of processes.
// In the first second after the first response of a window, a process gets no more than its share,
// and in two seconds no more than twice its share: a process that asks a moment later still finds
// its own share. After that, a process may use what the others leave. A process that is killed
// cannot report: its permits count as spent until their window is over, a minute at most. All
// processes must have the same version of this package, except during an update: see
// docs/scaling.md.
//
// # Without Redis
//
// If a command fails, or gets no reply in time (see [WithTimeout]), the process goes on with a
// [ratelimit.Limiter] that begins with the last known state of the pot. In each window the process
// then gets one share of the limit at most (see [WithShare]). While requests come, it tries Redis
// again once a second. The first reply ends this. The log has a line for the beginning and one for
// the end. A Redis that drops each pot at once counts as failed, too.
//
// A pot that is missing, damaged or older than what a process knows is replaced by a new pot, which
// gives one permit at first, or after 1.5 s if the process has had a reply from an earlier pot.
// Therefore an operator may delete a pot at any time. Rule 1 of the README has all reasons.
package petstoreredis
