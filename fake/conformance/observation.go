package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// Unseen is the answer to a question that the service did not show an answer to, such as how long a
// list gets where there are too few pets.
const Unseen = "not seen"

// Observations are the answers of one service, one for each question that the service document
// leaves open. Keys do not change from one release to the next. The answer is [Unseen] if the
// service did not show one; one that begins with a number is a status, followed by the form of the
// body, such as "400 Error".
type Observations []fake.Finding

// format is the version of the file of observations.
const format = 1

// Behavior returns the behaviour with which the fake reproduces the observations best, for
// fake.WithBehavior, and the observations that it does not reproduce: a test that depends on one of
// these proves nothing about the observed service.
func (o Observations) Behavior() (b fake.Behavior, differences Observations) {
	return fakecontrol.BehaviorOf(o)
}

// WriteFile writes the observations as JSON. The fake reads the file: see fake.WithObserved.
func (o Observations) WriteFile(name string) error {
	text, err := json.MarshalIndent(struct {
		Format       int          `json:"format"`
		Observations Observations `json:"observations"`
	}{format, o}, "", "  ")
	if err == nil {
		const readable = 0o644 // like any file of a repository, where it is meant to go
		err = os.WriteFile(name, append(text, '\n'), readable)
	}
	if err != nil {
		return fmt.Errorf("conformance: observations: %w", err)
	}
	return nil
}

// Observe asks the target what the service document leaves open. It takes up to two minutes, most
// of which is waiting for a window of the rate limit to end. An error means that the service did
// not answer; a question that it did not answer plainly is [Unseen].
func Observe(ctx context.Context, target Target) (Observations, error) {
	s, err := newSession(ctx, target)
	if err != nil {
		return nil, err
	}
	return s.observe()
}

// probe is a question that the document leaves open. answer may end early as a clause does: by fail
// or skipf.
type probe struct {
	key, section, question string
	answer                 func(*session) string
}

func (s *session) observe() (Observations, error) {
	var list Observations
	for _, p := range probes() {
		answer, err := attempt(func() string { return p.answer(s) })
		if isSkip(err) {
			answer = Unseen
		} else if err != nil {
			return nil, fmt.Errorf("conformance: observing %s: %w", p.key, err)
		}
		list = append(list, fake.Finding{
			Key: p.key, Section: p.section, Question: p.question, Answer: answer,
		})
	}
	return list, nil
}
