package conformance

import (
	"cmp"
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
		{"default-status", "3", "Which status has a pet that was added without one?", probeDefaultStatus},
		{"media-type-missing", "4.2", "Does createPet take a body without a Content-Type?", mediaProbe("")},
		{
			"media-type-other", "4.2", "Does createPet take a body that says it is text/plain?",
			mediaProbe("text/plain"),
		},
	}
}

func bodyProbe(body string) func(*session) string {
	return func(s *session) string { return s.offer("taken", body).outcome() }
}

func mediaProbe(media string) func(*session) string {
	return func(s *session) string {
		r := s.newPet("other media type", validPet)
		r.media = media
		return s.ask(r).outcome()
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
	x := s.offer("first", `{"name":$name,"categoryId":$category,"name":`+string(quoted(last))+`}`)
	return x.nameAmong(map[string]string{first: "the first counts", last: "the last counts"})
}

func probeSpecialName(s *session) string {
	const name = `Zoë "Łata" 犬 🐾`
	return s.offer(name, validPet).nameAmong(map[string]string{s.petName(name): "kept"})
}

// nameAmong is the word for the name that a pet got, or the outcome if none was added.
func (x *exchange) nameAmong(words map[string]string) string {
	if !x.success() {
		return x.outcome()
	}
	name, err := read[string](orSkip(x.pet)["name"])
	if word, ok := words[name]; ok && err == nil {
		return word
	}
	return "changed"
}

func probeDefaultStatus(s *session) string {
	raw := s.mine("")["status"]
	if status, err := read[string](raw); err == nil {
		return status
	}
	return cmp.Or(string(raw), "none")
}
