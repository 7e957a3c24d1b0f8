package conformance

import (
	"fmt"
	"strings"
)

// validPet is a body that createPet must take; see offer.
const validPet = `{"name":$name,"categoryId":$category}`

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
		{"default-status", "3", "Which status has a pet that was added without one?", probeDefaultStatus},
		{"media-type-missing", "4.2", "Does createPet take a body without a Content-Type?", mediaProbe("")},
		{
			"media-type-other", "4.2", "Does createPet take a body that says it is text/plain?",
			mediaProbe("text/plain"),
		},
	}
}

// offer sends createPet a body, in which $name and $category stand for what is valid.
func (s *session) offer(name, body, media string) *exchange {
	fill := strings.NewReplacer("$name", quoted(name), "$category", fmt.Sprint(s.target.CategoryID))
	r := post(fill.Replace(body))
	r.media = media
	return s.ask(r)
}

func bodyProbe(body string) func(*session) string {
	return func(s *session) string { return s.offer(s.petName("taken"), body, mediaJSON).outcome() }
}

func mediaProbe(media string) func(*session) string {
	return func(s *session) string {
		return s.offer(s.petName("other media type"), validPet, media).outcome()
	}
}

// destructively asks only where that is allowed.
func destructively(ask func(*session) string) func(*session) string {
	return func(s *session) string {
		if !s.target.Destructive {
			skipf("see Target.Destructive")
		}
		return ask(s)
	}
}

func probeDuplicate(s *session) string {
	first, last := s.petName("first"), s.petName("last")
	x := s.offer(first, `{"name":$name,"categoryId":$category,"name":`+quoted(last)+`}`, mediaJSON)
	return x.nameAmong(map[string]string{first: "the first counts", last: "the last counts"})
}

func probeSpecialName(s *session) string {
	name := s.petName(`Zoë "Łata" 犬 🐾`)
	return s.offer(name, validPet, mediaJSON).nameAmong(map[string]string{name: "kept"})
}

// nameAmong is the word for the name that a pet got, or the outcome if none was added.
func (x *exchange) nameAmong(words map[string]string) string {
	if !x.success() {
		return x.outcome()
	}
	name, err := text(orSkip(x.pet).fields["name"])
	if word, ok := words[name]; ok && err == nil {
		return word
	}
	return "changed"
}

func probeDefaultStatus(s *session) string {
	raw, ok := s.mine("").fields["status"]
	if !ok {
		return "none"
	}
	if status, err := text(raw); err == nil {
		return status
	}
	return string(raw)
}
