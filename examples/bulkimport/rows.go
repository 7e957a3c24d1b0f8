package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/petstore/petstore-go"
)

// input is a file of rows. Its text stays in memory, so that a change of the file during the import
// does no harm.
type input struct {
	path string // as the user named it
	file string // the same without symbolic links: one file has one journal
	text []byte
	sum  string // SHA-256 of the text, in hexadecimal
	rows int
}

// readInput reads a file, and all of its rows: a fault of the file has to show before the first
// create.
func readInput(path string) (*input, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the user names it
	if err != nil {
		return nil, err
	}
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	in := &input{path: path, file: file, text: text, sum: fmt.Sprintf("%x", sha256.Sum256(text))}
	err = in.decode(func(row) bool {
		in.rows++
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return in, nil
}

// row is one row of the input. Two equal rows are two pets.
type row struct {
	line  int      // where the row begins, from 1; the journal identifies rows by it
	cells []string // name, categoryId and status or, if the row has none, its first KiB
	pet   petstore.NewPet
	err   error // why the row is no pet
}

func newRow(line int, text []byte, cells []string, err error) row {
	if len(text) > maxRow {
		err = errors.New("the row is longer than 1 MiB")
	}
	if err != nil {
		return row{line: line, cells: []string{string(text[:min(len(text), maxText)]), "", ""}, err: err}
	}
	category, err := strconv.ParseInt(cells[1], 10, 64)
	if err != nil {
		return row{line: line, cells: cells, err: fmt.Errorf("categoryId %.100q is not a 64-bit integer", cells[1])}
	}
	pet := petstore.NewPet{Name: cells[0], CategoryID: category, Status: petstore.PetStatus(cells[2])}
	return row{line: line, cells: cells, pet: pet}
}

const (
	maxRow  = 1 << 20 // bytes; most services refuse a longer request
	maxText = 1 << 10 // bytes of a row that is no pet, in the report

	byteOrderMark = "\xef\xbb\xbf" // spreadsheets put it ahead of UTF-8

	// escaped are the first characters of cells that reports protect, so that no spreadsheet takes
	// them for formulas.
	escaped = "=+-@\t\r'"
)

// rejectedColumns are those of the report of rejected rows. Once corrected, the report can be
// imported.
var rejectedColumns = []string{"name", "categoryId", "status", "line", "reason"}

// headers maps each header that a CSV file may have to its number of columns.
var headers = map[string]int{
	"name,categoryId": 2, "name,categoryId,status": 3, strings.Join(rejectedColumns, ","): 5,
}

// all returns the rows of an input that has been read.
func (in *input) all() iter.Seq[row] {
	return func(yield func(row) bool) { _ = in.decode(yield) }
}

// decode calls yield for the rows until that returns false. The error is about the whole input.
func (in *input) decode(yield func(row) bool) error {
	text := bytes.TrimPrefix(in.text, []byte(byteOrderMark))
	if isWide(text) {
		return errors.New("the file is in UTF-16 or UTF-32: save it as UTF-8")
	}
	switch strings.ToLower(filepath.Ext(in.path)) {
	case ".csv":
		return decodeCSV(text, yield)
	case ".jsonl", ".ndjson":
		decodeJSON(text, yield)
		return nil
	}
	return errors.New("the file is named neither .csv nor .jsonl nor .ndjson")
}

// isWide reports whether a text has characters of two or four bytes, as spreadsheets save "Unicode
// text": it begins with the mark of that, or with a zero among the bytes of an ASCII character.
func isWide(text []byte) bool {
	start := text[:min(len(text), 2)]
	return bytes.Equal(start, []byte("\xff\xfe")) || bytes.Equal(start, []byte("\xfe\xff")) ||
		bytes.IndexByte(start, 0) >= 0
}

func decodeCSV(all []byte, yield func(row) bool) error {
	reader := csv.NewReader(bytes.NewReader(all))
	header, _ := reader.Read()
	columns := headers[strings.Join(header, ",")]
	if columns == 0 {
		return fmt.Errorf("the header is %.100q, not name,categoryId,status or name,categoryId", header)
	}
	for {
		start := reader.InputOffset()
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		text := bytes.TrimSpace(all[start:reader.InputOffset()])
		if len(text) == 0 {
			continue
		}
		var line int
		if fault, ok := errors.AsType[*csv.ParseError](err); ok {
			line = fault.StartLine
		} else {
			line, _ = reader.FieldPos(0)
		}
		r := newRow(line, text, unescaped(fields, columns), err)
		if more := bytes.Count(text, []byte("\n")); more > 0 && (r.err != nil || holdsRow(r.cells, columns)) {
			return fmt.Errorf("line %d: a quote is missing or too much: it runs on to line %d", line, line+more)
		}
		if !yield(r) {
			return nil
		}
	}
}

// holdsRow reports whether a line within a cell looks like a row by itself. Pets with such names
// can be imported from JSON Lines.
func holdsRow(cells []string, columns int) bool {
	for line := range strings.Lines(strings.Join(cells, "\n")) {
		if strings.Count(line, ",") == columns-1 {
			return true
		}
	}
	return false
}

// unescaped returns the cells of a row, in a report without the escapes of that.
func unescaped(fields []string, columns int) []string {
	for i, f := range fields {
		if columns == len(rejectedColumns) && len(f) > 1 && f[0] == '\'' && strings.Contains(escaped, f[1:2]) {
			fields[i] = f[1:]
		}
	}
	return append(fields, "", "", "")[:3]
}

func decodeJSON(text []byte, yield func(row) bool) {
	line := 0
	for text := range bytes.Lines(text) {
		line++
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		cells, err := cellsOfJSON(text)
		if !yield(newRow(line, text, cells, err)) {
			return
		}
	}
}

// cellsOfJSON is strict, and so is the decoder about duplicate fields, the case of names and
// invalid UTF-8: a lenient one would add pets by mistake.
func cellsOfJSON(text []byte) ([]string, error) {
	var fields struct {
		Name       *string            `json:"name"`
		CategoryID *int64             `json:"categoryId"`
		Status     petstore.PetStatus `json:"status"`
	}
	err := json.Unmarshal(text, &fields, json.RejectUnknownMembers(true))
	switch {
	case err != nil:
		return nil, err
	case fields.Name == nil:
		return nil, errors.New("name is missing")
	case fields.CategoryID == nil:
		return nil, errors.New("categoryId is missing")
	}
	return []string{*fields.Name, strconv.FormatInt(*fields.CategoryID, 10), string(fields.Status)}, nil
}
