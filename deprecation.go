package petstore

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Deprecation is what a response says of the end of its operation (RFC 9745, RFC 8594). The document announces the
// removal of getPet in words (section 4.3); a service may send these headers besides.
type Deprecation struct {
	// At is when the operation was, or will be, deprecated; zero if that is not said.
	At time.Time
	// Sunset is when the operation is removed; zero if that is not said.
	Sunset time.Time
	// Link is the value of the Link header, as it came.
	Link string
}

// Deprecation returns what the response says of the end of its operation, and false if it says nothing usable.
func (r Response) Deprecation() (Deprecation, bool) {
	d := Deprecation{Link: strings.Join(r.Header.Values("Link"), ", ")}
	// A date of RFC 9651: "@" and a Unix time.
	if seconds, ok := strings.CutPrefix(r.Header.Get("Deprecation"), "@"); ok {
		if n, err := strconv.ParseInt(seconds, 10, 64); err == nil && n >= 0 && n <= maxUnix {
			d.At = time.Unix(n, 0).UTC()
		}
	}
	if at, err := http.ParseTime(r.Header.Get("Sunset")); err == nil {
		d.Sunset = at
	}
	return d, !d.At.IsZero() || !d.Sunset.IsZero()
}
