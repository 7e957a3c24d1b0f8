package fake

import (
	"io"
	"net"
	"net/http"
	"syscall"

	"github.com/petstore/petstore-go/internal/link"
)

// Wire is something that happens on the way between client and service, as part of a [Fault]. The
// empty Wire changes nothing. What a client observes is the same through every entry point, with
// the exceptions named below.
type Wire string

// The values of Wire. net/http silently repeats a GET if a connection that it used before breaks
// without a response. Therefore the server sends an interim response, 100 Continue, before it
// resets or closes a socket: a client that keeps its connections then sees the failure, too.
const (
	// WireReset resets the connection instead of answering; errors match syscall.ECONNRESET.
	WireReset Wire = "reset"
	// WireClose closes the connection instead of answering; errors match io.EOF, on a socket
	// io.ErrUnexpectedEOF.
	WireClose Wire = "close"
	// WireTruncate sends half of the body and closes the connection; errors match io.ErrUnexpectedEOF.
	WireTruncate Wire = "truncate"
	// WireGarbage sends bytes that are not HTTP.
	WireGarbage Wire = "garbage"
	// WireStall sends nothing until the client gives up.
	WireStall Wire = "stall"
	// WireLoginPage sends a page of HTML in place of the response, as a proxy does for those who have
	// not logged in: with the status 200, or that of the fault, and with a Location if that is 3xx.
	// The service does not see the request, so the page has no rate limit headers.
	WireLoginPage Wire = "login-page"
	// WireRefuse refuses the connection, so that nothing reaches the server: no count, no entry in
	// the journal; errors match syscall.ECONNREFUSED. Match sees the request without its body.
	// Through URL and ServeHTTP the connection exists already, so that it is reset in place of a
	// response, as by WireReset.
	WireRefuse Wire = "refuse"
)

type wireRow struct {
	wire     Wire
	effect   string                    // in words
	breakOff func(http.ResponseWriter) // ends the connection; nil if the client sees a response, or a part of it
}

// wires has a row for each constant. Tests compare the other lists of wires with this one.
var wires = []wireRow{
	{WireReset, "connection reset", reset},
	{WireClose, "connection closed without a response", hangUp},
	{WireTruncate, "body cut off after its first half", nil},
	{WireGarbage, "bytes that are not HTTP", sendGarbage},
	{WireStall, "no response until the client gives up", reset},
	{WireLoginPage, "a login page", nil},
	{WireRefuse, "connection refused", reset},
}

// Values returns all values of Wire but the empty one.
func (Wire) Values() (list []Wire) {
	for _, row := range wires {
		list = append(list, row.wire)
	}
	return list
}

// row returns the row of a wire, an empty one for none.
func (w Wire) row() (found wireRow) {
	for _, row := range wires {
		if row.wire == w {
			return row
		}
	}
	return found
}

// shows reports whether the client gets to see the response, or a part of it.
func (w Wire) shows() bool { return w.row().breakOff == nil }

// interim is a response that clients of net/http read and ignore.
const interim = "HTTP/1.1 100 Continue\r\n\r\n"

// hangUp closes a connection, in place of a response, so that the client does not repeat a request.
func hangUp(w http.ResponseWriter) { _ = passOver(hijack(w)).Close() }

func reset(w http.ResponseWriter) {
	c := passOver(hijack(w))
	if l, ok := c.(interface{ SetLinger(sec int) error }); ok {
		_ = l.SetLinger(0) // so that Close resets
	}
	_ = c.Close()
}

func sendGarbage(w http.ResponseWriter) {
	c := hijack(w)
	_, _ = io.WriteString(c, "\x16\x03\x00these-bytes-are-no-HTTP-response\r\n\r\n") // the client may be gone
	_ = c.Close()
}

func hijack(w http.ResponseWriter) net.Conn {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return conn
}

// passOver sends an interim response if the connection is a socket, and returns the connection.
func passOver(c net.Conn) net.Conn {
	if _, inMemory := c.(*link.Conn); !inMemory {
		_, _ = io.WriteString(c, interim) // the client may be gone
	}
	return c
}

func notConnected(reason error) error {
	return &net.OpError{Op: "dial", Net: "fake", Addr: link.ServerAddress, Err: reason}
}

type closedError struct{}

func (closedError) Error() string { return "fake: the server is closed" }

// Unwrap makes the error match net.ErrClosed; syscall.ECONNREFUSED, as after any dial to a port
// without a server; and a net.DNSError of a host that does not exist, since no client tries such a
// host again.
func (closedError) Unwrap() []error {
	return []error{
		net.ErrClosed, syscall.ECONNREFUSED, &net.DNSError{Err: "no such host", IsNotFound: true},
	}
}
