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
//	500 created, 0 rejected, 0 undecided, 0 left
package main

import (
	"context"
	"errors"
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

const (
	exitCreated = 0 // every row is created
	exitLeft    = 1 // rows are left: run it again
	exitUsage   = 2 // nothing was begun
	exitDone    = 3 // no row is left, some are rejected or undecided
)

func main() {
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE) // an import goes on without a reader of its output
	stop, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(stop, cancel) // the next signal ends the program
	status, err := exitUsage, errors.New("it takes one file")
	switch len(os.Args) {
	case 1:
		status, err = importSample(stop, os.Stdout)
	case 2:
		status, err = importFile(stop, os.Args[1], petstore.NewClientFromEnv, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bulkimport:", err)
	}
	os.Exit(status)
}

// importSample imports 500 pets into a fake service, whose limit makes them wait, but not for long.
func importSample(stop context.Context, out io.Writer) (int, error) {
	server := fake.NewServer(fake.WithPlan(fake.PlanPro), fake.WithMinute(6*time.Second))
	defer server.Close()
	dir, err := os.MkdirTemp("", "bulkimport")
	path, rows := filepath.Join(dir, "pets.csv"), strings.Repeat("\nRex,1,available", 500)
	if err = errors.Join(err, os.WriteFile(path, []byte(header+rows), 0o600)); err != nil {
		return exitUsage, err
	}
	connect := func(opts ...petstore.Option) (*petstore.Client, error) { return server.Client(opts...), nil }
	return importFile(stop, path, connect, out)
}

// connector makes a client, as [petstore.NewClientFromEnv] does.
type connector func(...petstore.Option) (*petstore.Client, error)

// importFile imports one file until stop ends. It returns the exit status.
func importFile(stop context.Context, path string, connect connector, out io.Writer) (int, error) {
	j := &job{out: out}
	if err := j.begin(stop, path, connect); err != nil {
		return exitUsage, err
	}
	defer j.journal.file.Close()
	err := j.addPets(stop)
	return j.report(), err
}
