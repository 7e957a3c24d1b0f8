package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/petstore/petstore-go/fake"
)

// checkFault returns what makes no sense about a fault as a whole, with the name of the field.
func checkFault(f fake.Fault) error {
	operations := []string{"", fake.OpListPets, fake.OpCreatePet, fake.OpGetPet}
	switch {
	case !slices.Contains(operations, f.Operation):
		return fmt.Errorf("operation: there is no %q; it is %s",
			Clip(f.Operation), strings.Join(operations[1:], ", "))
	case f.Skip < 0:
		return fmt.Errorf("skip: %d is negative", f.Skip)
	case f.Status != 0 && (f.Status < 200 || f.Status > 999):
		return fmt.Errorf("status: %d does not lie between 200 and 999", f.Status)
	case !isHeaderValue(f.RetryAfter):
		return fmt.Errorf("retry-after: it holds a control character")
	}
	for name, values := range f.Header {
		if !isHeaderName(name) {
			return fmt.Errorf("header: %q is no name of a header", Clip(name))
		}
		if slices.ContainsFunc(values, func(v string) bool { return !isHeaderValue(v) }) {
			return fmt.Errorf("header: the value of %s holds a control character", name)
		}
	}
	return tryFault(f)
}

// tryFault lets the fake judge about what is left.
func tryFault(f fake.Fault) error {
	srv := fake.NewServer()
	defer srv.Close()
	return Attempt(func() { srv.Inject(f) })
}

// isHeaderName reports whether net/http would send a header of this name. It leaves others out in
// silence.
func isHeaderName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

func isHeaderValue(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
