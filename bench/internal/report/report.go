// Package report turns what was measured into ratios, tables, a document and a plot.
package report

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Report is everything that one run on one toolchain has measured.
type Report struct {
	Toolchain   string // go1.26.8
	Platform    string // linux/amd64, 2 CPUs
	Date        string
	Rounds      int
	Clients     []Client // ours first, the yardstick second
	Cells       []Cell
	Stub        Cell // what the stub itself takes: part of every client's memory
	Connections []Connections
	Writes      []Writes
	Heap        []Heap
	Service     *Service
	Fake        []Benchmark
}

// Client is a client that was measured, with its version.
type Client struct{ Name, Version string }

// Row is a row of the tables: an operation under certain conditions.
type Row struct {
	Transport  string // stub or TCP
	Goroutines int
	Operation  string
}

// Cell is what a client needed for the operation of a row. CPU has a value for each round, and the n-th
// rounds of all clients were measured side by side; the others are medians.
type Cell struct {
	Row
	Client string
	CPU    []int64 // ns per call
	Wall   int64   // ns per call
	Bytes  int64
	Allocs int64
}

// Connections is how many connections a server saw.
type Connections struct {
	Client   string
	Scheme   string // http or https
	Scenario string
	Calls    int
	Opened   []int // one for each run
	CPU      int64 // ns per call, both sides; the median
}

// Writes is how often a client wrote to its socket for one request.
type Writes struct {
	Client    string
	Operation string
	PerCall   float64
}

// Heap is what one call on a large body took.
type Heap struct {
	Client    string
	Body      string // what the answer was
	Reference int64  // the length of the body or, if it has no end, the bound
	Allocated int64  // in all
	Peak      int64  // of the live and not yet collected, as sampled
}

// Service is the CPU time that a server needs for a request, for the fake and a constant handler.
type Service struct{ Fake, Constant []int64 }

// Benchmark is a result line of go test -bench.
type Benchmark struct {
	Name    string
	Metrics []Metric
}

// Metric is a number of a Benchmark with its unit.
type Metric struct {
	Value float64
	Unit  string
}

// Series is the part of a toolchain's version that names its results: go1.26 of go1.26.8.
func (r *Report) Series() string {
	parts := strings.SplitN(r.Toolchain, ".", 3)
	if len(parts) < 2 {
		return r.Toolchain
	}
	return parts[0] + "." + parts[1]
}

// Rows returns the rows that were measured, in that order.
func (r *Report) Rows() []Row {
	var rows []Row
	for _, c := range r.Cells {
		if !slices.Contains(rows, c.Row) {
			rows = append(rows, c.Row)
		}
	}
	return rows
}

// Cell returns what a client needed in a row, nil if that was not measured.
func (r *Report) Cell(row Row, client string) *Cell {
	for i := range r.Cells {
		if r.Cells[i].Row == row && r.Cells[i].Client == client {
			return &r.Cells[i]
		}
	}
	return nil
}

// Ratio compares a client with the yardstick.
func (r *Report) Ratio(row Row, client string) Spread {
	own, yardstick := r.Cell(row, client), r.Cell(row, r.Clients[1].Name)
	if own == nil || yardstick == nil {
		return Spread{}
	}
	return Ratios(own.CPU, yardstick.CPU)
}

// Best compares ours, round by round, with the peer that was fastest in a row.
func (r *Report) Best(row Row) (peer string, ratio Spread) {
	fastest := int64(math.MaxInt64)
	for _, client := range r.Clients[1:] {
		c := r.Cell(row, client.Name)
		if c == nil || Median(c.CPU) >= fastest {
			continue
		}
		peer, fastest = client.Name, Median(c.CPU)
		ratio = Ratios(r.Cell(row, r.Clients[0].Name).CPU, c.CPU)
	}
	return peer, ratio
}

// Save writes the report to the file of its series below dir.
func (r *Report) Save(dir string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, r.Series()+".json"), append(compact(text), '\n'), 0o600)
}

// compact puts lists of numbers on one line each.
func compact(text []byte) []byte {
	var out strings.Builder
	inList := false
	for line := range strings.Lines(string(text)) {
		trimmed := strings.TrimSpace(line)
		if inList {
			line = " " + trimmed
			if inList = !strings.HasPrefix(trimmed, "]"); !inList {
				line += "\n"
			}
			out.WriteString(strings.Replace(line, " ]", "]", 1))
			continue
		}
		if strings.HasSuffix(trimmed, "\": [") && listOfNumbers(trimmed) {
			inList = true
			line = strings.TrimRight(line, "\n")
		}
		out.WriteString(line)
	}
	return []byte(out.String())
}

func listOfNumbers(line string) bool {
	for _, name := range []string{"CPU", "Opened", "Fake", "Constant"} {
		if strings.HasPrefix(line, `"`+name+`"`) {
			return true
		}
	}
	return false
}

// Load reads the reports below dir, by series.
func Load(dir string) ([]*Report, error) {
	names, err := filepath.Glob(filepath.Join(dir, "go*.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var reports []*Report
	for _, name := range names {
		text, err := os.ReadFile(name) //nolint:gosec // of a folder in this repository
		if err != nil {
			return nil, err
		}
		r := new(Report)
		if err := json.Unmarshal(text, r); err != nil {
			return nil, err
		}
		reports = append(reports, r)
	}
	return reports, nil
}
