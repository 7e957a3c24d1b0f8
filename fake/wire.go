package fake

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/petstore/petstore-go/fake/internal/link"
)

// Wire is something that happens to the connection, as part of a [Fault]. What a client observes is
// the same through every entry point, with the exceptions named below.
type Wire int

// The values of Wire. A client that keeps its connections sees a reset or a close, too: net/http
// repeats a GET in silence if a connection that it used before breaks without a response, and so an
// interim response, 100 Continue, is sent first on a socket.
const (
	// WireNone leaves the connection alone.
	WireNone Wire = iota
	// WireReset resets the connection instead of answering; errors match syscall.ECONNRESET.
	WireReset
	// WireClose closes the connection instead of answering: io.EOF, on a socket
	// io.ErrUnexpectedEOF.
	WireClose
	// WireTruncate sends half of the body and closes the connection: unexpected EOF.
	WireTruncate
	// WireGarbage sends bytes that are not HTTP.
	WireGarbage
	// WireStall sends nothing until the client gives up.
	WireStall
	// WireDrip sends a byte of the body every 100 ms.
	WireDrip
	// WireRefuse refuses the connection, so that nothing reaches the server: no count, no entry in
	// the journal; errors match syscall.ECONNREFUSED. Through Client, HTTPClient and Transport the
	// request is looked at as the client made it, and Match sees its body only if it can be read
	// again (http.Request.GetBody). Through URL and ServeHTTP the connection exists already, so
	// that it is reset in place of a response, as by WireReset.
	WireRefuse
)

// wireNames returns the names of all wires, in the order of the constants.
func wireNames() []string {
	return []string{"none", "reset", "close", "truncate", "garbage", "stall", "drip", "refuse"}
}

func (w Wire) known() bool { return w >= 0 && int(w) < len(wireNames()) }

// String returns the name of the constant in lower case, without Wire.
func (w Wire) String() string {
	if !w.known() {
		return fmt.Sprintf("Wire(%d)", int(w))
	}
	return wireNames()[w]
}

// dripPause is the time between two bytes of WireDrip.
const dripPause = 100 * time.Millisecond

// interim is a response that net/http clients read and pass over.
const interim = "HTTP/1.1 100 Continue\r\n\r\n"

// garbage is what WireGarbage sends.
const garbage = "\x16\x03\x00these-bytes-are-no-HTTP-response\r\n\r\n"

// gone returns the error of a dial to a server that is closed. It is that of a host that does not
// exist, since a client does not try to reach such a host again.
func gone() error {
	return notConnected(closedError{})
}

// notConnected returns the error of a dial that failed, for a reason.
func notConnected(reason error) error {
	return &net.OpError{Op: "dial", Net: "fake", Addr: link.ServerAddress, Err: reason}
}

// closedError is the reason in the error of gone.
type closedError struct{}

func (closedError) Error() string { return "fake: the server is closed" }

// Unwrap makes the error match net.ErrClosed, syscall.ECONNREFUSED as any dial without a server,
// and a net.DNSError of a host that does not exist.
func (closedError) Unwrap() []error {
	return []error{
		net.ErrClosed, syscall.ECONNREFUSED, &net.DNSError{Err: "no such host", IsNotFound: true},
	}
}

// refused returns the error of a dial that no server accepted.
func refused() error {
	return notConnected(os.NewSyscallError("connect", syscall.ECONNREFUSED))
}

// errMalformed is the error of Transport for garbage, in the words of net/http.
var errMalformed = errors.New("net/http: HTTP/1.x transport connection broken: malformed HTTP response")
