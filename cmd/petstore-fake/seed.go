package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
)

// readSeed reads the pets of a file. Its errors begin with the file, line and column.
func readSeed(name string) ([]petstore.NewPet, error) {
	text, err := readFile(name, 64<<20)
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

// readFile reads a file that has at most limit bytes, as a pipe or a device may not.
func readFile(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name) //nolint:gosec // the user names the file, on the command line
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s is larger than %d MiB", name, limit>>20)
	}
	return text, err
}
