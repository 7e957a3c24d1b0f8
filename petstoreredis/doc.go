// Package petstoreredis shares the budget of one API key between processes, through a Redis.
//
//	limiter, err := petstoreredis.NewLimiter(rdb, "petstore, production key")
//	...
//	client, err := petstore.NewClient(baseURL, apiKey, petstore.WithLimiter(limiter))
//
// Each process of the fleet does this; there is nothing else to set up. Sections in this
// documentation are those of the service document, "Pet Store Service Interface".
//
// # One pot of permits
//
// The requests of a window are one pot in Redis: a hash of a few numbers. A process draws permits
// from it, as many as its calls need, and at most its part of what is left. Its next command
// reports the rate limits of its responses. The first response of a window fills the pot; each
// later one can only lower it, so that requests of other programs are seen. Permits that are not
// used lapse with their window: when a process dies, nothing has to be cleaned up. One request of
// the fleet goes ahead in a new window, unless much is left of the one before. After a 429 no
// process sends before the later of Retry-After and Reset (section 8.3); then one request is sent,
// and the others follow if it succeeds.
//
// Calls of a process are served in the order of their arrival, retried ones first; a background call
// lets all pass that come within the next minute. All processes must have the same version of this
// package, which may differ from that of petstore-go.
//
// # Without Redis
//
// If Redis fails, or does not reply in time (see [WithTimeout]), a process goes on alone, with a
// [petstore.NewLimiter] that is told how many processes share the key (see [WithShare]), and what
// they will probably leave of the window. Once a second it tries Redis again; the first reply ends
// this. Both are logged.
//
// If the pot is missing, unreadable or older than what a process knows, a new one begins with one
// request. Therefore an operator may delete the key at any time.
package petstoreredis
