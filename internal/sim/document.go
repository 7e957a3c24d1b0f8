package sim

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed limiter.md.tmpl
var prose string

// report is what docs/limiter.md tells besides its prose.
type report struct {
	Seed       uint64
	Contenders string
	Cells      int // of petstore-go
	Runs       int // of all contenders
	Summary    string
	Table      string
	Misses     string
	Loads      string // the table of added latency
	LoadCount  int
	Herds      string // the table of processes
	PlotCell   string
}

func newReport(seed uint64, rows []row, misses []missed, loads []loadRow, herds []herdRow) report {
	r := report{Seed: seed, Cells: len(rows), PlotCell: plotCell(seed).title()}
	for _, k := range contenders() {
		r.Contenders += fmt.Sprintf("- **%s**: %s.\n", k.name, k.text)
	}
	for _, row := range rows {
		r.Runs += len(row.results)
	}
	r.Summary, r.Table = markdown(summary(rows)), markdown(table(rows))
	for _, m := range misses {
		r.Misses += fmt.Sprintf("- `%s`: %s.\n", m.cell, strings.Join(m.texts, ", "))
	}
	r.Loads, r.LoadCount, r.Herds = markdown(loadTable(loads)), len(loads), markdown(herdTable(herds))
	return r
}

// missed is where a cell falls short of its figures.
type missed struct {
	cell  cell
	texts []string
}

const (
	documentName = "limiter.md"
	plotName     = "limiter.svg"
)

// write puts the document into a folder.
func (r report) write(folder string) error {
	t, err := template.New(documentName).Parse(prose)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := t.Execute(&b, r); err != nil {
		return err
	}
	path := filepath.Join(folder, documentName)
	return os.WriteFile(path, []byte(b.String()), 0o644) //nolint:gosec // for all to read
}
