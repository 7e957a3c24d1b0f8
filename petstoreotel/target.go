package petstoreotel

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"

	"github.com/petstore/petstore-go"
)

// target is where a request goes, without secrets.
type target struct {
	server   server
	scheme   string
	full     string // the URL without secrets
	method   httpconv.RequestMethodAttr
	original string // the method, if it is not one of HTTP's own
	template string // "": not known
}

type server struct {
	address string
	port    int // 0: not known
}

func newTarget(req *http.Request, c petstore.Call) target {
	u := req.URL
	if u == nil {
		u = &url.URL{} // base will refuse it
	}
	t := target{server: serverOf(u), scheme: u.Scheme, full: fullURL(u, c), template: c.Template}
	switch method := httpconv.RequestMethodAttr(req.Method); method {
	case "":
		t.method = httpconv.RequestMethodGet
	case httpconv.RequestMethodConnect, httpconv.RequestMethodDelete, httpconv.RequestMethodGet,
		httpconv.RequestMethodHead, httpconv.RequestMethodOptions, httpconv.RequestMethodPatch,
		httpconv.RequestMethodPost, httpconv.RequestMethodPut, httpconv.RequestMethodQuery,
		httpconv.RequestMethodTrace:
		t.method = method
	default:
		t.method, t.original = httpconv.RequestMethodOther, req.Method
	}
	return t
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

// fullURL returns the part of u that the service document describes: the path of c, and of the
// query the two parameters of listPets with values that the document allows. All else is left out,
// because it may be secret; so is the path of a request that belongs to no call.
func fullURL(u *url.URL, c petstore.Call) string {
	full := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	if c.Operation == "" && strings.Trim(u.Path, "/") != "" {
		full.Path, full.RawPath = "/"+redacted, ""
	}
	if u.RawQuery == "" || c.Operation == "" {
		return full.String()
	}
	sent, known := u.Query(), make(url.Values)
	for name, valid := range parameters {
		if !sent.Has(name) {
			continue
		}
		known.Set(name, redacted)
		if value := sent.Get(name); valid(value) {
			known.Set(name, value)
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

func (s server) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{semconv.ServerAddress(s.address), semconv.ServerPort(s.port)}
}

func (t *target) spanName() string {
	name := string(t.method)
	if t.original != "" {
		name = "HTTP"
	}
	if t.template != "" {
		name += " " + t.template
	}
	return name
}

// metricAttributes returns the attributes of the duration beside method, server and outcome.
func (t *target) metricAttributes() []attribute.KeyValue {
	scheme := semconv.URLScheme(t.scheme)
	if t.template == "" {
		return []attribute.KeyValue{scheme}
	}
	return []attribute.KeyValue{scheme, semconv.URLTemplate(t.template)}
}

// attributes returns the attributes that are known before the request is sent: a sampler can use
// them.
func (t *target) attributes(c petstore.Call) []attribute.KeyValue {
	attrs := make([]attribute.KeyValue, 0, 8)
	attrs = append(attrs,
		semconv.HTTPRequestMethodKey.String(string(t.method)),
		semconv.ServerAddress(t.server.address),
		semconv.ServerPort(t.server.port),
		semconv.URLScheme(t.scheme),
		semconv.URLFull(t.full),
	)
	if t.original != "" {
		attrs = append(attrs, semconv.HTTPRequestMethodOriginal(t.original))
	}
	if t.template != "" {
		attrs = append(attrs,
			AttributeOperation.String(c.Operation),
			semconv.URLTemplate(t.template),
		)
	}
	if c.Attempt > 1 {
		attrs = append(attrs, semconv.HTTPRequestResendCount(c.Attempt-1))
	}
	return attrs
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
