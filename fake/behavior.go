package fake

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
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
// ratelimit.ReasonBan is inferred from a Retry-After that reaches beyond the Reset of the same
// response. The default is the end of the window, as without a ban.
type BanReset string

// The other values of X-RateLimit-Reset for a banned key.
const (
	BanResetBan    BanReset = "ban"    // the end of the ban, which looks like the end of a window
	BanResetAbsent BanReset = "absent" // no X-RateLimit-Reset at all, against section 8.2
)

// axis is one field of a Behavior as text: its name and its choices, the default first.
type axis struct {
	name    string
	choices []string
	get     func() string
	set     func(choice string)
}

// axesOf returns the fields of b in the order in which String writes them.
func axesOf(b *Behavior) []axis {
	return []axis{
		newAxis("default-status", &b.DefaultStatus, "none", "available", "pending", "sold"),
		newAxis("retry-after", &b.RetryAfter, "seconds", "date", "absent"),
		newAxis("limit-body", &b.LimitBody, "error", "empty", "html"),
		newAxis("order", &b.Order, "ascending", "descending", "shuffled"),
		newAxis("invalid-limit", &b.InvalidLimit, "reject", "ignore", "clamp"),
		newAxis("invalid-status", &b.InvalidStatus, "reject", "ignore", "clamp"),
		newAxis("window", &b.Window, "fixed", "aligned", "sliding"),
		newAxis("ban-reset", &b.BanReset, "window", "ban", "absent"),
		newSwitch("removal", &b.Removal),
		newSwitch("deprecation-headers", &b.DeprecationHeaders),
	}
}

// newAxis returns the axis of a field whose default, the first choice, is stored as empty.
func newAxis[T ~string](name string, field *T, choices ...string) axis {
	get := func() string { return cmp.Or(string(*field), choices[0]) }
	return axis{name, choices, get, func(choice string) {
		*field = ""
		if choice != choices[0] {
			*field = T(choice)
		}
	}}
}

func newSwitch(name string, field *bool) axis {
	get := func() string { return map[bool]string{false: "off", true: "on"}[*field] }
	return axis{name, []string{"off", "on"}, get, func(choice string) { *field = choice == "on" }}
}

// choose sets the field, and returns an error if the axis has no such choice.
func (a axis) choose(choice string) error {
	if !slices.Contains(a.choices, choice) {
		return fmt.Errorf("%s is %s; it must be one of %s",
			a.name, quote(choice), strings.Join(a.choices, ", "))
	}
	a.set(choice)
	return nil
}

// String returns the choices that differ from the default, such as
// "retry-after=date,window=sliding", or "default".
func (b Behavior) String() string {
	var words []string
	for _, a := range axesOf(&b) {
		if choice := a.get(); choice != a.choices[0] {
			words = append(words, a.name+"="+choice)
		}
	}
	return cmp.Or(strings.Join(words, ","), "default")
}

// normalize empties each field that has its default, and returns an error if one has no valid
// choice.
func (b *Behavior) normalize() error {
	for _, a := range axesOf(b) {
		if err := a.choose(a.get()); err != nil {
			return err
		}
	}
	return nil
}

// UnmarshalText reads what String writes, and so the names that [Variants] yields. A field that the
// text does not name gets its default.
func (b *Behavior) UnmarshalText(text []byte) error {
	*b = Behavior{}
	if string(text) == "default" {
		return nil
	}
	axes := axesOf(b)
	for word := range strings.SplitSeq(string(text), ",") {
		name, choice, _ := strings.Cut(strings.TrimSpace(word), "=")
		i := slices.IndexFunc(axes, func(a axis) bool { return a.name == name })
		if i < 0 {
			var names []string
			for _, a := range axes {
				names = append(names, a.name)
			}
			return noSuch("behaviour", name, names)
		}
		if err := axes[i].choose(choice); err != nil {
			return err
		}
		axes = slices.Delete(axes, i, i+1) // a second choice for the same field is an error
	}
	return nil
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
// which they differ from it, such as "retry-after=date,window=sliding". Names and order are the
// same in every run.
func Variants() iter.Seq2[string, Option] {
	// A pairwise covering array of the axes: each pair of choices is in at least one row, which a test
	// checks. It has 19 rows; no array has fewer than 12, since one axis has four choices and another
	// has three. Each column is an axis in the order of axesOf, each digit the index of a choice.
	rows := []string{
		"0000000000", "0111111111", "0222202210", "1012012001", "1100210211",
		"1201101000", "2021011200", "2102102100", "2210200101", "3000100110",
		"3120011011", "3211212200", "1020100100", "3002201000", "2000002010",
		"0200000100", "0001000000", "0002000000", "0000100200",
	}
	return func(yield func(string, Option) bool) {
		for _, row := range rows {
			var b Behavior
			for column, a := range axesOf(&b) {
				a.set(a.choices[row[column]-'0'])
			}
			if !yield(b.String(), WithBehavior(b)) {
				return
			}
		}
	}
}
