package fake

import (
	"bufio"
	"net"
	"net/http"
	"net/http/httptest"
)

// handler is an operation of WithHandler.
type handler struct {
	http.Handler
	pattern, path string
}

// handle calls a handler of WithHandler. The handler writes to the client or, if a fault applies,
// to a recorder, so that the fault can change the response.
func (x *exchange) handle() response {
	if x.bodyErr != nil {
		return refusal(http.StatusBadRequest, "%v", x.bodyErr)
	}
	if x.fault != noFault {
		rec := httptest.NewRecorder()
		x.srv.mux.ServeHTTP(rec, x.copyRequest())
		return response{status: rec.Code, header: rec.Header(), body: rec.Body.Bytes()}
	}
	x.quota.addTo(x.w.Header(), x.srv.Now())
	t := &tee{ResponseWriter: x.w, x: x}
	x.srv.mux.ServeHTTP(t, x.copyRequest())
	t.add(http.StatusOK, nil)
	return response{delivered: true}
}

// tee is the http.ResponseWriter of a handler. What the handler writes goes to the journal, then to
// the client.
type tee struct {
	http.ResponseWriter
	x    *exchange
	resp response
}

// Unwrap returns the client's ResponseWriter, for [http.ResponseController].
func (t *tee) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// add adds a part of the body to the journal and, with the first part, the status and the header.
func (t *tee) add(status int, body []byte) {
	if t.resp.status == 0 {
		t.resp.status, t.resp.header = status, t.Header().Clone()
	}
	t.resp.body = append(t.resp.body, body[:min(len(body), maxKept-len(t.resp.body))]...)
	t.x.record(&t.resp)
}

func (t *tee) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols { // other statuses below 200 come before the response
		t.add(status, nil)
	}
	t.ResponseWriter.WriteHeader(status)
}

func (t *tee) Write(b []byte) (int, error) {
	t.add(http.StatusOK, b)
	return t.ResponseWriter.Write(b)
}

// Flush sends to the client what was written so far.
func (t *tee) Flush() {
	t.add(http.StatusOK, nil)
	_ = http.NewResponseController(t.ResponseWriter).Flush() // http.Flusher has no error to return
}

// Hijack gives the connection to the handler.
func (t *tee) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	t.add(http.StatusSwitchingProtocols, nil)
	return http.NewResponseController(t.ResponseWriter).Hijack()
}
