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

// PetReader reads NewPet objects as the service would. It asks a service of its own, so that a seed file
// and the admin routes have no rules of their own. It is safe for concurrent use.
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

// Read returns the animal of a NewPet object. A field that NewPet does not have is an error here,
// though the service ignores it: in a file it is a mistake.
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

// Attempt turns a panic of package fake, which takes wrong arguments for a mistake of its caller's,
// into an error. Panics of any other kind stay what they are.
func Attempt(f func()) (err error) {
	defer func() {
		p := recover()
		text, ok := p.(string)
		text, ours := strings.CutPrefix(text, "fake: ")
		switch {
		case p == nil:
		case ok && ours:
			_, reason, _ := strings.Cut(text, ": ")
			err = errors.New(reason)
		default:
			panic(p)
		}
	}()
	f()
	return nil
}

// maxClip bounds what a message repeats of what it was given.
const maxClip = 64

// Clip returns a text for an error message, shortened if it is long.
func Clip(s string) string {
	if len(s) > maxClip {
		return s[:maxClip] + "…"
	}
	return s
}
