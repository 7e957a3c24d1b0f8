package conformance

import (
	"fmt"
	"strings"
)

// bodyProbes are about bodies that createPet may take or refuse. The pets are named after them.
func bodyProbes() []probe {
	return []probe{
		{
			"unknown-field", "2", "Does createPet take a field that NewPet does not have?",
			bodyProbe(`{"name":$name,"categoryId":$category,"colour":"grey"}`),
		},
		{"duplicate-field", "2", "Which name counts if there are two?", probeDuplicate},
		{
			"trailing-data", "2", "Does createPet take a body with something after the object?",
			bodyProbe(`{"name":$name,"categoryId":$category} {}`),
		},
		{
			"null-category", "2", "Does createPet take null for categoryId?",
			bodyProbe(`{"name":$name,"categoryId":null}`),
		},
		{
			"null-status", "2", "Does createPet take null for status?",
			bodyProbe(`{"name":$name,"categoryId":$category,"status":null}`),
		},
		{
			"fraction-category", "2", "Does createPet take a categoryId with .0 at its end?",
			bodyProbe(`{"name":$name,"categoryId":$category.0}`),
		},
		{"special-name", "2", "Does a name keep quotation marks, accents and emoji?", probeSpecialName},
		{
			"empty-name", "2", "Does createPet take an empty name?",
			destructively(bodyProbe(`{"name":"","categoryId":$category}`)),
		},
		{
			"long-name", "2", "Does createPet take a name of 10,000 letters?",
			destructively(bodyProbe(`{"name":"` + strings.Repeat("a", 10_000) + `","categoryId":$category}`)),
		},
		{"default-status", "3", "Which status has an animal that was added without one?", probeDefaultStatus},
		{"media-type-missing", "4.2", "Does createPet take a body without a Content-Type?", mediaProbe("")},
		{
			"media-type-other", "4.2", "Does createPet take a body that says it is text/plain?",
			mediaProbe("text/plain"),
		},
	}
}

// offer sends createPet a body, in which $name and $category stand for what is valid.
func (s *session) offer(name, body, media string) (*exchange, error) {
	fill := strings.NewReplacer("$name", quoted(name), "$category", fmt.Sprint(s.target.CategoryID))
	r := post(fill.Replace(body))
	r.media = media
	return s.ask(r)
}

func bodyProbe(body string) func(*session) (string, error) {
	return func(s *session) (string, error) {
		x, err := s.offer(s.petName("taken"), body, mediaJSON)
		if err != nil {
			return "", err
		}
		return x.outcome(), nil
	}
}

func mediaProbe(media string) func(*session) (string, error) {
	return func(s *session) (string, error) {
		x, err := s.offer(s.petName("other media type"), `{"name":$name,"categoryId":$category}`, media)
		if err != nil {
			return "", err
		}
		return x.outcome(), nil
	}
}

// destructively asks only where that is allowed.
func destructively(ask func(*session) (string, error)) func(*session) (string, error) {
	return func(s *session) (string, error) {
		if !s.target.Destructive {
			return "", skip("see Target.Destructive")
		}
		return ask(s)
	}
}

func probeDuplicate(s *session) (string, error) {
	first, last := s.petName("first"), s.petName("last")
	x, err := s.offer(first, `{"name":$name,"categoryId":$category,"name":`+quoted(last)+`}`, mediaJSON)
	if err != nil || !x.success() {
		return outcomeOf(x), err
	}
	return s.nameOf(x, map[string]string{first: "the first counts", last: "the last counts"})
}

func probeSpecialName(s *session) (string, error) {
	name := s.petName(`Zoë "Łata" 犬 🐾`)
	x, err := s.offer(name, `{"name":$name,"categoryId":$category}`, mediaJSON)
	if err != nil || !x.success() {
		return outcomeOf(x), err
	}
	return s.nameOf(x, map[string]string{name: "kept"})
}

// outcomeOf is the outcome of an exchange, if there was one.
func outcomeOf(x *exchange) string {
	if x == nil {
		return ""
	}
	return x.outcome()
}

// nameOf is the word for the name that a pet got.
func (s *session) nameOf(x *exchange, words map[string]string) (string, error) {
	a, err := x.animal()
	if err != nil {
		return "", skipf("%v", err)
	}
	name, err := text(a.fields["name"])
	if word, ok := words[name]; ok && err == nil {
		return word, nil
	}
	return "changed", nil
}

func probeDefaultStatus(s *session) (string, error) {
	a, err := s.mine("")
	if err != nil {
		return "", err
	}
	raw, ok := a.fields["status"]
	if !ok {
		return "none", nil
	}
	if status, err := text(raw); err == nil {
		return status, nil
	}
	return string(raw), nil
}
