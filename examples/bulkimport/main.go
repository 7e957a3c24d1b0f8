// Bulkimport adds the pets of a CSV or JSON Lines file to the service, at the pace of the API key.
// However it ends, it can be run again, and then loses no row and repeats none: see README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/petstore/petstore-go"
)

func main() {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // by nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, func() { // the next signal ends the program
		signal.Ignore(syscall.SIGHUP) // a terminal that goes away says so more than once
		cancel()
	})
	debug.SetGCPercent(50)         // a million rows are some 100 MB, and little of that is garbage
	signal.Ignore(syscall.SIGPIPE) // an import does not end because nobody reads what it prints
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// The exit statuses.
const (
	exitCreated = 0 // every row is created
	exitStopped = 1 // rows are left: run it again
	exitUsage   = 2 // nothing was begun
	exitDone    = 3 // no row is left, some are rejected or undecided
)

type options struct {
	file, dir               string
	fake, dryRun, json, now bool
	patience                time.Duration
}

// parse returns the options of a command line, and the help.
func parse(args []string) (o options, help string, err error) {
	var text strings.Builder
	flags := flag.NewFlagSet("bulkimport", flag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", "", "`folder` of the journal and the reports (default: the input's)")
	flags.BoolVar(&o.fake, "fake", false, "import into a fake service in memory")
	flags.BoolVar(&o.dryRun, "dry-run", false, "only check the input")
	flags.BoolVar(&o.json, "json", false, "print a summary as JSON on stdout, all else on stderr")
	flags.BoolVar(&o.now, "now", false, "ask the service, although by the journal it is not time yet")
	flags.DurationVar(&o.patience, "patience", 5*time.Minute, "wait so long for a service that is down")
	flags.SetOutput(&text)
	fmt.Fprintln(&text, "usage: bulkimport [flags] [file.csv | file.jsonl]\n"+
		"Adds the pets of a file, pets.csv unless given, to the service that PETSTORE_BASE_URL\n"+
		"and PETSTORE_API_KEY name. See README.md.")
	flags.PrintDefaults()
	flags.SetOutput(io.Discard)
	var files []string
	for err = flags.Parse(args); err == nil && flags.NArg() > 0; err = flags.Parse(flags.Args()[1:]) {
		files = append(files, flags.Arg(0))
	}
	if err == nil && len(files) > 1 {
		err = fmt.Errorf("%d files are given, and one can be imported at a time", len(files))
	} else if err == nil && o.patience < 0 {
		err = errors.New("-patience is negative")
	}
	o.file = append(files, "pets.csv")[0]
	return o, text.String(), err
}

// summary is what came of a run.
type summary struct {
	Service                                  string
	Rows, Created, Undecided, Rejected, Left int
}

// run is the program: results go to stdout, progress and failures to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, help, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, help)
		return exitCreated
	} else if err != nil {
		fmt.Fprintf(stderr, "bulkimport: %v\n%s", err, help)
		return exitUsage
	}
	results := stdout
	if o.json {
		results = stderr
	}
	var s summary
	start := time.Now()
	status, err := o.perform(ctx, &s, results, stderr)
	reason := ""
	if status == exitStopped {
		reason = advice(err)
		fmt.Fprintln(stderr, "stopped:", reason)
	} else if err != nil {
		reason = err.Error()
		fmt.Fprintln(stderr, "bulkimport:", reason)
	}
	if o.json {
		object := map[string]any{
			"input": o.file, "service": s.Service, "rows": s.Rows, "created": s.Created, "undecided": s.Undecided,
			"rejected": s.Rejected, "left": s.Left, "seconds": time.Since(start).Seconds(),
			"exit": status, "error": reason,
		}
		if limited, ok := errors.AsType[*petstore.RateLimitError](err); ok && !limited.RetryAt.IsZero() {
			object["retryAt"] = limited.RetryAt
		}
		_ = json.MarshalWrite(stdout, object, json.Deterministic(true))
		fmt.Fprintln(stdout)
	}
	return status
}

// perform checks the input and imports it. It returns the exit status.
func (o options) perform(ctx context.Context, s *summary, results, stderr io.Writer) (int, error) {
	in := &input{path: o.file}
	judge := func(row) {}
	if o.dryRun {
		judge = dryRun(s, results)
	}
	if err := in.check(judge); err != nil {
		return exitUsage, err
	}
	if o.dryRun {
		s.Rows = in.rows
		fmt.Fprintf(results, "%d rows: %d pets, %d to be rejected\n", s.Rows, s.Rows-s.Rejected, s.Rejected)
		return s.exit(), nil
	}
	to, err := chooseService(o.fake, in.isSample())
	if err != nil {
		return exitUsage, err
	}
	defer to.close()
	j, err := newJob(ctx, in, to, o)
	if err != nil {
		return exitUsage, err
	}
	if err := j.run(ctx, s, results, stderr); err != nil {
		return exitStopped, err
	}
	return s.exit(), nil
}

func (s *summary) exit() int {
	if s.Rejected+s.Undecided > 0 {
		return exitDone
	}
	return exitCreated
}

// dryRun returns a function that prints why a row would be rejected, if it would.
func dryRun(s *summary, w io.Writer) func(row) {
	client, _ := petstore.NewClient("https://not.called/v1", "none")
	ended, cancel := context.WithCancel(context.Background())
	cancel() // the client checks a pet, and then sends none
	return func(r row) {
		if r.err == nil {
			_, r.err = client.CreatePet(ended, r.pet)
		}
		if r.cells != nil || refusesRow(r.err) {
			s.Rejected++
			fmt.Fprintf(w, "line %d: %s\n", r.line, reason(r.err))
		}
	}
}
