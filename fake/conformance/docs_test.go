package conformance

import (
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

// docs/conformance.md has each section with a clause, each flag, and each choice of the fake.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/conformance.md")
	require.NoError(t, err)
	for _, c := range clauses {
		row := "\n| " + c.section + " | "
		assert.True(t, strings.Contains(string(text), row), "docs/conformance.md has no row of section %s", c.section)
	}
	flag.VisitAll(func(f *flag.Flag) {
		if strings.HasPrefix(f.Name, "petstore.") {
			assert.Contains(t, string(text), "`-"+f.Name)
		}
	})
	for _, field := range reflect.VisibleFields(reflect.TypeFor[fake.Behavior]()) {
		assert.Contains(t, string(text), "`"+field.Name+"`")
	}
}
