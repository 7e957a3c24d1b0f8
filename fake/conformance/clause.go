package conformance

import (
	"errors"
	"fmt"
	"slices"
)

// clause is one statement of the service document.
type clause struct {
	section string
	text    string
	// check returns nil if the service keeps to the clause, a skip if that cannot be seen, and any
	// other error if it does not. Verdicts are errors and not calls of testing.T, so that tests can
	// see a clause fail.
	check func(*session) error
}

// name is what the clause's subtest is called.
func (c clause) name() string { return c.section + " " + c.text }

// clauses returns all clauses in the order in which they are judged: what wants to see an empty
// catalogue comes first, what looks at every response comes last.
func clauses() []clause {
	return slices.Concat(
		baseClauses(),
		listClauses(),
		resourceClauses(),
		createClauses(),
		getClauses(),
		authClauses(),
		errorClauses(),
		limitClauses(),
	)
}

// verdict is what came out for a clause.
type verdict struct {
	clause
	err error
}

// judge checks all clauses.
func (s *session) judge() []verdict {
	var verdicts []verdict
	for _, c := range clauses() {
		verdicts = append(verdicts, verdict{c, c.check(s)})
	}
	return verdicts
}

// skip is the verdict on a clause that cannot be judged: the reason why.
type skip string

// Error returns the reason.
func (s skip) Error() string { return string(s) }

func skipf(format string, args ...any) error { return skip(fmt.Sprintf(format, args...)) }

// isSkip reports whether an error is a skip, and its reason.
func isSkip(err error) (string, bool) {
	why, ok := errors.AsType[skip](err)
	return string(why), ok
}
