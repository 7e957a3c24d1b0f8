// Package rounds compares contenders on a machine that is busy with other things: they take turns in
// many short rounds, so that what else happens meets all of them, and each round is a comparison of
// its own.
package rounds

import (
	"math/rand/v2"
	"syscall"
	"time"

	"golang.org/x/perf/benchmath"
)

// Contender is one way to do a piece of work.
type Contender struct {
	Name string
	// Do does the work n times.
	Do func(n int)
	// CPU returns the CPU time that all work has used until now.
	CPU func() time.Duration
}

// Ratio is how much CPU time a contender uses for each time that the first one uses: the median of
// all rounds, and the bounds between which it lies with a probability of 95 %.
type Ratio struct{ Median, Low, High float64 }

// Exact reports whether both bounds are within 5 % of the median.
func (r Ratio) Exact() bool { return r.High <= 1.05*r.Median && r.Low >= 0.95*r.Median }

// Compare runs n rounds, in each of which each contender uses about that much CPU time, in random
// order. It returns a ratio for each contender, in their order; that of the first is 1.
func Compare(contenders []Contender, n int, length time.Duration) []Ratio {
	calls := make([]int, len(contenders))
	for i, c := range contenders {
		calls[i] = c.callsIn(length)
	}
	samples := make([][]float64, len(contenders))
	for range n {
		each := make([]float64, len(contenders))
		for _, i := range rand.Perm(len(contenders)) {
			each[i] = float64(contenders[i].measure(calls[i])) / float64(calls[i])
		}
		for i := range each {
			samples[i] = append(samples[i], each[i]/each[0])
		}
	}
	ratios := make([]Ratio, len(contenders))
	for i := range samples {
		ratios[i] = summarize(samples[i])
	}
	return ratios
}

// callsIn returns how often the contender does its work in that CPU time, the most of five counts:
// what comes first or in between, as a new connection, costs more.
func (c Contender) callsIn(length time.Duration) int {
	most := 1
	for range 5 {
		used, calls := time.Duration(0), 1
		for ; used < length/2; calls *= 2 {
			used = c.measure(calls)
		}
		most = max(most, int(float64(calls/2)*float64(length)/float64(used)))
	}
	return most
}

// measure returns the CPU time of that many calls.
func (c Contender) measure(calls int) time.Duration {
	before := c.CPU()
	c.Do(calls)
	return c.CPU() - before
}

// summarize assumes no distribution, since other programs have their part in every sample.
func summarize(samples []float64) Ratio {
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(samples, &benchmath.DefaultThresholds), 0.95)
	return Ratio{s.Center, s.Lo, s.Hi}
}

// CPU returns the user and system time of all threads of this process, those of the garbage
// collector among them.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // this process exists
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
