package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
)

// readSeed reads the animals of a file. Its errors name the file, line and column, and the reason.
func readSeed(name string) ([]petstore.NewPet, error) {
	text, err := os.ReadFile(name) //nolint:gosec // the user names the file, on the command line
	if err != nil {
		return nil, err
	}
	at := func(offset int64) string {
		before := text[:min(max(offset, 0), int64(len(text)))]
		line := bytes.Count(before, []byte("\n")) + 1
		return fmt.Sprintf("%s:%d:%d", name, line, len(before)-bytes.LastIndexByte(before, '\n'))
	}
	if offset, err := checkArray(text); err != nil {
		return nil, fmt.Errorf("%s: %w", at(offset), err)
	}
	return readAnimals(text, at)
}

// checkArray returns what keeps a text from being one JSON array, and where.
func checkArray(text []byte) (int64, error) {
	err := json.Unmarshal(text, new([]json.RawMessage))
	if spec.EndsEarly(json.NewDecoder(bytes.NewReader(text)).Decode(new(json.RawMessage))) {
		return int64(len(text)), spec.ErrEndsEarly
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return syntax.Offset - 1, fmt.Errorf("it is not JSON: %w", syntax)
	}
	start := len(text) - len(bytes.TrimLeft(text, " \t\r\n"))
	if text[start] != '[' {
		return int64(start), errors.New("it must be a JSON array of NewPet objects")
	}
	return 0, err
}

// readAnimals reads the elements of a JSON array.
func readAnimals(text []byte, at func(int64) string) ([]petstore.NewPet, error) {
	r := spec.NewPetReader()
	defer r.Close()
	elements := json.NewDecoder(bytes.NewReader(text))
	if _, err := elements.Token(); err != nil { // the bracket
		return nil, err
	}
	var pets []petstore.NewPet
	for elements.More() {
		var raw json.RawMessage
		if err := elements.Decode(&raw); err != nil {
			return nil, err
		}
		p, err := r.Read(raw)
		if err != nil {
			start := elements.InputOffset() - int64(len(raw))
			return nil, fmt.Errorf("%s: animal %d of the array: %w", at(start), len(pets)+1, err)
		}
		pets = append(pets, p)
	}
	return pets, nil
}
