// Package sim runs clients of the Pet Store Service against package fake in virtual time, and
// compares what they get done, how often they are told 429, and how long they take, with the least
// time that the window of the rate limit allows.
//
// A cell is one situation: how the service counts, how many requests a minute it allows, how many
// goroutines call it, and one condition such as a skewed clock. A contender is one way to call the
// service; the first is petstore-go as its users get it. A run is one contender in one cell. Its
// latencies and faults come from the cell's seed by the number of the request, not by the clock
// or the goroutine, so that a run gives the same figures every time.
//
// The tests of this package assert the figures that petstore-go promises, and with -update write
// docs/limiter.md.
package sim
