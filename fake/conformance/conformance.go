// Package conformance tests a Pet Store Service against the service document, clause by clause.
//
//	func TestStaging(t *testing.T) {
//		conformance.Run(t, conformance.Target{BaseURL: url, APIKey: key})
//	}
//
// Each clause is a subtest named after its section, such as "4.1 limit defaults to 20". A test
// fails if the service contradicts the document, but never for a point that the document leaves
// open.
//
// A run sends some hundred requests, one at a time. It adds eight pets. If there are then fewer
// than 21, it adds more, since the test of the default limit needs 21. The pets stay; their names
// begin with "petstore-go conformance". The run also sends the key in forms that the service must
// refuse, such as half of it; no message contains the key. Pets of others do not disturb the run.
//
// When X-RateLimit-Remaining falls to 1, the run waits until X-RateLimit-Reset. After a 429, it
// also waits for Retry-After. Instead of waiting for more than two minutes, it skips all clauses
// that need another request, and fails. Only [Target.Destructive] allows clauses that use up the
// key's quota.
package conformance

import (
	"net/http"
	"testing"
)

// Target is the service to test. BaseURL and APIKey are required.
type Target struct {
	// BaseURL is the base address of the service, which ends in /v1 (section 1).
	BaseURL string
	// APIKey is a key that the service accepts (section 5).
	APIKey string
	// HTTPClient sends the requests. It is copied, and the copy follows no redirects. If it is nil,
	// the run uses a client with a timeout of 30 seconds.
	HTTPClient *http.Client
	// CategoryID is the category of the pets that are added. The document does not say which
	// categories exist; 0 means category 1.
	CategoryID int64
	// Destructive allows the run to spend the key's quota until a 429 comes, and to wait for the
	// window to end. This harms other users of the key.
	Destructive bool
}

// Run checks the target, with one subtest for each clause of the document. A clause that cannot be
// checked, such as one about a pet if no pet can be added, is skipped with the reason. Run waits
// for the key's quota if it has to. It must not be called inside a testing/synctest bubble, where
// t.Run is not allowed.
func Run(t *testing.T, target Target) {
	t.Helper()
	if target.BaseURL == "" || target.APIKey == "" {
		t.Fatal("conformance: Target.BaseURL and Target.APIKey are required")
	}
	s := newSession(target)
	for _, c := range clauses {
		t.Run(c.name(), func(t *testing.T) {
			p := s.check(c)
			if p != nil && p.skip {
				t.Skip(p.text)
			} else if p != nil {
				t.Error(p.text)
			}
		})
	}
	if s.stopped != nil {
		t.Error("the run ended early: " + s.stopped.text)
	}
}
