package fake

import (
	"bufio"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
)

// handle calls a handler of WithHandler. The handler writes to the client itself or, if a fault
// applies, to a recorder, so that the fault can change the response.
func (x *exchange) handle() response {
	if x.fault != noFault {
		rec := httptest.NewRecorder()
		x.srv.mux.ServeHTTP(rec, x.copyRequest())
		return response{status: rec.Code, header: rec.Result().Header, body: rec.Body.Bytes()}
	}
	maps.Copy(x.w.Header(), x.commonHeaders())
	w := &journalWriter{ResponseWriter: x.w, x: x}
	x.srv.mux.ServeHTTP(w, x.copyRequest())
	w.note(http.StatusOK, nil)
	return response{delivered: true}
}

// journalWriter is the http.ResponseWriter of a handler. What the handler writes goes to the
// journal, and then to the client.
type journalWriter struct {
	http.ResponseWriter
	x    *exchange
	resp response
}

// note adds a part of the body to the journal and, with the first part, the status and the header.
func (n *journalWriter) note(status int, body []byte) {
	if n.resp.status == 0 {
		n.resp.status, n.resp.header = status, n.Header().Clone()
	}
	n.resp.body = append(n.resp.body, body[:min(len(body), mostKept-len(n.resp.body))]...)
	n.x.noteResponse(n.resp)
}

// Unwrap returns the ResponseWriter of the client, for [http.ResponseController].
func (n *journalWriter) Unwrap() http.ResponseWriter { return n.ResponseWriter }

func (n *journalWriter) WriteHeader(status int) {
	if status >= http.StatusOK { // others come before the response; Hijack notes a 101
		n.note(status, nil)
	}
	n.ResponseWriter.WriteHeader(status)
}

func (n *journalWriter) Write(b []byte) (int, error) {
	n.note(http.StatusOK, b)
	return n.ResponseWriter.Write(b)
}

func (n *journalWriter) Flush() {
	n.note(http.StatusOK, nil)
	_ = http.NewResponseController(n.ResponseWriter).Flush() // http.Flusher has no error to return
}

func (n *journalWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	n.note(http.StatusSwitchingProtocols, nil)
	return http.NewResponseController(n.ResponseWriter).Hijack()
}
