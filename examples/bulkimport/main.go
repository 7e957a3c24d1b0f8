// Bulkimport adds the pets of a CSV file to the service, at the pace of the API key. If Ctrl-C,
// SIGKILL or a full disk ends it, run it again: it loses no row and adds none twice.
//
//	go run ./examples/bulkimport                # 500 rows of a sample into a fake service
//	go run ./examples/bulkimport animals.csv    # into the service at PETSTORE_BASE_URL
//
// Without a file it prints
//
//	500 created, 0 rejected, 0 undecided, 0 left
//
// The first line of the file is name,categoryId,status. If any row is wrong, nothing is sent. Two
// equal rows are two pets. A row is recognised by its text, not by its position. So between two
// runs, you may add rows, and correct rows that were rejected or not sent yet.
//
// animals.csv.journal has a line for each row that was sent, with its outcome. An undecided row,
// whose pet may have been added, stops the import; the next run goes on after it. Look for the pet.
// To send a row again, delete its line from the journal. To send the rows to another service, too,
// copy animals.csv: the copy gets a journal of its own. Nothing locks the journal: run one import
// of a file at a time.
package main

import (
	"context"
	"errors"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func main() {
	stop, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(stop, cancel) // the next signal ends the program
	var err error
	if len(os.Args) > 1 {
		err = importFile(stop, os.Args[1], petstore.NewClientFromEnv, os.Stdout)
	} else {
		err = importSample(stop, os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// importSample imports 500 pets into a fake service, whose limit makes them wait, but not for long.
func importSample(stop context.Context, out io.Writer) error {
	server := fake.NewServer(fake.WithPlan(fake.PlanPro), fake.WithMinute(6*time.Second))
	defer server.Close()
	dir, err := os.MkdirTemp("", "bulkimport")
	defer os.RemoveAll(dir)
	path, text := filepath.Join(dir, "pets.csv"), header+strings.Repeat("\nRex,1,available", 500)
	if err = errors.Join(err, os.WriteFile(path, []byte(text), 0o600)); err != nil {
		return err
	}
	connect := func(opts ...petstore.Option) (*petstore.Client, error) { return server.Client(opts...), nil }
	return importFile(stop, path, connect, out)
}
