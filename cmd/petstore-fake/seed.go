package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
)

// readSeed reads the pets of a file. Its errors begin with the file, line and column.
func readSeed(name string) ([]petstore.NewPet, error) {
	text, err := os.ReadFile(name) //nolint:gosec // the user names the file, on the command line
	if err != nil {
		return nil, err
	}
	pets, err := spec.ParsePets(text)
	if at, ok := errors.AsType[*spec.PositionError](err); ok {
		before := text[:min(max(at.Offset, 0), int64(len(text)))]
		line := bytes.Count(before, []byte("\n")) + 1
		column := len(before) - bytes.LastIndexByte(before, '\n')
		return nil, fmt.Errorf("%s:%d:%d: %w", name, line, column, err)
	}
	return pets, err
}
