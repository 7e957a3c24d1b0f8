package sim

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed limiter.md.tmpl
var prose string

// document is what docs/limiter.md shows besides its prose: a table for each suite, by its name.
type document struct {
	Seeds, Runs        int
	Contenders, Misses string
	Table              map[string]string
}

const documentName = "limiter.md"

// newDocument returns the document of the groups of all suites.
func newDocument(seeds int, groups map[string][]group, misses string) document {
	d := document{Seeds: seeds, Misses: misses, Table: map[string]string{}}
	for _, s := range suites(defaultSeed) {
		d.Table[s.name] = s.summary(groups[s.name])
		for _, g := range groups[s.name] {
			for _, t := range g.totals {
				d.Runs += t.runs
			}
		}
	}
	for _, k := range contenders() {
		d.Contenders += fmt.Sprintf("- **%s**: %s.\n", k.name, k.text)
	}
	return d
}

// write puts the document into a folder.
func (d document) write(folder string) error {
	t, err := template.New(documentName).Parse(prose)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := t.Execute(&b, d); err != nil {
		return err
	}
	path := filepath.Join(folder, documentName)
	return os.WriteFile(path, []byte(b.String()), 0o644) //nolint:gosec // for all to read
}

// writeCSV puts the groups of a suite into a file of a folder.
func (s suite) writeCSV(folder string, groups []group) error {
	var b strings.Builder
	if err := csv.NewWriter(&b).WriteAll(s.csv(groups)); err != nil {
		return err
	}
	path := filepath.Join(folder, s.name+".csv")
	return os.WriteFile(path, []byte(b.String()), 0o644) //nolint:gosec // for all to read
}
