package fake

import petstore "github.com/petstore/petstore-go"

// Behavior holds a choice for every point on which the service document is silent and real
// deployments may differ. The zero value is the default behaviour. [Variants] yields enough of them
// to cover every pair of choices.
type Behavior struct {
	// RetryAfter is the form of the Retry-After header of a 429 (section 8.3).
	RetryAfter RetryAfterForm
	// LimitBody is the body of a 429 (section 7).
	LimitBody BodyForm
	// DefaultStatus is given to a pet added without a status (section 3). Empty: it has none,
	// and no response shows one.
	DefaultStatus petstore.PetStatus
	// Order is the order in which listPets returns pets (section 4.1).
	Order Order
	// InvalidLimit is how listPets treats a limit that is out of range or no number (section 7).
	InvalidLimit InvalidParam
	// InvalidStatus is how listPets treats an unknown status (section 7). There is nothing to clamp
	// it to: InvalidClamp is InvalidIgnore.
	InvalidStatus InvalidParam
	// Window is how the windows of the rate limits run (section 8.1).
	Window Window
	// BanReset is the X-RateLimit-Reset of a banned key (section 8.3).
	BanReset BanReset
	// Removal makes getPet return 404 from 5 December 2030 on, by the server's clock (section 9).
	Removal bool
	// DeprecationHeaders adds Deprecation (RFC 9745), Sunset (RFC 8594) and Link to the responses
	// of getPet.
	DeprecationHeaders bool
}

// RetryAfterForm is a way to write the Retry-After header.
type RetryAfterForm int

// The forms of Retry-After, whose unit and format section 8.4 leaves open.
const (
	RetryAfterSeconds RetryAfterForm = iota // whole seconds, rounded up, at least 1
	RetryAfterDate                          // an HTTP-date, rounded up to the second
	RetryAfterAbsent                        // no Retry-After at all, against section 8.3
)

// BodyForm is a kind of body for a 429.
type BodyForm int

// The bodies of a 429, whose shape section 7 leaves open.
const (
	BodyError BodyForm = iota // an Error object, as with every other refusal
	BodyEmpty                 // none
	BodyHTML                  // a page, as gateways send
)

// Order is an order of pets.
type Order int

// The orders of listPets, which section 4.1 leaves open.
const (
	OrderAscending  Order = iota // by ascending id
	OrderDescending              // by descending id
	OrderShuffled                // any pets in any order, another one at every request
)

// InvalidParam is a way to treat a query parameter whose value the document does not allow.
type InvalidParam int

// The ways to treat an invalid parameter, which section 7 leaves open.
const (
	InvalidReject InvalidParam = iota // 400
	InvalidIgnore                     // as if it had not been sent
	InvalidClamp                      // the nearest valid value; the default if it is no number
)

// Window is a way to count requests per minute and per day.
type Window int

// The windows, which section 8.1 leaves open.
const (
	WindowFixed   Window = iota // begun by its first request, on the whole second before it
	WindowAligned               // the minute and the day (UTC) of the wall clock
	WindowSliding               // the last 60 s and the last 24 h, to the second
)

// BanReset is a choice of X-RateLimit-Reset for a 429 to a banned key.
type BanReset int

// The values of X-RateLimit-Reset for a banned key. The document does not say what the header is
// during a ban, and it decides whether a client can recognise one: petstore.ScopeBan is inferred
// from a Retry-After that reaches beyond the Reset of the same response.
const (
	BanResetWindow BanReset = iota // the end of the window, as without a ban
	BanResetBan                    // the end of the ban, which looks like the end of a window
	BanResetAbsent                 // no X-RateLimit-Reset at all, against section 8.2
)
