package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go"
)

// input is a file of rows, read once: a change of the file during the import does no harm.
type input struct {
	file string // without symbolic links: one file has one journal
	sum  string // SHA-256, in hexadecimal
	rows []row
}

// row is one row of the input. Two equal rows are two pets.
type row struct {
	line  int      // where the row begins, from 1; the journal identifies rows by it
	cells []string // name, categoryId and status or, if the row has none, its first KiB
	pet   petstore.NewPet
	err   error // why the row is no pet
}

// readInput reads all rows of a file: a fault of the file has to show before the first create.
func readInput(path string) (*input, error) {
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rows, err := decode(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))) // spreadsheets put it ahead of UTF-8
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &input{file, fmt.Sprintf("%x", sha256.Sum256(text)), rows}, nil
}

// rejectedColumns are those of the report of rejected rows. Once corrected, it can be imported.
var rejectedColumns = []string{"name", "categoryId", "status", "line", "reason"}

// Reports have a ' before a cell that begins with one of these characters, because a spreadsheet
// could run it as a formula.
const formulas = "=+-@＝＋－＠\t\r\n'"

// escape puts the ' before the cells of a report that need it.
func escape(cells []string) []string {
	for i, cell := range cells {
		if strings.IndexAny(cell, formulas) == 0 {
			cells[i] = "'" + cell
		}
	}
	return cells
}

// unescape undoes escape.
func unescape(cells []string) {
	for i, cell := range cells {
		if bare, found := strings.CutPrefix(cell, "'"); found && strings.IndexAny(bare, formulas) == 0 {
			cells[i] = bare
		}
	}
}

func decode(all []byte) (rows []row, err error) {
	reader := csv.NewReader(bytes.NewReader(all))
	header, _ := reader.Read()
	isReport := slices.Equal(header, rejectedColumns)
	if !isReport && !slices.Equal(header, rejectedColumns[:2]) && !slices.Equal(header, rejectedColumns[:3]) {
		return nil, fmt.Errorf("the header is %.100q, not name,categoryId,status or name,categoryId", header)
	}
	for {
		start := reader.InputOffset()
		cells, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		text := bytes.TrimSpace(all[start:reader.InputOffset()])
		if len(text) == 0 {
			continue
		}
		var line int
		if wrong, ok := errors.AsType[*csv.ParseError](err); ok {
			line = wrong.StartLine
		} else {
			line, _ = reader.FieldPos(0)
		}
		if more := bytes.Count(text, []byte("\n")); more > 0 { // such a cell may have swallowed rows
			return nil, fmt.Errorf("line %d: a quote is missing or too much: it runs on to line %d", line, line+more)
		}
		if isReport {
			unescape(cells)
		}
		rows = append(rows, newRow(line, text, append(cells, "", "", "")[:3], err))
	}
}

func newRow(line int, text []byte, cells []string, err error) row {
	if err != nil {
		return row{line: line, cells: []string{string(text[:min(len(text), 1<<10)]), "", ""}, err: err}
	}
	category, err := strconv.ParseInt(cells[1], 10, 64)
	if err != nil {
		return row{line: line, cells: cells, err: fmt.Errorf("categoryId %.100q is not a 64-bit integer", cells[1])}
	}
	pet := petstore.NewPet{Name: cells[0], CategoryID: category, Status: petstore.PetStatus(cells[2])}
	return row{line, cells, pet, nil}
}

const (
	rejectedReport  = ".rejected.csv"
	undecidedReport = ".undecided.csv"
)

// report writes the rows that will not be imported, and those that a person has to decide on.
func (in *input) report(j *journal) error {
	bad := [][]string{rejectedColumns}
	open := [][]string{append(slices.Clone(rejectedColumns), "time")}
	for _, r := range in.rows {
		e := j.row(r.line)
		cells := escape(append(slices.Clone(r.cells), strconv.Itoa(r.line), e.Reason))
		switch e.Event {
		case rejected:
			bad = append(bad, cells)
		case unknown:
			open = append(open, append(cells, e.Time.Format(time.RFC3339)))
		}
	}
	return errors.Join(writeReport(in.file+rejectedReport, bad), writeReport(in.file+undecidedReport, open))
}

// writeReport writes the file at path anew, and never through a link that somebody has planted there.
// Without a row below its header there is no file, not even that of an earlier run.
func writeReport(path string, rows [][]string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(rows) == 1 {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(csv.NewWriter(f).WriteAll(rows), f.Close())
}
