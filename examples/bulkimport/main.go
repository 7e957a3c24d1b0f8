// Bulkimport adds the pets of a CSV or JSON Lines file to the service, at the pace of the API key.
// However it ends, it can be run again, and then loses no row and repeats none: see README.md.
package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func main() {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // by nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, func() { // the next signal ends the program
		signal.Ignore(syscall.SIGHUP) // a terminal that goes away sends more than one
		cancel()
	})
	signal.Ignore(syscall.SIGPIPE) // an import goes on without a reader of its output
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// The exit statuses.
const (
	exitCreated = 0 // every row is created, or those of the sample that are meant to be
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
	flags.BoolVar(&o.now, "now", false, "send requests, although by the journal it is not time yet")
	flags.DurationVar(&o.patience, "patience", 5*time.Minute, "how long to wait for a service that is down")
	flags.SetOutput(&text)
	fmt.Fprintln(&text, "usage: bulkimport [flags] [file.csv | file.jsonl]\n"+
		"Adds the pets of a file, pets.csv by default, to the service of PETSTORE_BASE_URL and\n"+
		"PETSTORE_API_KEY. See README.md.")
	flags.PrintDefaults()
	flags.SetOutput(io.Discard)
	switch err = flags.Parse(args); {
	case err != nil:
	case flags.NArg() > 1:
		err = fmt.Errorf("%d arguments are given after the flags: one file can be imported at a time", flags.NArg())
	case o.patience < 0:
		err = errors.New("-patience is negative")
	}
	o.file = cmp.Or(flags.Arg(0), "pets.csv")
	return o, text.String(), err
}

// summary is the outcome of a run.
type summary struct {
	Service   string    `json:"service"`
	Rows      int       `json:"rows"`
	Created   int       `json:"created"`
	Undecided int       `json:"undecided"`
	Rejected  int       `json:"rejected"`
	Left      int       `json:"left"`
	Input     string    `json:"input"`
	Seconds   float64   `json:"seconds"`
	Exit      int       `json:"exit"`
	Error     string    `json:"error"`
	RetryAt   time.Time `json:"retryAt,omitzero"`
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
	s, start := summary{}, time.Now()
	s.Exit, err = o.perform(ctx, &s, results, stderr)
	if s.Input, s.Seconds = o.file, time.Since(start).Seconds(); err != nil {
		s.explain(err)
		fmt.Fprintln(stderr, "bulkimport:", s.Error)
	}
	if o.json {
		_ = json.MarshalWrite(stdout, s)
		fmt.Fprintln(stdout)
	}
	return s.Exit
}

// perform checks the input and imports it. It returns the exit status.
func (o options) perform(ctx context.Context, s *summary, results, stderr io.Writer) (int, error) {
	in, err := readInput(o.file)
	if err != nil {
		return exitUsage, err
	}
	if s.Rows = in.rows; o.dryRun {
		s.Rejected = in.check(results)
		fmt.Fprintf(results, "%d rows: %d pets, %d to be rejected\n", s.Rows, s.Rows-s.Rejected, s.Rejected)
		return s.status(), nil
	}
	to, err := chooseService(o.fake, bytes.Equal(in.text, sample))
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
	if bytes.Equal(in.text, sample) && s.Rejected == 3 && s.Undecided == 0 {
		fmt.Fprintln(results, "These three rows of the sample are wrong on purpose.")
		return exitCreated, nil
	}
	return s.status(), nil
}

func (s *summary) status() int {
	if s.Rejected+s.Undecided > 0 {
		return exitDone
	}
	return exitCreated
}

// explain takes over why an import ended, and how to go on.
func (s *summary) explain(err error) {
	s.Error = err.Error()
	if limited, ok := errors.AsType[*petstore.RateLimitError](err); ok && !limited.RetryAt.IsZero() {
		s.RetryAt = limited.RetryAt
		s.Error += ": run it again after " + s.RetryAt.Format(time.RFC1123) + ", or with -now for another key or plan"
	} else if s.Exit == exitStopped {
		s.Error += ": run it again to go on"
	}
}

// check prints why rows would be rejected, and returns how many.
func (in *input) check(w io.Writer) (rejected int) {
	client, _ := petstore.NewClient("https://not.called/v1", "none")
	ended, cancel := context.WithCancel(context.Background())
	cancel() // the client checks a pet, and then sends none
	for r := range in.all() {
		err := r.err
		if err == nil {
			_, err = client.CreatePet(ended, r.pet)
		}
		if r.err != nil || refusesRow(err) {
			rejected++
			fmt.Fprintf(w, "line %d: %s\n", r.line, reason(err))
		}
	}
	return rejected
}

// service is where the pets go.
type service struct {
	name    string // in the journal
	connect func(...petstore.Option) (*petstore.Client, error)
	close   func()
}

//go:embed pets.csv
var sample []byte

// chooseService returns the service that the environment names, or a fake one where it cannot be
// mistaken for the real one: on request, or for the example's own input if nothing is set.
func chooseService(fakeIt, isSample bool) (service, error) {
	baseURL := os.Getenv("PETSTORE_BASE_URL")
	named := baseURL + os.Getenv("PETSTORE_API_KEY") + os.Getenv("PETSTORE_API_KEY_FILE")
	if fakeIt || named == "" && isSample {
		// A limit that 500 rows wait for, but not for long.
		server := fake.NewServer(fake.WithPlan(fake.PlanPro), fake.WithMinute(6*time.Second),
			fake.WithLatency(20*time.Millisecond))
		connect := func(opts ...petstore.Option) (*petstore.Client, error) { return server.Client(opts...), nil }
		return service{"a fake in memory", connect, server.Close}, nil
	} else if baseURL == "" {
		return service{}, errors.New("PETSTORE_BASE_URL is not set; -fake imports into a fake service in memory")
	}
	return service{strings.TrimSuffix(baseURL, "/"), petstore.NewClientFromEnv, func() {}}, nil
}
