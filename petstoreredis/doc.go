// Package petstoreredis shares the rate limits of API keys between processes, through a Redis.
//
//	limiter, err := petstoreredis.NewLimiter(rdb)
//	...
//	client, err := petstore.NewClient(baseURL, apiKey, petstore.WithLimiter(limiter))
//
// Each process of the fleet does this; there is nothing else to set up. For each key there is a pot
// of permits in Redis, a hash of a few numbers. When calls wait, their process asks it for permits,
// all that wait at once, and reports the outcomes with the next question or soon on its own: at most
// two commands for each request, and none at rest. No permit is held in advance, so that after a 429
// nothing is sent here, nor elsewhere as soon as Redis has heard of it.
//
// What a response means, which call goes first, and whom to tell is decided by [ratelimit.Limiter];
// pot.lua counts. A process that is killed cannot report: its permits count as spent until their
// window is over, a minute at most. All processes must have the same version of this package.
//
// # Without Redis
//
// If Redis fails, or does not reply in time (see [WithTimeout]), a process goes on with its share, as
// a [ratelimit.Limiter] that is told how many processes there are (see [WithShare]) and knows what
// Redis knew last. Once a second it tries Redis again; the first reply ends this. Both are logged.
//
// A pot that is missing, unreadable or older than what a process knows begins anew with one request.
// Therefore an operator may delete it at any time.
package petstoreredis
