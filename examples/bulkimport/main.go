// Bulkimport adds the pets of a CSV or JSON Lines file to the service, at the pace of the API key. However it
// ends, it can be run again, and then loses no row and repeats none.
//
//	go run .                 # pets.csv, into a fake service in memory
//	go run . -chaos          # the same, with answers that get lost
//	go run . -dir out pets.csv
//
// See README.md for the files it reads and writes. To import into a real service set PETSTORE_BASE_URL and
// PETSTORE_API_KEY.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx := untilSignal()
	// An import does not end because nobody reads any more what it prints.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// untilSignal returns a context that the first signal ends, which stops the import; the second ends the program.
// A terminal that goes away says so more than once.
func untilSignal() context.Context {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // by nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, func() {
		signal.Ignore(syscall.SIGHUP)
		cancel()
	})
	return ctx
}

// The exit statuses.
const (
	exitDone    = 0 // every row is created, rejected or undecided
	exitStopped = 1 // rows are left: run it again
	exitUsage   = 2 // nothing was begun
)

// run is the program: results go to stdout, progress and failures to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("bulkimport", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("dir", "", "folder of the journal and the reports (default: the input's)")
	chaos := flags.Bool("chaos", false, "have the fake service lose requests and answers")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: bulkimport [-dir folder] [-chaos] [file.csv | file.jsonl]")
		fmt.Fprintln(stderr, "Adds the pets of a file, pets.csv unless given, to the service that "+
			"PETSTORE_BASE_URL\nand PETSTORE_API_KEY name, or else to a fake one. See README.md.")
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitDone
	case err != nil:
		return exitUsage
	case flags.NArg() > 1:
		flags.Usage()
		return exitUsage
	}
	input := "pets.csv"
	if flags.NArg() == 1 {
		input = flags.Arg(0)
	}
	to, err := chooseService(*chaos)
	if err != nil {
		fmt.Fprintln(stderr, "bulkimport:", err)
		return exitUsage
	}
	defer to.close()
	begun, err := newJob(input, *dir).run(ctx, to, stdout, stderr)
	switch {
	case err == nil:
		return exitDone
	case !begun:
		fmt.Fprintln(stderr, "bulkimport:", err)
		return exitUsage
	}
	fmt.Fprintln(stderr, "stopped:", advice(err))
	return exitStopped
}
