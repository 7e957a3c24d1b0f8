package fake

import (
	"cmp"
	"iter"
	"strings"

	petstore "github.com/petstore/petstore-go"
)

// Behavior holds a choice for every point on which the service document is silent and real
// deployments may differ. The zero value is the default behaviour, and so is an empty field.
// [Variants] yields enough behaviours that every pair of choices occurs in one of them.
type Behavior struct {
	RetryAfter RetryAfterForm `json:"retryAfter,omitzero"` // of a 429 (section 8.3)
	LimitBody  BodyForm       `json:"limitBody,omitzero"`  // of a 429 (section 7)
	// DefaultStatus is the status of a pet that was added without one (section 3). If it is empty,
	// such a pet has no status, and responses leave the field out.
	DefaultStatus petstore.PetStatus `json:"defaultStatus,omitzero"`
	Order         Order              `json:"order,omitzero"` // of listPets (section 4.1)
	// a limit of listPets that is out of range or no number
	InvalidLimit InvalidParam `json:"invalidLimit,omitzero"`
	// an unknown status of listPets; InvalidClamp ignores it, too
	InvalidStatus InvalidParam `json:"invalidStatus,omitzero"`
	// how the windows of the rate limits run (section 8.1)
	Window Window `json:"window,omitzero"`
	// X-RateLimit-Reset of a banned key (section 8.3)
	BanReset BanReset `json:"banReset,omitzero"`
	// getPet returns 404 from 5 December 2030 on, by the server's clock
	Removal bool `json:"removal,omitzero"`
	// DeprecationHeaders adds Deprecation (RFC 9745), Sunset (RFC 8594) and Link to the responses
	// of getPet.
	DeprecationHeaders bool `json:"deprecationHeaders,omitzero"`
}

// RetryAfterForm is a way to write the Retry-After header, whose unit and format section 8.4 leaves
// open. The default is whole seconds, rounded up, at least 1.
type RetryAfterForm string

// The other forms of Retry-After.
const (
	RetryAfterDate   RetryAfterForm = "date"   // an HTTP-date, rounded up to the second
	RetryAfterAbsent RetryAfterForm = "absent" // no Retry-After at all, against section 8.3
)

// BodyForm is a kind of body for a 429, whose shape section 7 leaves open. The default is an Error
// object, as with every other refusal.
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
	OrderShuffled   Order = "shuffled"   // any pets in any order, another one at every request
)

// InvalidParam is a way to treat a query parameter whose value the document does not allow, which
// section 7 leaves open. The default is 400.
type InvalidParam string

// The other ways to treat an invalid parameter.
const (
	InvalidIgnore InvalidParam = "ignore" // as if it had not been sent
	InvalidClamp  InvalidParam = "clamp"  // the nearest valid value; the default if it is no number
)

// Window is a way to count requests per minute and per day, which section 8.1 leaves open. By
// default the first request begins a window, which starts at the whole second before it.
type Window string

// The other windows.
const (
	WindowAligned Window = "aligned" // the minute and the day (UTC) of the wall clock
	WindowSliding Window = "sliding" // the last 60 s and the last 24 h, to the second
)

// BanReset is a choice of X-RateLimit-Reset for a 429 to a banned key. The document does not say
// what the header is during a ban, but it decides whether a client can recognise the ban:
// a lockout of ratelimit.ReasonBan is inferred from a Retry-After that reaches beyond the Reset of the same
// response. The default is the end of the window, as without a ban.
type BanReset string

// The other values of X-RateLimit-Reset for a banned key.
const (
	BanResetBan    BanReset = "ban"    // the end of the ban, which looks like the end of a window
	BanResetAbsent BanReset = "absent" // no X-RateLimit-Reset at all, against section 8.2
)

// The choices of each field, the default first.
var (
	defaultStatuses = []petstore.PetStatus{"", petstore.PetStatusAvailable, petstore.PetStatusPending, petstore.PetStatusSold}
	retryAfterForms = []RetryAfterForm{"", RetryAfterDate, RetryAfterAbsent}
	bodyForms       = []BodyForm{"", BodyEmpty, BodyHTML}
	orders          = []Order{"", OrderDescending, OrderShuffled}
	invalidParams   = []InvalidParam{"", InvalidIgnore, InvalidClamp}
	windows         = []Window{"", WindowAligned, WindowSliding}
	banResets       = []BanReset{"", BanResetBan, BanResetAbsent}
	switches        = []bool{false, true}
)

// problem returns an error if a field has no valid choice.
func (b Behavior) problem() error {
	return cmp.Or(
		oneOf("defaultStatus", b.DefaultStatus, defaultStatuses),
		oneOf("retryAfter", b.RetryAfter, retryAfterForms),
		oneOf("limitBody", b.LimitBody, bodyForms),
		oneOf("order", b.Order, orders),
		oneOf("invalidLimit", b.InvalidLimit, invalidParams),
		oneOf("invalidStatus", b.InvalidStatus, invalidParams),
		oneOf("window", b.Window, windows),
		oneOf("banReset", b.BanReset, banResets),
	)
}

// String returns the choices that differ from the default, such as
// "retryAfter=date,window=sliding", or "default".
func (b Behavior) String() string {
	text, _ := encode(b) // no value of a Behavior has an error
	return cmp.Or(strings.NewReplacer("{", "", "}", "", `"`, "", ":", "=").Replace(string(text)), "default")
}

// Variants yields behaviours, with a name for each, that together cover every pair of choices which
// the service document leaves open:
//
//	for name, variant := range fake.Variants() {
//		t.Run(name, func(t *testing.T) {
//			srv := fake.NewTestServer(t, variant)
//			...
//
// The first is the default behaviour, named "default". The others are named after the choices in
// which they differ from it, such as "retryAfter=date,window=sliding". Names and order are the
// same in every run.
func Variants() iter.Seq2[string, Option] {
	// A pairwise covering array: each pair of choices is in at least one row, which a test checks. It has
	// 19 rows; no array has fewer than 12, since one field has four choices and another has three. Each
	// column is a field, each digit the index of a choice.
	rows := []string{
		"0000000000", "0111111111", "0222202210", "1012012001", "1100210211",
		"1201101000", "2021011200", "2102102100", "2210200101", "3000100110",
		"3120011011", "3211212200", "1020100100", "3002201000", "2000002010",
		"0200000100", "0001000000", "0002000000", "0000100200",
	}
	return func(yield func(string, Option) bool) {
		for _, row := range rows {
			at := func(column int) int { return int(row[column] - '0') }
			b := Behavior{
				DefaultStatus: defaultStatuses[at(0)], RetryAfter: retryAfterForms[at(1)], LimitBody: bodyForms[at(2)],
				Order: orders[at(3)], InvalidLimit: invalidParams[at(4)], InvalidStatus: invalidParams[at(5)],
				Window: windows[at(6)], BanReset: banResets[at(7)], Removal: switches[at(8)], DeprecationHeaders: switches[at(9)],
			}
			if !yield(b.String(), WithBehavior(b)) {
				return
			}
		}
	}
}
