// Package canned holds the responses that every client of the benchmarks gets, and two ways to get
// them: a stub of a transport and a handler for a server.
package canned

// Operation is one of the calls that are measured.
type Operation int

// The operations. NotFound is getPet of a pet that does not exist.
const (
	List20 Operation = iota
	List100
	Create
	Get
	NotFound
)

// Operations returns all of them, in the order of the tables.
func Operations() []Operation { return []Operation{List20, List100, Create, Get, NotFound} }

// String returns the name in the tables.
func (o Operation) String() string {
	return [...]string{"list20", "list100", "create", "get", "404"}[o]
}

// Limit returns the limit parameter of a list, and 0 for the other operations.
func (o Operation) Limit() int {
	return [...]int{List20: 20, List100: 100, NotFound: 0}[o]
}

// ID returns the identifier that Get and NotFound ask for.
func (o Operation) ID() int64 {
	if o == NotFound {
		return MissingID
	}
	return PetID
}

// The identifiers of a pet that exists and of one that does not.
const (
	PetID     = 4711
	MissingID = 404404
)
