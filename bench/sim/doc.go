// Package sim runs clients of the Pet Store Service against package fake in virtual time, and
// compares the calls that they complete, their 429s and the time that they take with the least time
// that the windows of the rate limit allow.
//
// A cell is one situation: how the service counts, how many requests a minute it allows, how many
// goroutines call it, and one condition such as a skewed clock. A suite is the cells of one table.
// A run is one cell with petstore-go as its users get it. Its latencies and faults come from the
// cell's seed by the number of the request, not by the clock or the goroutine, so that a run gives
// the same figures every time.
//
// The tests of this package assert the figures that petstore-go promises, and with
// UPDATE_GOLDEN=1 write docs/limiter.md.
package sim
