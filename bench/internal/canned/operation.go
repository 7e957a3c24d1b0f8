// Package canned holds the answers that every client of the benchmark gets, and two ways to get
// them: a stub of a transport and a handler for a server.
package canned

// Operation is one of the calls that are measured.
type Operation int

// The operations. NotFound is getPet of an animal that does not exist.
const (
	List20 Operation = iota
	List100
	Create
	Get
	NotFound
)

// Operations are all of them, in the order of the tables.
func Operations() []Operation { return []Operation{List20, List100, Create, Get, NotFound} }

// String is the name in the tables.
func (o Operation) String() string {
	return [...]string{"list 20", "list 100", "create", "get", "404"}[o]
}

// Limit is the limit parameter of a list, 0 for the other operations.
func (o Operation) Limit() int {
	switch o {
	case List20:
		return 20
	case List100:
		return 100
	case Create, Get, NotFound:
	}
	return 0
}

// ID is the identifier that Get and NotFound ask for.
func (o Operation) ID() int64 {
	if o == NotFound {
		return MissingID
	}
	return PetID
}

// The identifiers of an animal that is there and of one that is not.
const (
	PetID     = 4711
	MissingID = 404404
)
