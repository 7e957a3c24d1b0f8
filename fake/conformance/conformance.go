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
	// HTTPClient sends the requests. It is copied, and the copy follows no redirects. Nil stands
	// for a client with a timeout of 30 seconds.
	HTTPClient *http.Client
	// CategoryID is the category of the pets that are added. The document does not say which
	// categories exist; 0 stands for category 1.
	CategoryID int64
	// Destructive allows the run to spend the key's quota until a 429 comes, and to wait for the
	// window to end. This harms other users of the key.
	Destructive bool
}

// Run checks the target, with one subtest for each clause of the document. A clause that cannot be
// checked, such as one about pets where none can be added, is skipped and says why. Run waits for
// the key's quota if it has to; it must not be called inside a testing/synctest bubble, where there
// are no subtests.
func Run(t *testing.T, target Target) {
	t.Helper()
	s, err := newSession(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, c := range clauses() {
		t.Run(c.name(), func(t *testing.T) {
			err := s.check(c)
			if isSkip(err) {
				t.Skip(err)
			}
			checked++
			if err != nil {
				t.Error(err)
			}
		})
	}
	if checked == 0 && s.stopped != nil {
		t.Errorf("no clause could be checked: %v", s.stopped)
	}
}
