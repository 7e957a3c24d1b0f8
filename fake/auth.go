package fake

import (
	"net/http"
	"strings"
)

// credential is what a request presents in its Authorization header (section 5).
type credential struct {
	token   string
	problem string // why there is no token
}

// readCredential reads the bearer token. Nothing of the header goes into the problem, since it may
// hold a real key.
func readCredential(h http.Header) credential {
	values := h["Authorization"]
	switch len(values) {
	case 0:
		return credential{problem: "the Authorization header is missing"}
	case 1:
	default:
		return credential{problem: "there is more than one Authorization header"}
	}
	scheme, token, found := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return credential{problem: "the Authorization header is not of the Bearer scheme"}
	}
	token = strings.Trim(token, " ")
	if !found || token == "" {
		return credential{problem: "the Authorization header has no key after Bearer"}
	}
	return credential{token: token}
}

func unauthorized(r *http.Request, problem string) response {
	message := problem + "; every operation requires a valid key as a bearer token (section 5)"
	if isPreflight(r) { // browsers send no key with it, so that the key is not what is wrong
		message = "this is the preflight request of a web page, whose origin " + quote(r.Header.Get("Origin")) +
			" is not allowed to call; the flag -cors of petstore-fake allows origins"
	}
	a := refusal(http.StatusUnauthorized, "%s", message)
	a.set("Www-Authenticate", "Bearer")
	return a
}

// isPreflight reports whether a browser asks with a request whether a web page may send another
// (the CORS protocol).
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}
