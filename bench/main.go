// Command bench compares the client of this repository with what one could use instead, and prints what
// calls cost: CPU time, memory, allocations, connections. Run it in this folder:
//
//	go run .            everything, some minutes
//	go run . -quick     a look, under a minute once built
//	go run . -update    everything, and keeps it: results/, ../docs/benchmarks.md and its plot
//	go run . -render    writes the document and the plot anew from what was kept
//
// GOTOOLCHAIN=go1.27.4 before it measures another toolchain. The clients of ogen and oapi-codegen are
// generated from ../openapi.yaml and compiled into a second program, outside of the tree; after
// go mod download that needs no network.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/petstore/petstore-go/bench/internal/peer"
	"github.com/petstore/petstore-go/bench/internal/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := start(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	quick, update, render bool
	rounds                int
	only                  string
	// For the programs that this one starts.
	drive, check bool
	serve        string
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.BoolVar(&o.quick, "quick", false, "measure little, for a look")
	flags.BoolVar(&o.update, "update", false, "keep the results and write the document and the plot")
	flags.BoolVar(&o.render, "render", false, "write the document and the plot from kept results")
	flags.IntVar(&o.rounds, "rounds", 0, "number of rounds, if not the usual one")
	flags.StringVar(&o.only, "only", "", "parts, by comma: calls, connections, writes, heap, service, fake")
	flags.BoolVar(&o.drive, "drive", false, "measure in this process and write JSON")
	flags.BoolVar(&o.check, "check", false, "only see that every client does its job")
	flags.StringVar(&o.serve, "serve", "", "be a server: canned or fake")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, errors.New("there are no arguments, only flags")
	case o.update && (o.quick || o.only != ""):
		return o, errors.New("-update keeps whole runs only")
	}
	return o, nil
}

func start(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	switch {
	case o.serve != "":
		return serve(ctx, o.serve, in, out)
	case o.check:
		return check(ctx)
	case o.drive:
		return driveTo(ctx, o.plan(), out)
	}
	t, err := findTree(ctx)
	if err != nil {
		return err
	}
	if o.render {
		return t.document()
	}
	return t.orchestrate(ctx, o, out)
}

func (o options) plan() plan {
	p := fullPlan()
	if o.quick {
		p = quickPlan()
	}
	if o.rounds > 0 {
		p.Rounds = o.rounds
	}
	if o.only != "" {
		p.Only = strings.Split(o.only, ",")
	}
	return p
}

func driveTo(ctx context.Context, p plan, out io.Writer) error {
	r, err := p.drive(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(r)
}

// orchestrate builds the driver, lets it measure and shows what it found.
func (t tree) orchestrate(ctx context.Context, o options, out io.Writer) error {
	tmp, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	driver, err := t.build(ctx, tmp)
	if err != nil {
		return err
	}
	r, err := t.measure(ctx, driver, o)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(out, report.Text(r)); err != nil || !o.update {
		return err
	}
	if err := r.Save(t.results()); err != nil {
		return err
	}
	return t.document()
}

func (t tree) measure(ctx context.Context, driver string, o options) (*report.Report, error) {
	args := []string{
		"-drive", fmt.Sprintf("-quick=%t", o.quick), fmt.Sprintf("-rounds=%d", o.rounds), "-only=" + o.only,
	}
	var text strings.Builder
	if err := runWith(ctx, t.bench, &text, os.Stderr, driver, args...); err != nil {
		return nil, err
	}
	r := new(report.Report)
	if err := json.Unmarshal([]byte(text.String()), r); err != nil {
		return nil, err
	}
	if err := t.addVersions(ctx, r); err != nil {
		return nil, err
	}
	if !o.plan().has("fake") {
		return r, nil
	}
	benchtime := "1s"
	if o.quick {
		benchtime = "10x"
	}
	var err error
	r.Fake, err = t.benchmarkFake(ctx, benchtime)
	return r, err
}

// addVersions names the versions that go.mod asks for.
func (t tree) addVersions(ctx context.Context, r *report.Report) error {
	modules := map[string]string{
		"oapi-codegen": "github.com/oapi-codegen/oapi-codegen/v2", "ogen": "github.com/ogen-go/ogen",
	}
	for _, p := range peer.Peers() {
		modules[p.Name] = p.Module
	}
	for i, c := range r.Clients {
		if modules[c.Name] == "" {
			continue
		}
		version, err := run(ctx, t.bench, "go", "list", "-m", "-f", "{{.Version}}", modules[c.Name])
		if err != nil {
			return err
		}
		r.Clients[i].Version = strings.TrimSpace(version)
	}
	return nil
}

func (t tree) results() string { return filepath.Join(t.bench, "results") }

// document writes what is for readers.
func (t tree) document() error {
	reports, err := report.Load(t.results())
	if err != nil {
		return err
	}
	if len(reports) == 0 {
		return errors.New("there are no results yet; -update makes them")
	}
	docs := filepath.Join(t.root, "docs")
	if err := os.MkdirAll(docs, 0o755); err != nil { //nolint:gosec // documents are for everybody
		return err
	}
	for name, text := range report.Documents(reports) {
		if err := os.WriteFile(filepath.Join(docs, name), []byte(text), 0o644); err != nil { //nolint:gosec // likewise
			return err
		}
	}
	return nil
}
