package petstoreotel

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"

	"github.com/petstore/petstore-go"
)

// server is where requests go.
type server struct {
	address string
	port    int // 0: not known
}

func serverOf(u *url.URL) server {
	s := server{address: u.Hostname()}
	switch port := u.Port(); {
	case port != "":
		s.port, _ = strconv.Atoi(port)
	case u.Scheme == "https":
		s.port = 443
	case u.Scheme == "http":
		s.port = 80
	}
	return s
}

func (s server) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{semconv.ServerAddress(s.address), semconv.ServerPort(s.port)}
}

// methods are HTTP's own, by the conventions.
var methods = []string{"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"}

// describe returns the name of a request's span, and the attributes that are known before it is sent:
// those of the span, of which a sampler can use all, and those that the duration has as well.
func describe(req *http.Request, c petstore.Call) (name string, span, both []attribute.KeyValue) {
	u := cmp.Or(req.URL, &url.URL{}) // base will refuse a request without one
	method := cmp.Or(req.Method, http.MethodGet)
	name = method
	if !slices.Contains(methods, method) {
		span = append(span, semconv.HTTPRequestMethodOriginal(method))
		name, method = "HTTP", string(httpconv.RequestMethodOther)
	}
	span = append(span, semconv.URLFull(fullURL(u, c)))
	both = append(serverOf(u).attributes(), semconv.HTTPRequestMethodKey.String(method), semconv.URLScheme(u.Scheme))
	if c.Template != "" {
		name += " " + c.Template
		span = append(span, AttributeOperation.String(c.Operation))
		both = append(both, semconv.URLTemplate(c.Template))
	}
	if c.Attempt > 1 {
		span = append(span, semconv.HTTPRequestResendCount(c.Attempt-1))
	}
	return name, append(span, both...), both
}

// fullURL returns the part of u that the service document describes: the path of c, and of the
// query the two parameters of listPets with values that the document allows. All else is left out,
// because it may be secret; so is the path of a request that belongs to no call.
func fullURL(u *url.URL, c petstore.Call) string {
	full := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	if c.Operation == "" {
		if strings.Trim(u.Path, "/") != "" {
			full.Path, full.RawPath = "/"+redacted, ""
		}
		return full.String()
	}
	sent, known := u.Query(), make(url.Values)
	for name, valid := range parameters {
		if value := sent.Get(name); valid(value) {
			known.Set(name, value)
		} else if sent.Has(name) {
			known.Set(name, redacted)
		}
	}
	full.RawQuery = known.Encode()
	return full.String()
}

// redacted replaces hidden values, as the conventions require.
const redacted = "REDACTED"

// parameters are the query parameters of the service document (section 4.1), and report whether a
// value is valid.
var parameters = map[string]func(string) bool{
	"limit":  func(value string) bool { _, err := strconv.Atoi(value); return err == nil },
	"status": func(value string) bool { return petstore.PetStatus(value).Valid() },
}

// callOf returns the call that sends req. A request by the function of [petstore.WithAPIKeyFunc]
// has the call's context as well, but another URL.
func callOf(req *http.Request) (petstore.Call, bool) {
	c, ok := petstore.CallFromContext(req.Context())
	if !ok || req.URL == nil || req.Method != c.Method || !matches(req.URL.Path, c.Template) {
		return petstore.Call{}, false
	}
	return c, true
}

// matches reports whether path is template, with an int64 for its parameter if it has one.
func matches(path, template string) bool {
	fixed, parameter := strings.CutSuffix(template, "{petId}")
	value, ok := strings.CutPrefix(path, fixed)
	if !parameter {
		return ok && value == ""
	}
	_, err := strconv.ParseInt(value, 10, 64)
	return ok && err == nil
}
