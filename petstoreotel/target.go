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

// target is where a request goes, as far as that is for everybody to see.
type target struct {
	server   server
	host     string // as in the URL, with its port
	scheme   string
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
		u = &url.URL{} // to be refused by base
	}
	t := target{server: serverOf(u), host: u.Host, scheme: u.Scheme, template: c.Template}
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

// metricAttributes are what the duration has beside method, server and outcome.
func (t *target) metricAttributes() []attribute.KeyValue {
	scheme := semconv.URLScheme(t.scheme)
	if t.template == "" {
		return []attribute.KeyValue{scheme}
	}
	return []attribute.KeyValue{scheme, semconv.URLTemplate(t.template)}
}

// attributes are those that are known before the request is sent, so that a sampler can go by them.
func (t *target) attributes(c petstore.Call) []attribute.KeyValue {
	attrs := make([]attribute.KeyValue, 0, 8)
	attrs = append(attrs,
		semconv.HTTPRequestMethodKey.String(string(t.method)),
		semconv.ServerAddress(t.server.address),
		semconv.ServerPort(t.server.port),
		semconv.URLScheme(t.scheme),
	)
	if t.original != "" {
		attrs = append(attrs, semconv.HTTPRequestMethodOriginal(t.original))
	}
	if t.template != "" {
		attrs = append(attrs,
			AttributeOperation.String(c.Operation),
			semconv.URLTemplate(t.template),
			semconv.URLFull(t.scheme+"://"+t.host+t.template),
		)
	}
	if c.Attempt > 1 {
		attrs = append(attrs, semconv.HTTPRequestResendCount(c.Attempt-1))
	}
	return attrs
}

// callOf returns the call that sends req. What the function of [petstore.WithAPIKeyFunc] asks for with the call's
// context is part of its trace, but goes elsewhere.
func callOf(req *http.Request) (petstore.Call, bool) {
	c, ok := petstore.CallFromContext(req.Context())
	if !ok || req.URL == nil || req.Method != c.Method || !matches(req.URL.Path, c.Template) {
		return petstore.Call{}, false
	}
	return c, true
}

// matches reports whether path is template with a value for its parameter, if it has one.
func matches(path, template string) bool {
	fixed, parameter := strings.CutSuffix(template, "{petId}")
	value, ok := strings.CutPrefix(path, fixed)
	return ok && parameter == (value != "")
}
