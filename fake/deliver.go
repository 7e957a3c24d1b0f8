package fake

import "net/http"

// deliver sends a response over a connection, or does to the connection what a fault asks for.
func (s *Server) deliver(w http.ResponseWriter, x *exchange, a *response) {
	switch {
	case a.lost != nil:
		abort(w)
	case !a.wire.shows():
		a.wire.row().breakOff(w)
	default:
		s.write(w, x, a)
	}
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
