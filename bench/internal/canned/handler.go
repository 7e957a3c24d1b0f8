package canned

import (
	"io"
	"net/http"
)

// NewHandler returns a handler that gives the same answers over the network.
func NewHandler() http.Handler {
	b := newBook()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		b.answer(r).WriteTo(w)
	})
}

// WriteTo writes the answer. The date is net/http's.
func (a *Answer) WriteTo(w http.ResponseWriter) {
	h := w.Header()
	for name, values := range a.Header {
		if name != "Date" {
			h[name] = values
		}
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
}
