package fake

import (
	"net/http"
	"net/http/httptest"
)

// handler is an operation of WithHandler.
type handler struct {
	http.Handler
	pattern string
}

// handle calls a handler of WithHandler, and returns what it wrote.
func (x *exchange) handle() response {
	if x.bodyErr != nil {
		return refusal(http.StatusBadRequest, "%v", x.bodyErr)
	}
	rec := httptest.NewRecorder()
	x.srv.mux.ServeHTTP(rec, x.copyRequest())
	return response{status: rec.Code, header: rec.Header(), body: rec.Body.Bytes()}
}
