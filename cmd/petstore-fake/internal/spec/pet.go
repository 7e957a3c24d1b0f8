package spec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// PetReader reads NewPet objects as the service would. It asks a fake of its own, so that seed files
// and admin routes have no rules of their own. It is safe for concurrent use.
type PetReader struct {
	mu  sync.Mutex
	srv *fake.Server
}

// NewPetReader returns a reader, which the caller closes.
func NewPetReader() *PetReader {
	return &PetReader{srv: fake.NewServer(fake.WithPlan(fake.Plan{}), fake.WithJournal(0))}
}

// Close closes the reader.
func (r *PetReader) Close() { r.srv.Close() }

// Read returns the pet of a NewPet object. A field that NewPet does not have is an error here, though
// the service ignores it: in a file it is a mistake.
func (r *PetReader) Read(raw []byte) (petstore.NewPet, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.srv.Reset()
	resp, err := r.create(raw)
	if err != nil {
		return petstore.NewPet{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		var refusal struct{ Message string }
		if err := json.NewDecoder(resp.Body).Decode(&refusal); err != nil {
			return petstore.NewPet{}, fmt.Errorf("it is refused with status %d", resp.StatusCode)
		}
		return petstore.NewPet{}, errors.New(strings.TrimPrefix(refusal.Message, "createPet: "))
	}
	for _, v := range r.srv.Violations() {
		if v.Rule == fake.RuleUnknownField {
			return petstore.NewPet{}, errors.New(v.Detail)
		}
	}
	p := r.srv.Pets()[0]
	return petstore.NewPet{Name: p.Name, CategoryID: p.CategoryID, Status: p.Status}, nil
}

func (r *PetReader) create(raw []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(
		context.Background(), http.MethodPost, "http://localhost/v1/pets", bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+fake.DefaultAPIKey)
	req.Header.Set("Content-Type", "application/json")
	return r.srv.Transport().RoundTrip(req)
}

// PositionError is an error at a byte of a text.
type PositionError struct {
	// Offset counts bytes from 0.
	Offset int64
	err    error
}

// Error returns the reason.
func (e *PositionError) Error() string { return e.err.Error() }

// ReadArray returns the pets of a JSON array of NewPet objects. Its errors are of type
// [*PositionError].
func (r *PetReader) ReadArray(text []byte) ([]petstore.NewPet, error) {
	if offset, err := checkArray(text); err != nil {
		return nil, &PositionError{offset, err}
	}
	elements := json.NewDecoder(bytes.NewReader(text))
	if _, err := elements.Token(); err != nil { // the bracket
		return nil, &PositionError{0, err}
	}
	var pets []petstore.NewPet
	for elements.More() {
		var raw json.RawMessage
		if err := elements.Decode(&raw); err != nil {
			return nil, &PositionError{elements.InputOffset(), err}
		}
		p, err := r.Read(raw)
		if err != nil {
			start := elements.InputOffset() - int64(len(raw))
			return nil, &PositionError{start, fmt.Errorf("pet %d of the array: %w", len(pets)+1, err)}
		}
		pets = append(pets, p)
	}
	return pets, nil
}

// checkArray returns why a text is not one JSON array, and where.
func checkArray(text []byte) (int64, error) {
	err := json.Unmarshal(text, new([]json.RawMessage))
	if endsEarly(json.NewDecoder(bytes.NewReader(text)).Decode(new(json.RawMessage))) {
		return int64(len(text)), errEndsEarly
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
