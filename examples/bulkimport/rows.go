package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/petstore/petstore-go"
)

// row is one row of the input. Two rows that are alike are two pets.
type row struct {
	line int             // where it begins, from 1; this is what the journal knows the row by
	text string          // the row as it stands in the input
	pet  petstore.NewPet // what it says
	err  error           // or why it says nothing
}

var (
	columns       = []string{"name", "categoryId", "status"}
	byteOrderMark = []byte("\xef\xbb\xbf") // which spreadsheets put ahead of UTF-8
)

// maxRow bounds a row, in bytes: a request that is longer is refused by most services.
const maxRow = 1 << 20

var errRowTooLong = errors.New("the row is longer than 1 MiB")

// readRows returns the rows of an input, whose format its name tells. A row that is no pet has an error of
// its own; the error returned is about the input as a whole.
func readRows(name string, input []byte) ([]row, error) {
	input = bytes.TrimPrefix(input, byteOrderMark)
	switch strings.ToLower(filepath.Ext(name)) {
	case ".csv":
		return readCSV(input)
	case ".jsonl", ".ndjson":
		return readJSONLines(input), nil
	}
	return nil, errors.New("the file is named neither .csv nor .jsonl nor .ndjson")
}

func readCSV(input []byte) ([]row, error) {
	reader := csv.NewReader(bytes.NewReader(input))
	reader.FieldsPerRecord = len(columns)
	header, err := reader.Read()
	if err != nil || !slices.Equal(header, columns) {
		return nil, fmt.Errorf("the first line is not %s", strings.Join(columns, ","))
	}
	var rows []row
	for {
		start := reader.InputOffset()
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		r := row{text: strings.Trim(string(input[start:reader.InputOffset()]), "\r\n")}
		if fault, ok := errors.AsType[*csv.ParseError](err); ok {
			r.line, r.err = fault.StartLine, fault.Err
		} else {
			r.line, _ = reader.FieldPos(0)
			r.pet, r.err = petOfFields(fields)
		}
		rows = append(rows, r.bounded())
	}
}

func petOfFields(fields []string) (petstore.NewPet, error) {
	category, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return petstore.NewPet{}, fmt.Errorf("categoryId %q is not a 64-bit integer", fields[1])
	}
	return petstore.NewPet{Name: fields[0], CategoryID: category, Status: petstore.PetStatus(fields[2])}, nil
}

func readJSONLines(input []byte) []row {
	var rows []row
	number := 0
	for text := range bytes.Lines(input) {
		number++
		text = bytes.TrimRight(text, "\r\n")
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		r := row{line: number, text: string(text)}
		if len(text) <= maxRow {
			r.pet, r.err = petOfJSON(text)
		}
		rows = append(rows, r.bounded())
	}
	return rows
}

// petOfJSON is strict, as the decoder is about duplicate fields, the case of names and invalid UTF-8: what it
// let pass would be a pet that nobody meant.
func petOfJSON(text []byte) (petstore.NewPet, error) {
	var fields struct {
		Name       *string             `json:"name"`
		CategoryID *int64              `json:"categoryId"`
		Status     *petstore.PetStatus `json:"status"`
	}
	err := json.Unmarshal(text, &fields, json.RejectUnknownMembers(true))
	switch {
	case err != nil:
		return petstore.NewPet{}, err
	case fields.Name == nil:
		return petstore.NewPet{}, errors.New("name is missing")
	case fields.CategoryID == nil:
		return petstore.NewPet{}, errors.New("categoryId is missing")
	}
	pet := petstore.NewPet{Name: *fields.Name, CategoryID: *fields.CategoryID}
	if fields.Status != nil {
		pet.Status = *fields.Status
	}
	return pet, nil
}

func (r row) bounded() row {
	if len(r.text) > maxRow {
		r.pet, r.err = petstore.NewPet{}, errRowTooLong
	}
	return r
}
