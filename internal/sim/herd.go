package sim

import (
	"fmt"
	"net/http"

	"github.com/petstore/petstore-go/fake"
)

// herd is a number of processes that start at the same time and have the job of one cell to do, each with eight
// goroutines and without knowing of the others.
type herd struct {
	processes int
	cells     []cell
}

// herds returns all of them.
func herds(seed uint64) []herd {
	var all []herd
	for _, n := range []int{2, 4, 8, 32, 100} {
		h := herd{processes: n}
		condition := condition{name: fmt.Sprintf("herd-%d", n), clients: n, unaware: true}
		for _, window := range []fake.Window{fake.WindowFixed, fake.WindowAligned, fake.WindowSliding} {
			for _, perMinute := range []int{60, 300, 1_000} {
				h.cells = append(h.cells, cell{condition, window, perMinute, 8 * n, seed})
			}
		}
		all = append(all, h)
	}
	return all
}

// herdContenders is who is compared in them.
func herdContenders() []contender {
	all := contenders()
	const with = "with `NewLimiter(Processes(n))`"
	told := contender{"petstore-go, told", with, func(c cell, via http.RoundTripper, n int) []client {
		c.condition.told = true
		return petstoreClients(c, via, n)
	}}
	assisted := contender{
		"AATB", "ATB, all processes adapting one bucket, as its assisted form does by telemetry",
		governedClients(newTokenBucket, true),
	}
	return append([]contender{all[0], told, assisted}, all[1:]...)
}

// herdTable returns a line of fields for each herd, the heading first.
func herdTable(rows []herdRow) [][]string {
	lines := [][]string{{"processes"}}
	for _, k := range herdContenders() {
		lines[0] = append(lines[0], k.name)
	}
	for _, r := range rows {
		line := []string{fmt.Sprint(r.processes)}
		for _, total := range r.totals {
			line = append(line, fmt.Sprintf("%s / %.2f", total.String(), total.fewest))
		}
		lines = append(lines, line)
	}
	return lines
}

// herdRow is what the contenders came to in a herd.
type herdRow struct {
	herd
	totals []total
}
