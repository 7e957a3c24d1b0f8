// Bulkimport adds the pets of a CSV file to the service, at the pace of the API key. However it
// ends, it can be run again, and then loses no row and adds none twice: see README.md.
//
//	go run ./examples/bulkimport                # 500 rows of a sample into a fake service
//	go run ./examples/bulkimport animals.csv    # into the service at PETSTORE_BASE_URL
//
// Without a file it prints
//
//	...
//	450 of 500 rows
//	500 of 500 rows
//	500 rows: 497 created, 0 undecided, 3 rejected, 0 left
//	...
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// The exit statuses.
const (
	exitCreated = 0 // every row is created, or those of the sample that are meant to be
	exitStopped = 1 // rows are left: run it again
	exitUsage   = 2 // nothing was begun
	exitDone    = 3 // no row is left, some are rejected or undecided
)

func main() {
	now := flag.Bool("now", false, "send requests, although by the journal it is not time yet")
	flag.Parse()
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE) // an import goes on without a reader of its output
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, cancel) // the next signal ends the program
	status, err := exitUsage, errors.New("one file can be imported at a time, and -now stands before it")
	switch flag.NArg() {
	case 0:
		status, err = runSample(ctx, os.Stdout)
	case 1:
		to := service{strings.TrimSuffix(os.Getenv("PETSTORE_BASE_URL"), "/"), petstore.NewClientFromEnv}
		status, err = runFile(ctx, flag.Arg(0), to, *now, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bulkimport:", err)
	}
	os.Exit(status)
}

// service is where the pets go.
type service struct {
	name    string // in the journal
	connect func(...petstore.Option) (*petstore.Client, error)
}

// runFile imports one file. It returns the exit status.
func runFile(ctx context.Context, path string, to service, now bool, out io.Writer) (int, error) {
	in, err := readInput(path)
	if err != nil {
		return exitUsage, err
	}
	j, err := newJob(ctx, in, to, now, out)
	if err != nil {
		return exitUsage, err
	}
	err = j.run(ctx)
	limited, ok := errors.AsType[*petstore.RateLimitError](err)
	switch {
	case ok && !limited.RetryAt.IsZero():
		return exitStopped, fmt.Errorf("%w: run it again after %s, or with -now for another key or plan",
			err, limited.RetryAt.Format(time.RFC1123))
	case err != nil:
		return exitStopped, fmt.Errorf("%w: run it again to go on", err)
	case j.journal.number(rejected, unknown) > 0:
		return exitDone, nil
	}
	return exitCreated, nil
}

//go:embed pets.csv
var sample []byte

// runSample imports the sample into a fake service, in a new folder, where the user can look at the
// journal and the reports. Three of its rows are wrong on purpose.
func runSample(ctx context.Context, out io.Writer) (int, error) {
	server := fake.NewServer(fake.WithPlan(fake.PlanPro), fake.WithMinute(6*time.Second),
		fake.WithLatency(20*time.Millisecond)) // a limit that 500 rows wait for, but not for long
	defer server.Close()
	connect := func(opts ...petstore.Option) (*petstore.Client, error) { return server.Client(opts...), nil }
	dir, err := os.MkdirTemp("", "bulkimport")
	path := filepath.Join(dir, "pets.csv")
	if err = errors.Join(err, os.WriteFile(path, sample, 0o600)); err != nil {
		return exitUsage, err
	}
	status, err := runFile(ctx, path, service{"a fake", connect}, false, out)
	if status == exitDone {
		status = exitCreated
	}
	return status, err
}
