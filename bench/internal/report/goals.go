package report

import "fmt"

// goal is a figure that the client is to stay below.
type goal struct {
	what     string
	most     float64
	measured func(*Report) float64
}

func goals() []goal {
	const stub, tcp = "stub", "TCP"
	return []goal{
		{"CPU, list 100 without a network : ogen", 0.9, against("ogen", stub, "list 100")},
		{"CPU, list 100 without a network : net/http", 0.4, against("net/http", stub, "list 100")},
		{"CPU, list 100 over TCP : net/http", 0.55, against("net/http", tcp, "list 100")},
		{"CPU, list 20 without a network : net/http", 0.5, against("net/http", stub, "list 20")},
		{"CPU, create without a network : net/http", 0.8, against("net/http", stub, "create")},
		{"CPU, get without a network : net/http", 0.8, against("net/http", stub, "get")},
		{"allocations but the stub's, list 20", 45, allocations("list 20")},
		{"allocations but the stub's, list 100", 140, allocations("list 100")},
		{"allocations but the stub's, create", 26, allocations("create")},
		{"allocations but the stub's, get", 22, allocations("get")},
		{"connections, http, all is well", 70, opened("http", 0)},
		{"connections, http, 503", 70, opened("http", 1)},
		{"connections, http, cancelled", 110, opened("http", 2)},
		{"connections, https, all is well", 150, opened("https", 0)},
		{"connections, https, 503", 150, opened("https", 1)},
		{"connections, https, cancelled", 150, opened("https", 2)},
		{"writes per request", 1, mostWrites},
		{"most heap at a time : body, or bound", 3, mostHeap},
	}
}

// against compares ours with a peer in a row of calls made one after another.
func against(peer, transport, operation string) func(*Report) float64 {
	return func(r *Report) float64 {
		row := Row{Transport: transport, Goroutines: 1, Operation: operation}
		own, other := r.Cell(row, r.Clients[0].Name), r.Cell(row, peer)
		if own == nil || other == nil {
			return 0
		}
		return Ratios(own.CPU, other.CPU).Median
	}
}

// allocations are those of ours through the stub, without what the stub allocates.
func allocations(operation string) func(*Report) float64 {
	return func(r *Report) float64 {
		c := r.Cell(Row{Transport: "stub", Goroutines: 1, Operation: operation}, r.Clients[0].Name)
		if c == nil {
			return 0
		}
		return float64(c.Allocs - r.Stub.Allocs)
	}
}

// opened is the median of our connections in one of the scenarios, in the order in which they were measured.
func opened(scheme string, scenario int) func(*Report) float64 {
	return func(r *Report) float64 {
		for _, c := range r.Connections {
			if c.Client != r.Clients[0].Name || c.Scheme != scheme {
				continue
			}
			if scenario == 0 {
				return c.spread().Median
			}
			scenario--
		}
		return 0
	}
}

func mostWrites(r *Report) float64 {
	most := 0.0
	for _, w := range r.Writes {
		if w.Client == r.Clients[0].Name {
			most = max(most, w.PerCall)
		}
	}
	return most
}

func mostHeap(r *Report) float64 {
	most := 0.0
	for _, h := range r.Heap {
		if h.Client == r.Clients[0].Name {
			most = max(most, h.share(h.Peak))
		}
	}
	return most
}

// cells are the goal's row. Beyond the second decimal nothing is decided.
func (g goal) cells(r *Report) []string {
	measured := g.measured(r)
	verdict := "reached"
	switch {
	case measured == 0:
		return []string{g.what, fmt.Sprintf("%g", g.most), "–", "not measured"}
	case fmt.Sprintf("%.2f", measured) != fmt.Sprintf("%.2f", g.most) && measured > g.most:
		verdict = "**missed**"
	}
	return []string{g.what, fmt.Sprintf("%g", g.most), fmt.Sprintf("%.2f", measured), verdict}
}

func (r *Report) goalTable() string {
	t := newTable("goal", "at most", r.Toolchain, "")
	for _, g := range goals() {
		t.row(g.cells(r)...)
	}
	return t.String()
}
