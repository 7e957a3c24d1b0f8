package fake

import (
	"cmp"
	"iter"
	"strings"

	petstore "github.com/petstore/petstore-go"
)

// Behavior holds a choice for every point on which the service document is silent and real
// deployments may differ. An empty field stands for the default choice.
type Behavior struct {
	RetryAfter RetryAfterForm `json:"retryAfter,omitzero"` // of a 429 (section 8.3)
	LimitBody  BodyForm       `json:"limitBody,omitzero"`  // of a 429 (section 7)
	// DefaultStatus is the status of a pet that was added without one (section 3); empty: none.
	DefaultStatus petstore.PetStatus `json:"defaultStatus,omitzero"`
	Order         Order              `json:"order,omitzero"`  // of listPets (section 4.1)
	Window        WindowKind         `json:"window,omitzero"` // of the rate limits (section 8.1)
	// IgnoreInvalid makes listPets ignore a limit or status that section 4.1 does not allow. The
	// default is a 400 (section 7).
	IgnoreInvalid bool `json:"ignoreInvalid,omitzero"`
	// Removal makes getPet return 404 from 5 December 2030 on, by the server's clock.
	Removal bool `json:"removal,omitzero"`
	// DeprecationHeaders makes getPet send Deprecation (RFC 9745), Sunset (RFC 8594) and Link.
	DeprecationHeaders bool `json:"deprecationHeaders,omitzero"`
}

// RetryAfterForm is a way to write the Retry-After header. Section 8.4 leaves its unit and format
// open. The default is whole seconds, rounded up, at least 1.
type RetryAfterForm string

// The other forms of Retry-After.
const (
	RetryAfterDate   RetryAfterForm = "date"   // an HTTP-date, rounded up to the second
	RetryAfterAbsent RetryAfterForm = "absent" // no Retry-After at all, against section 8.3
)

// BodyForm is a kind of body of a 429. Section 7 leaves open which one it has. The default is an
// Error object, as with every other refusal.
type BodyForm string

// The other bodies of a 429.
const (
	BodyEmpty BodyForm = "empty" // none
	BodyHTML  BodyForm = "html"  // a page, as gateways send
)

// Order is the order of the pets of listPets, which section 4.1 leaves open. The default is by
// ascending id.
type Order string

// The other orders.
const (
	OrderDescending Order = "descending" // by descending id
	OrderShuffled   Order = "shuffled"   // random pets in random order, drawn anew for each request
)

// WindowKind is a way to count requests per minute and per day, which section 8.1 leaves open. By
// default, a window begins with its first request, rounded down to a whole second.
type WindowKind string

// The other windows.
const (
	WindowAligned WindowKind = "aligned" // the minute and the day (UTC) of the wall clock
	WindowSliding WindowKind = "sliding" // the last 60 s and the last 24 h, in whole seconds
)

// The choices of each field, the default first.
var (
	defaultStatuses = []petstore.PetStatus{"", "available", "pending", "sold"}
	retryAfterForms = []RetryAfterForm{"", RetryAfterDate, RetryAfterAbsent}
	bodyForms       = []BodyForm{"", BodyEmpty, BodyHTML}
	orders          = []Order{"", OrderDescending, OrderShuffled}
	windows         = []WindowKind{"", WindowAligned, WindowSliding}
)

// problem returns an error if a field has an unknown choice.
func (b Behavior) problem() error {
	return cmp.Or(
		oneOf("defaultStatus", b.DefaultStatus, defaultStatuses),
		oneOf("retryAfter", b.RetryAfter, retryAfterForms),
		oneOf("limitBody", b.LimitBody, bodyForms),
		oneOf("order", b.Order, orders),
		oneOf("window", b.Window, windows),
	)
}

// String returns the choices that differ from the default, such as
// "retryAfter=date,window=sliding", or "default".
func (b Behavior) String() string {
	text, _ := encode(b) // each Behavior can be encoded
	return cmp.Or(strings.NewReplacer("{", "", "}", "", `"`, "", ":", "=").Replace(string(text)), "default")
}

// Variants yields behaviours that together cover every pair of choices of [Behavior]:
//
//	for name, variant := range fake.Variants() {
//		t.Run(name, func(t *testing.T) {
//			srv := fake.NewTestServer(t, variant)
//			...
//
// The first one is the default. The name of each other one lists the choices in which it differs
// from the default. Names and order are the same in every run.
func Variants() iter.Seq2[string, Option] {
	// Each digit is the index of a choice. TestVariants checks that the rows have all pairs.
	rows := []string{
		"00000000", "22121011", "11212101", "32010110", "01221010", "30122111", "21102100", "10001110",
		"02202001", "31020001", "00111101", "20012000", "12120010", "20200101", "30201001",
	}
	return func(yield func(string, Option) bool) {
		for _, row := range rows {
			b := Behavior{
				DefaultStatus: defaultStatuses[row[0]-'0'], RetryAfter: retryAfterForms[row[1]-'0'],
				LimitBody: bodyForms[row[2]-'0'], Order: orders[row[3]-'0'], Window: windows[row[4]-'0'],
				IgnoreInvalid: row[5] > '0', Removal: row[6] > '0', DeprecationHeaders: row[7] > '0',
			}
			if !yield(b.String(), WithBehavior(b)) {
				return
			}
		}
	}
}
