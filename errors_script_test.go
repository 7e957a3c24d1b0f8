package petstore_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go"
)

func TestErrorTextScripts(t *testing.T) {
	for reason, text := range map[string]string{
		"犬 🐾 Zoë Łata שלום":         "犬 🐾 Zoë Łata שלום",
		"a\nb\u2028c\u2029d\u0085e": "a b c d e",
		"a\u202eb\u2066c\x1b[31md":  "a b c [31md",
	} {
		err := &petstore.ArgumentError{Operation: "createPet", Argument: "Name", Reason: reason}
		assert.Equal(t, "petstore: createPet: Name: "+text, err.Error())
	}
}
