package sim

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"
)

//go:embed limiter.md.tmpl
var prose string

// document is what docs/limiter.md shows besides its prose.
type document struct {
	Seed                             uint64
	Runs, Loads                      int
	Contenders, Misses               string
	Example, ExampleTitle            string
	ExampleBound                     time.Duration
	JobSummary, JobTable, Load, Herd string
}

const documentName = "limiter.md"

// newDocument returns the document of the results of all suites and of the example's cell.
func newDocument(seed uint64, rows map[string][]row, example row, misses string) document {
	job, load, herd := jobs(seed), loads(seed), herds(seed)
	d := document{
		Seed: seed, Loads: len(rows[load.name]), Misses: misses,
		Example: job.progress(example), ExampleTitle: example.cell.title(),
		ExampleBound: example.results[0].bound.Truncate(time.Second),
		JobTable:     job.listing(rows[job.name]),
		JobSummary:   job.summary(listed(rows[job.name]), byCondition, jobEntry, "condition", "what"),
		Load:         load.summary(rows[load.name], byPattern, loadEntry, "pattern", "plan"),
		Herd:         herd.summary(rows[herd.name], byProcesses, herdEntry, "processes"),
	}
	for _, k := range job.contenders {
		d.Contenders += fmt.Sprintf("- **%s**: %s.\n", k.name, k.text)
	}
	for _, row := range rows[job.name] {
		d.Runs += len(row.results)
	}
	return d
}

func byCondition(c cell) []string { return []string{c.condition.name, c.condition.text} }
func byPattern(c cell) []string   { return []string{c.load.text, fmt.Sprint(c.perMinute)} }
func byProcesses(c cell) []string { return []string{fmt.Sprint(c.condition.clients)} }

func listed(rows []row) []row {
	var found []row
	for _, r := range rows {
		if r.cell.listed() {
			found = append(found, r)
		}
	}
	return found
}

func (c cell) title() string {
	return fmt.Sprintf("%d requests by %d goroutines; the key has %d a minute in %s windows",
		c.items(), c.goroutines, c.perMinute, windowName(c.window))
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
