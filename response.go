package petstore

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go/internal/headers"
)

// Response describes the last HTTP exchange of the call that returned a result or an [APIError].
type Response struct {
	// StatusCode is the HTTP status code.
	StatusCode int
	// Header is the response's header.
	Header http.Header
	// RateLimit is the rate limit from the X-RateLimit headers (section 8.2).
	RateLimit RateLimit
	// Attempts is the number of requests that the call sent.
	Attempts int
	// RawBody is the unchanged body of a success; nil without [WithRawBody].
	RawBody []byte
}

// Deprecation has the headers with which a response announces the removal of its operation (RFC
// 9745, RFC 8594). The service document announces the removal of getPet in its text (section 4.3);
// a service may send these headers as well.
type Deprecation struct {
	// At is the time from which the operation is deprecated; zero without a valid Deprecation
	// header.
	At time.Time
	// Sunset is the time of the removal; zero without a valid Sunset header.
	Sunset time.Time
	// Link is the unchanged value of the Link header.
	Link string
}

// Deprecation returns the response's deprecation headers, and false if neither Deprecation nor
// Sunset is valid.
func (r Response) Deprecation() (Deprecation, bool) {
	d := Deprecation{Link: strings.Join(r.Header.Values("Link"), ", ")}
	// A date by RFC 9651: "@" and a Unix time.
	if seconds, ok := strings.CutPrefix(r.Header.Get("Deprecation"), "@"); ok {
		if n, err := strconv.ParseInt(seconds, 10, 64); err == nil && n >= 0 && n <= headers.MaxUnix {
			d.At = time.Unix(n, 0).UTC()
		}
	}
	if at, err := http.ParseTime(r.Header.Get("Sunset")); err == nil {
		d.Sunset = at
	}
	return d, !d.At.IsZero() || !d.Sunset.IsZero()
}
