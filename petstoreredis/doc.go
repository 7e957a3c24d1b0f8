// Package petstoreredis shares the rate limit of an API key between processes, through a Redis.
//
//	limiter, err := petstoreredis.NewLimiter(rdb)
//	...
//	client, err := petstore.NewClient(baseURL, apiKey, petstore.WithLimiter(limiter))
//
// Each process of the fleet does this; there is nothing else to set up.
//
// # One pot of permits
//
// The requests of a window are one pot of permits in Redis: a hash of a few numbers for each API key.
// A process asks it for a permit when a call waits for one, and reports the outcome with the next
// question, or soon on its own: at most two commands for each request, and none at rest. No process
// holds a permit in advance. So nothing is sent after a 429 here, and nothing elsewhere as soon as
// Redis has heard of it. Calls of one process that wait at the same time ask together.
//
// What a response means, in which order calls go, and whom to tell is decided by the embedded
// [ratelimit.Limiter]; pot.lua counts. A process that is killed cannot report: its permits count as
// spent until their window is over, a minute at most. All processes must have the same version of
// this package, which may differ from that of petstore-go.
//
// # Without Redis
//
// If Redis fails, or does not reply in time (see [WithTimeout]), the process goes on with its share,
// as a [ratelimit.Limiter] that is told how many processes there are (see [WithShare]); it has known
// all along what Redis knew. Once a second it tries Redis again; the first reply ends this. Both are
// logged.
//
// If the pot is missing, unreadable or older than what a process knows, a new one begins with one
// request. Therefore an operator may delete it at any time.
package petstoreredis
