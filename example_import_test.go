package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// addOnce adds pets, each at most once, also if it runs several times: it writes each create to the
// journal before it sends it, and does not repeat one whose outcome is unknown. The names of the
// pets must be different.
func addOnce(client *petstore.Client, journal *os.File, names ...string) error {
	before, err := os.ReadFile(journal.Name())
	if err != nil {
		return err
	}
	last := map[string]string{}
	for line := range strings.Lines(string(before)) {
		event, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		last[name] = event
	}
	for _, name := range names {
		if last[name] != "" && last[name] != "unsent" {
			continue // "sending" too: the program died then, and the pet may be there
		}
		fmt.Fprintln(journal, "sending", name)
		if err := journal.Sync(); err != nil {
			return err
		}
		event := "created"
		_, err := client.CreatePet(context.Background(), petstore.NewPet{Name: name, CategoryID: 1})
		if errors.Is(err, petstore.ErrOutcomeUnknown) {
			event = "unknown" // somebody has to check
		} else if err != nil {
			event = "unsent" // the service did not add the pet: the next run sends it
		}
		fmt.Fprintln(journal, event, name)
	}
	return nil
}

// An import that can be run again loses no pet and adds none twice. The program in
// examples/bulkimport does this for files of any size.
func ExampleClient_CreatePet_import() {
	server := fake.NewServer()
	defer server.Close()
	// The service adds the second pet, but its response is lost. It refuses the third request.
	server.Inject(fake.Fault{Skip: 1, AfterCommit: true, Wire: fake.WireReset})
	server.Inject(fake.Fault{Skip: 1, Status: 401})
	journal, err := os.CreateTemp("", "journal")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.Remove(journal.Name()) }()
	for range 2 { // the second run is a restart
		if err := addOnce(server.Client(), journal, "Rex", "Mimi", "Balu"); err != nil {
			log.Fatal(err)
		}
	}
	content, err := os.ReadFile(journal.Name())
	fmt.Print(string(content))
	fmt.Println(len(server.Pets()), "pets", err)
	// Output:
	// sending Rex
	// created Rex
	// sending Mimi
	// unknown Mimi
	// sending Balu
	// unsent Balu
	// sending Balu
	// created Balu
	// 3 pets <nil>
}
