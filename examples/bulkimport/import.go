package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/petstore/petstore-go"
)

// connector makes a client, as [petstore.NewClientFromEnv] does.
type connector func(...petstore.Option) (*petstore.Client, error)

// importFile imports one file until stop ends. It sends one row at a time, so that a SIGKILL leaves
// at most one row undecided.
func importFile(stop context.Context, path string, connect connector, out io.Writer) error {
	pets, err := readPets(path)
	if err != nil {
		return err
	}
	j, err := openJournal(path + ".journal")
	if err != nil {
		return err
	}
	defer j.file.Close()
	throughJournal := func(base http.RoundTripper) http.RoundTripper {
		j.base = base
		return j
	}
	client, err := connect(petstore.WithStop(stop), petstore.WithTransport(throughJournal))
	for i := 0; i < len(pets) && err == nil; i++ {
		j.row = fmt.Sprintf("%s,%d,%s", pets[i].Name, pets[i].CategoryID, pets[i].Status)
		if known := j.known[j.row]; len(known) > 0 { // two equal rows are two pets
			j.known[j.row] = known[1:]
			j.number[known[0]]++
		} else {
			err = add(client, j, pets[i])
		}
	}
	n := j.number
	fmt.Fprintf(out, "%d created, %d rejected, %d undecided, %d left\n",
		n[created], n[rejected], n[undecided], len(pets)-n[created]-n[rejected]-n[undecided])
	return err
}

const header = "name,categoryId,status"

// readPets returns the pets of a file. It checks all rows by the rules of the service: if one row
// is wrong, none is sent.
func readPets(path string) (pets []petstore.NewPet, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // the byte order mark that spreadsheets write
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(rows) == 0 || strings.Join(rows[0], ",") != header {
		return nil, errors.Join(errors.New("the file is no table that begins with "+header), err)
	}
	for i, row := range rows[1:] {
		name, status := row[0], petstore.PetStatus(row[2])
		category, err := strconv.ParseInt(row[1], 10, 64)
		badName := name == "" || !utf8.ValidString(name) || strings.ContainsAny(name, "\n\t")
		if err != nil || badName || status != "" && !status.Valid() {
			return nil, fmt.Errorf("row %d is no pet, nothing was sent: %.200q", i+1, row)
		}
		pets = append(pets, petstore.NewPet{Name: name, CategoryID: category, Status: status})
	}
	return pets, nil
}

// add adds the pet of the journal's row. After an error, no other row should be sent, since the
// error is about the key, the plan, the service, the network or the journal.
func add(client *petstore.Client, j *journal, pet petstore.NewPet) error {
	result, err := client.CreatePet(context.Background(), pet)
	switch {
	case err == nil:
		return j.end(result.Pet.ID, created)
	case errors.Is(err, petstore.ErrOutcomeUnknown):
		return errors.Join(err, j.end(0, undecided))
	case errors.Is(err, petstore.ErrBadRequest):
		log.Printf("%q is rejected: %v", j.row, err)
		return j.end(0, rejected)
	}
	return errors.Join(err, j.drop())
}
