package main

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

// judge reads NewPet objects as the service would. It asks a service of its own, so that a seed file
// and the admin routes have no rules of their own. It is safe for concurrent use.
type judge struct {
	mu  sync.Mutex
	srv *fake.Server
}

func newJudge() *judge {
	return &judge{srv: fake.NewServer(fake.WithPlan(fake.Plan{}), fake.WithJournal(0))}
}

func (j *judge) close() { j.srv.Close() }

// read returns the animal of a NewPet object. A field that NewPet does not have is an error here,
// though the service ignores it: in a file it is a mistake.
func (j *judge) read(raw []byte) (petstore.NewPet, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.srv.Reset()
	resp, err := j.create(raw)
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
	for _, v := range j.srv.Violations() {
		if v.Rule == fake.RuleUnknownField {
			return petstore.NewPet{}, errors.New(v.Detail)
		}
	}
	p := j.srv.Pets()[0]
	return petstore.NewPet{Name: p.Name, CategoryID: p.CategoryID, Status: p.Status}, nil
}

func (j *judge) create(raw []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(
		context.Background(), http.MethodPost, "http://localhost/v1/pets", bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+fake.DefaultAPIKey)
	req.Header.Set("Content-Type", "application/json")
	return j.srv.Transport().RoundTrip(req)
}

// attempt turns a panic of package fake, which takes wrong arguments for a mistake of its caller's,
// into an error. Panics of any other kind stay what they are.
func attempt(f func()) (err error) {
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

func clip(s string) string {
	if len(s) > maxClip {
		return s[:maxClip] + "…"
	}
	return s
}
