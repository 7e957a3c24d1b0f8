package report

import (
	"fmt"
	"strings"
)

// table is a table in Markdown. The first column is text, the others are numbers.
type table struct{ lines []string }

func newTable(head ...string) *table {
	t := new(table)
	t.row(head...)
	t.lines = append(t.lines, "|---"+strings.Repeat("|--:", len(head)-1)+"|")
	return t
}

func (t *table) row(cells ...string) {
	t.lines = append(t.lines, "| "+strings.Join(cells, " | ")+" |")
}

func (t *table) String() string { return strings.Join(t.lines, "\n") + "\n" }

// ratioTable has the operations of one transport and so many goroutines.
func (r *Report) ratioTable(transport string, goroutines int) string {
	head := []string{"CPU ratio"}
	for _, c := range r.Clients {
		if c.Name != r.Clients[1].Name {
			head = append(head, c.Name)
		}
	}
	t := newTable(append(head, "ours : the fastest other")...)
	for _, row := range r.Rows() {
		if row.Transport != transport || row.Goroutines != goroutines {
			continue
		}
		cells := []string{row.Operation}
		for _, c := range r.Clients {
			if c.Name != r.Clients[1].Name {
				cells = append(cells, r.Ratio(row, c.Name).String())
			}
		}
		peer, ratio := r.Best(row)
		t.row(append(cells, fmt.Sprintf("%s %s, **%s**", peer, ratio, ratio.verdict()))...)
	}
	return t.String()
}

// verdict is how ours stands, by the quartiles.
func (s Spread) verdict() string {
	switch {
	case s.Upper < 1:
		return "ahead"
	case s.Lower > 1:
		return "behind"
	}
	return "level"
}

// memoryTable has what calls through the stub allocate, one after another.
func (r *Report) memoryTable() string {
	head := []string{"B / allocations"}
	for _, c := range r.Clients {
		head = append(head, c.Name)
	}
	t := newTable(head...)
	for _, row := range r.Rows() {
		if row.Transport != "stub" || row.Goroutines != 1 {
			continue
		}
		cells := []string{row.Operation}
		for _, client := range r.Clients {
			c := r.Cell(row, client.Name)
			cells = append(cells, fmt.Sprintf("%s / %d", grouped(float64(c.Bytes)), c.Allocs))
		}
		t.row(cells...)
	}
	return t.String()
}

// timeTable has times for orientation.
func (r *Report) timeTable() string {
	ours, yardstick := r.Clients[0].Name, r.Clients[1].Name
	t := newTable("µs per call", ours+" CPU", ours+" wall", yardstick+" CPU", yardstick+" wall")
	for _, row := range r.Rows() {
		own, other := r.Cell(row, ours), r.Cell(row, yardstick)
		t.row(row.String(), micros(Median(own.CPU)), micros(own.Wall), micros(Median(other.CPU)), micros(other.Wall))
	}
	return t.String()
}

func micros(ns int64) string { return fmt.Sprintf("%.1f", float64(ns)/1000) }

func (r *Report) connectionTable() string {
	t := newTable("connections, median (fewest–most)", "calls", "http", "https", "CPU µs http", "CPU µs https")
	for _, c := range r.Connections {
		if c.Scheme != "http" {
			continue
		}
		secure := r.connections(c.Client, "https", c.Scenario)
		t.row(c.Client+", "+c.Scenario, grouped(float64(c.Calls)), c.Range(), secure.Range(),
			micros(c.CPU), micros(secure.CPU))
	}
	return t.String()
}

func (r *Report) connections(client, scheme, scenario string) Connections {
	for _, c := range r.Connections {
		if c.Client == client && c.Scheme == scheme && c.Scenario == scenario {
			return c
		}
	}
	return Connections{}
}

func (r *Report) writeTable() string {
	t := newTable("writes per request", r.Writes[0].Operation, r.Writes[1].Operation)
	for i := 0; i+1 < len(r.Writes); i += 2 {
		list, create := r.Writes[i], r.Writes[i+1]
		t.row(list.Client, fmt.Sprintf("%.2f", list.PerCall), fmt.Sprintf("%.2f", create.PerCall))
	}
	return t.String()
}

func (r *Report) heapTable() string {
	t := newTable("one call on a large body", "allocated in all", "most at a time", "in all : body or bound",
		"most at a time : body or bound")
	for _, h := range r.Heap {
		t.row(h.Client+", "+h.Body, mebibytes(h.Allocated), mebibytes(h.Peak),
			fmt.Sprintf("%.2f", h.share(h.Allocated)), fmt.Sprintf("%.2f", h.share(h.Peak)))
	}
	return t.String()
}

func (r *Report) fakeTable() string {
	t := newTable("benchmark of package fake", "result")
	if s := r.Service; s != nil {
		t.row("a request over TCP, 64 connections: CPU of the server",
			fmt.Sprintf("%s µs, a constant handler %s µs: ratio %s",
				micros(Median(s.Fake)), micros(Median(s.Constant)), Ratios(s.Fake, s.Constant)))
	}
	for _, b := range r.Fake {
		t.row("`"+b.Name+"`", b.text(", "))
	}
	return t.String()
}
