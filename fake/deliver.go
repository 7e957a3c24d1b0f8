package fake

import (
	"io"
	"net"
	"net/http"

	"github.com/petstore/petstore-go/fake/internal/link"
)

// deliver sends a response over a connection, or does to the connection what a fault asks for.
func (s *Server) deliver(w http.ResponseWriter, x *exchange, a *response) {
	switch {
	case a.lost != nil || a.wire == WireStall:
		panic(http.ErrAbortHandler) // which closes the connection without a response
	case a.wire == WireReset || a.wire == WireRefuse:
		breakOff(w, true)
	case a.wire == WireClose:
		breakOff(w, false)
	case a.wire == WireGarbage:
		conn := hijack(w)
		_, _ = io.WriteString(conn, garbage) // the client may be gone
		_ = conn.Close()
	default:
		s.write(w, x, a)
	}
}

// breakOff closes or resets a connection instead of answering.
func breakOff(w http.ResponseWriter, reset bool) {
	c := hijack(w)
	if own, inMemory := c.(*link.Conn); !inMemory {
		_, _ = io.WriteString(c, interim)
	} else if reset {
		own.Reset()
	}
	if l, ok := c.(interface{ SetLinger(sec int) error }); ok && reset {
		_ = l.SetLinger(0) // so that Close resets
	}
	_ = c.Close()
}

// hijack takes the connection over.
func hijack(w http.ResponseWriter) net.Conn {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return conn
}

// write sends a response, or the part of it that a fault lets through.
func (s *Server) write(w http.ResponseWriter, x *exchange, a *response) {
	a.header(w.Header())
	w.WriteHeader(a.status)
	body := a.payload()
	if a.wire == WireDrip {
		drip(w, x, body)
		return
	}
	_, _ = w.Write(body) // the client may be gone
	if a.wire == WireTruncate {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// drip sends a body byte by byte.
func drip(w http.ResponseWriter, x *exchange, body []byte) {
	flush := http.NewResponseController(w).Flush
	for i := range body {
		_ = flush()
		if x.pause(dripPause) != nil {
			panic(http.ErrAbortHandler)
		}
		if i == len(body)-1 {
			x.delivered()
		}
		_, _ = w.Write(body[i : i+1])
	}
}
