package requestpage

import (
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
	"github.com/petstore/petstore-go/fake"
)

// MaskKey returns what is shown of a key: enough to recognise it, too little to use it. The default
// key is in the documentation.
func MaskKey(key string) string {
	const shown, long = 3, 12
	switch {
	case key == fake.DefaultAPIKey:
		return key
	case len(key) < long:
		return "…"
	}
	return key[:shown] + "…"
}

// senders are the keys of the fake, masked, by their numbers.
type senders map[int]string

func (p *Page) senders() senders {
	s := make(senders)
	for _, k := range p.srv.Keys() {
		s[k.Number] = MaskKey(k.APIKey)
	}
	return s
}

// of returns the id and the masked form of the key that a request came with, or 0 and the word for
// a request without one.
func (s senders) of(r fake.Request) (id int, text string) {
	if masked, ok := s[r.Key]; ok {
		return r.Key, masked
	}
	return 0, journal.Keyless(r)
}
