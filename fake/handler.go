package fake

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
)

// WithHandler adds an operation that the service has and this fake does not. The pattern is one of
// [http.ServeMux], for a path below /v1, such as "PUT /v1/orders/{id}". A request for h is
// authenticated, counts against the limits, may meet a fault, and is in the journal, with an empty
// Operation; the response gets the rate limit headers. A pattern must not conflict with another
// one, nor with an operation of the document.
func WithHandler(pattern string, h http.Handler) Option {
	_, path, _ := strings.Cut(pattern, " ")
	path = cmp.Or(strings.TrimSpace(path), pattern)
	must(h != nil, "WithHandler", "the handler is nil")
	must(strings.HasPrefix(path, "/v1/"), "WithHandler", "the path of the pattern %s is not below /v1/", quote(pattern))
	handle(newMux(), pattern, h)
	return func(c *config) { c.handlers = append(c.handlers, patternHandler{pattern, h}) }
}

type patternHandler struct {
	pattern string
	handler http.Handler
}

// newMux returns a mux with the operations of the document, so that it refuses patterns that
// conflict with them. It does not serve these operations.
func newMux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, o := range operations {
		mux.Handle(o.Method+" "+version+o.Path, http.NotFoundHandler())
	}
	return mux
}

// handle adds a handler to a mux. It turns a panic of the mux, about a wrong pattern, into one of
// WithHandler.
func handle(mux *http.ServeMux, pattern string, h http.Handler) {
	defer func() {
		p := recover()
		must(p == nil, "WithHandler", "%v", p)
	}()
	mux.Handle(pattern, h)
}

func (s *Server) handled(r *http.Request) bool {
	_, pattern := s.mux.Handler(r)
	return slices.ContainsFunc(s.config.handlers, func(h patternHandler) bool { return h.pattern == pattern })
}

func (x *exchange) serveHandler() response {
	if x.bodyErr != nil {
		return refusal(http.StatusBadRequest, "%v", x.bodyErr)
	}
	rec := httptest.NewRecorder()
	x.srv.mux.ServeHTTP(rec, x.copyRequest())
	return response{status: rec.Code, header: rec.Header(), body: rec.Body.Bytes()}
}
