package sim

import "time"

// load is how the calls of a cell come far from the limit: programs that use one key ask together
// for a share of what it allows. No call has to wait for anything there, so that each wait is the
// limiter's own. The zero load is a job instead.
type load struct {
	pattern
	percent  int // of the plan
	programs int // each with a limiter of its own
}

// pattern is how a program spreads its calls over time.
type pattern struct {
	name, text string
	batch      int     // calls that begin together
	short      bool    // each batch is a program of its own, whose calls follow each other
	noWait     bool    // WithMaxWait(0)
	impatient  float64 // part of the callers that give up within the latency
	slow       float64 // part of the responses that take 25 s more: longer than anybody would wait
}

func patterns() []pattern {
	return []pattern{
		{name: "steady", text: "one call at a time, at random", batch: 1},
		{name: "pages", text: "ten calls at once", batch: 10},
		{name: "short", text: "each two calls are a program of their own", batch: 2, short: true},
		{name: "no-wait", text: "one call at a time, at random", batch: 1, noWait: true},
		{name: "no-wait-pages", text: "ten calls at once", batch: 10, noWait: true},
		{name: "impatient", text: "one caller in five gives up", batch: 1, impatient: 0.2},
		{name: "slow", text: "one response in fifty takes 25 s more", batch: 1, slow: 0.02},
		{name: "slow-pages", text: "ten calls at once, one response in fifty takes 25 s more", batch: 10, slow: 0.02},
	}
}

// loadTime is how long a load lasts: five windows.
const loadTime = 5 * time.Minute

// batchEvery is the mean time between two batches of a program, in nanoseconds.
func (c cell) batchEvery() float64 {
	perMinute := float64(c.perMinute*c.load.percent) / 100 / float64(c.load.programs*c.load.batch)
	return float64(time.Minute) / perMinute
}
