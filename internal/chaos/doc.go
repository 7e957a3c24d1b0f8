// Package chaos has only tests: calls of package petstore, drawn from a seed, meet every failure
// that package fake can inject. The tests check that each call has the right outcome: no created
// pet is lost, none is created twice, and no error claims more than its caller can know.
//
// A scenario is one run: a service with its plan, windows, clock and behaviour, an entry point to
// it, and callers that share one limiter. All of it is drawn from the seed before the run: the
// operation of each call, the failure of each of its requests, and when its caller gives up. Only
// the order of the goroutines and the jitter of the client's backoff are random. After the run, the
// checks compare the results of the calls with the journal of the service.
//
//	go test ./internal/chaos                                  a few thousand calls
//	PETSTORE_CHAOS=100000 go test -v ./internal/chaos         that many calls, with figures
//	PETSTORE_SEED=7 go test -run Chaos -v ./internal/chaos    the scenarios of one seed again
package chaos
