// Package petstoreredis shares the rate limits of API keys between processes, through a Redis.
//
//	limiter, err := petstoreredis.NewLimiter(rdb)
//	...
//	client, err := petstore.NewClient(baseURL, apiKey, petstore.WithLimiter(limiter))
//
// Each process of the fleet does this; there is nothing else to set up. For each key there is a pot
// of permits in Redis, a hash of a few numbers. When calls wait, their process sends one command
// that asks for permits for all of them. It reports the outcomes of requests with the next such
// command or, if none follows soon, with a command of its own. So there are at most two commands
// for each request, and none while no call is made. No process holds permits in advance: after a
// 429 this process sends nothing more, and the others stop as soon as Redis knows of the 429.
//
// [ratelimit.Limiter] decides what a response means, which call goes first, and what is reported to
// an observer; pot.lua counts. A process that is killed cannot report: its permits count as spent
// until their window is over, a minute at most. All processes must have the same version of this
// package.
//
// # Without Redis
//
// If Redis fails, or does not reply in time (see [WithTimeout]), a process goes on with its share:
// it works like a [ratelimit.Limiter] that was told how many processes there are (see [WithShare]),
// and begins with what Redis knew last. Once a second it tries Redis again, and the first reply
// ends this. The beginning and the end are logged.
//
// A pot that is missing, unreadable or older than what a process knows begins anew with one
// request. Therefore an operator may delete it at any time.
package petstoreredis
