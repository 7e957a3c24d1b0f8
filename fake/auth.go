package fake

import (
	"cmp"
	"net/http"
	"strings"
)

func (x *exchange) authenticate() {
	x.token, x.problem = readToken(x.req.Header)
	if k := x.srv.keys.lookup(x.token); k != nil && !k.revoked.Load() {
		x.key = k
	}
}

// readToken returns the bearer token of a request (section 5), or why it has none. Nothing of the
// header goes into the problem, since it may hold a real key.
func readToken(h http.Header) (token, problem string) {
	values := h["Authorization"]
	switch len(values) {
	case 0:
		return "", "the Authorization header is missing"
	case 1:
	default:
		return "", "there is more than one Authorization header"
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", "the Authorization header is not of the Bearer scheme"
	}
	token = strings.Trim(token, " ")
	if token == "" {
		return "", "the Authorization header has no key after Bearer"
	}
	return token, ""
}

func unauthorized(x *exchange) response {
	problem := cmp.Or(x.problem, "the API key is not known to the server, or was revoked")
	a := refusal(http.StatusUnauthorized, "%s; every operation requires a valid key as a bearer token (section 5)", problem)
	a.header.Set("Www-Authenticate", "Bearer")
	return a
}
