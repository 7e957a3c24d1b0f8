// Package chaos holds tests and nothing else: calls of package petstore, drawn from a seed, meet
// every failure that package fake can inject, and whatever happens nothing is lost, nothing is done
// twice and nothing is guessed.
//
// A world is one run: a service with its plan, windows, clock and moods, a door to it, and callers
// that share one limiter. Everything in it is drawn from its seed before it begins: what each
// caller asks for, what each of a call's requests meets, and when its caller loses patience. Only
// the order in which goroutines run and the jitter of the client's backoff are left to chance. When a
// world is over, a judge compares what the callers were told with what the service did.
//
//	go test ./internal/chaos                                  a few thousand calls
//	PETSTORE_CHAOS=100000 go test -v ./internal/chaos         as many as that, with figures
//	PETSTORE_SEED=7 go test -run Chaos -v ./internal/chaos    the worlds of one seed again
package chaos
