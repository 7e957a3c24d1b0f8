// Package conformance tests a Pet Store Service against the service document, clause by clause.
//
//	func TestStaging(t *testing.T) {
//		conformance.Run(t, conformance.Target{BaseURL: url, APIKey: key})
//	}
//
// Each clause is a subtest named after its section, such as "4.1 limit defaults to 20". The
// statements of the document are asserted. Where it leaves a point open, no test fails.
//
// The package's own tests check the fake. They check another service, too:
//
//	go test ./fake/conformance -petstore.url=https://staging.example/v1 -petstore.key=…
//
// # Conduct
//
// A run is polite to a service that others use. It sends some forty requests, one at a time. It
// adds five pets, whose names begin with "petstore-go conformance". Since the document has no way
// to take a pet out of the catalogue, they stay. Other pets do not disturb it.
//
// When X-RateLimit-Remaining falls to 1, it waits for X-RateLimit-Reset; after a 429, which another
// user of the key may have caused, for Retry-After as well. A wait of more than two minutes is not
// made: the clauses that are left are skipped and say so. Clauses that spend the key's quota on
// purpose run only if [Target.Destructive] allows it.
package conformance
