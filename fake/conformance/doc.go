// Package conformance tests a Pet Store Service against the service document, clause by clause.
//
//	func TestStaging(t *testing.T) {
//		conformance.Run(t, conformance.Target{BaseURL: url, APIKey: key})
//	}
//
// Each clause is a subtest named after its section, such as "4.1 limit defaults to 20". A test
// fails if the service contradicts the document, never where the document leaves a point open.
//
// The package's own tests check the fake. They check another service, too:
//
//	go test ./fake/conformance -petstore.url=https://staging.example/v1 -petstore.key=…
//
// # Conduct
//
// A run is polite to a service that others use. It sends some ninety requests, one at a time. It
// adds eight pets, whose names begin with "petstore-go conformance". If the catalogue has fewer
// than 21 pets, it adds as many as it needs to see the default limit. The pets stay. Other pets do
// not disturb the run. The run also sends the key in forms that the service must refuse, such as
// half of it, or with another scheme. No message of the run contains the key.
//
// When X-RateLimit-Remaining falls to 1, the run waits for X-RateLimit-Reset. After a 429, which
// another user of the key may have caused, it waits for Retry-After as well. It never waits for
// more than two minutes: instead it skips the clauses that are left, and says so. Clauses that
// spend the key's quota on purpose run only if [Target.Destructive] allows it.
package conformance
