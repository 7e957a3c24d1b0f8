package main

import (
	"net/http"
	"slices"
)

// anyOrigin is the value of -cors for the pages of every origin.
const anyOrigin = "*"

// What a page may send and read. The service has no cookies, so that no page needs credentials.
const (
	corsMethods  = "GET, POST"
	corsRequest  = "Authorization, Content-Type"
	corsResponse = "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, Date," +
		" WWW-Authenticate, Allow, Deprecation, Sunset, Link"
	corsMaxAge = "600" // seconds for which a browser need not ask again
)

// allowOrigins lets web pages of some origins call a handler (the CORS protocol). It answers the
// preflight requests of browsers itself: the service does not count them or add them to its
// journal.
func allowOrigins(origins []string, next http.Handler) http.Handler {
	if len(origins) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Origin")
		allowed := allowedOrigin(origins, r.Header.Get("Origin"))
		if allowed == "" {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Access-Control-Allow-Origin", allowed)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			w.Header().Set("Access-Control-Allow-Methods", corsMethods)
			w.Header().Set("Access-Control-Allow-Headers", corsRequest)
			w.Header().Set("Access-Control-Max-Age", corsMaxAge)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Access-Control-Expose-Headers", corsResponse)
		next.ServeHTTP(w, r)
	})
}

// allowedOrigin returns the value of Access-Control-Allow-Origin, or "" for no such header.
func allowedOrigin(origins []string, origin string) string {
	switch {
	case origin != "" && slices.Contains(origins, anyOrigin):
		return anyOrigin
	case slices.Contains(origins, origin):
		return origin
	}
	return ""
}
