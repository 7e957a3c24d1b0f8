package main

import (
	"context"
	"encoding/csv"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/petstore/petstore-go"
)

// maxText is how much of a rejected row its report repeats; the rest stands in the input.
const maxText = 1 << 10

// writeRejected writes the rows that are not going to be imported, with the reason why.
func (im *importer) writeRejected(path string) error {
	table := [][]string{{"line", "reason", "row"}}
	for _, r := range im.rows {
		if e := im.journal.row(r.line); e.Event == rejected {
			table = append(table, []string{strconv.Itoa(r.line), e.Reason, r.text[:min(len(r.text), maxText)]})
		}
	}
	return writeTable(path, table)
}

// writeUndecided writes the rows that a person has to decide on, with what the catalogue tells.
func (im *importer) writeUndecided(ctx context.Context, path string) error {
	var rows []row
	var pets []petstore.NewPet
	alike := map[petstore.NewPet]int{}
	mine := map[int64]bool{}
	for _, r := range im.rows {
		switch e := im.journal.row(r.line); {
		case e.undecided():
			rows, pets = append(rows, r), append(pets, r.pet)
			alike[r.pet]++
		case e.Event == created:
			mine[e.ID] = true
		}
	}
	table := [][]string{{"line", "name", "categoryId", "status", "time", "reason", "listPets"}}
	seen := readCatalogue(ctx, im.client, pets, mine)
	for _, r := range rows {
		e := im.journal.row(r.line)
		told := seen.tell(r.pet)
		if n := alike[r.pet]; n > 1 {
			told += "; " + strconv.Itoa(n) + " undecided rows are alike"
		}
		table = append(table, []string{
			strconv.Itoa(r.line), r.pet.Name, strconv.FormatInt(r.pet.CategoryID, 10), string(r.pet.Status),
			e.Time.Format(time.RFC3339), e.Reason, told,
		})
	}
	return writeTable(path, table)
}

// writeTable replaces the file at path as a whole: whoever reads it sees the old one or the new one. If there is
// nothing below the head of the table there is no file: that of an import whose journal was removed tells of nothing.
func writeTable(path string, table [][]string) error {
	if len(table) == 1 {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	// The name is fixed, so that the next run overwrites what a killed one leaves.
	draft := path + ".tmp"
	f, err := os.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) //nolint:gosec // the user names it
	if err != nil {
		return err
	}
	if err := errors.Join(csv.NewWriter(f).WriteAll(table), f.Close()); err != nil {
		return errors.Join(err, os.Remove(draft))
	}
	return os.Rename(draft, path)
}
