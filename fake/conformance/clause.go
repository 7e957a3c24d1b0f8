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
	// check returns if the service keeps to the clause. It is written like a test: fail ends it if
	// the service does not, skipf if that cannot be seen.
	check func(*session)
}

// name is what the clause's subtest is called.
func (c clause) name() string { return c.section + " " + c.text }

// clauses returns all clauses in the order in which they are checked: those that need an empty
// catalogue first, those that look at every response last.
func clauses() []clause {
	var all []clause
	for _, o := range operations {
		all = append(all, o.clauses()...)
	}
	return slices.Concat(all, accessClauses(), limitClauses(), responseClauses())
}

// operations has the clauses of each operation, and what makes sure that the log has a response of
// every kind: its success and its errors.
var operations = []struct {
	clauses func() []clause
	sample  func(*session)
}{
	{listPetsClauses, func(s *session) { s.list("") }},
	{createPetClauses, func(s *session) { s.ask(create("{}")) }},
	{getPetClauses, func(s *session) { s.fetchUnknown(); s.fetch(statuses[0]) }},
}

// check returns nil if the service keeps to a clause, a skip if that cannot be seen, and any other
// error if it does not.
func (s *session) check(c clause) error { return attempt(func() { c.check(s) }) }

// ended is the panic by which fail and skipf end a check, as testing.T ends a test. The result is
// an error all the same, and not a call of testing.T, so that tests can see a clause fail.
type ended struct{ err error }

// fail ends the check: err says how the service breaks the clause, or why it cannot be reached.
func fail(err error) { panic(ended{err}) }

// skipf ends the check: the clause cannot be checked.
func skipf(format string, args ...any) { fail(skip(fmt.Sprintf(format, args...))) }

// attempt calls f, and returns the error that ended it.
func attempt(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case ended:
			err = p.err
		default:
			panic(p)
		}
	}()
	f()
	return nil
}

// orSkip returns what read returns. It skips where an error ends read: another clause checks that.
func orSkip[T any](read func() T) (v T) {
	if err := attempt(func() { v = read() }); err != nil {
		skipf("%v", err)
	}
	return v
}

// skip is the reason why a clause cannot be checked.
type skip string

// Error returns the reason.
func (s skip) Error() string { return string(s) }

func isSkip(err error) bool {
	_, ok := errors.AsType[skip](err)
	return ok
}
