package main

import (
	_ "embed"
	"io"
	"net/http"
	"strings"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/adminapi"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// instance is the fake with its admin routes and its log: the program without a port.
type instance struct {
	srv     *fakecontrol.Server
	service http.Handler // the fake with its log
	admin   *adminapi.API
}

// document describes the service for tools. It is the only one: the tests of e2e/openapi read it, too.
//
//go:embed openapi.yaml
var document []byte

// newInstance returns an instance with some settings.
func newInstance(s settings, stderr io.Writer) *instance {
	i := &instance{}
	i.srv = fakecontrol.New(s.keys[0].Key, func(int) { i.admin.Page().Changed() }, s.fakeOptions()...)
	i.service = withLog(i.srv, stderr, s.log)
	i.admin = adminapi.New(i.srv, document, s.public, s.names)
	return i
}

// fakeOptions returns the settings as options of the fake. All of them are options, so that a
// restart of the fake puts everything back.
func (s *settings) fakeOptions() []fake.Option {
	opts := []fake.Option{fake.WithPlan(*s.keys[0].Plan), fake.WithPets(s.pets...), fake.WithFaults(s.faults...)}
	opts = append(opts, s.others...)
	for _, k := range s.keys[1:] {
		opts = append(opts, fake.WithKey(k.Key, *k.Plan))
	}
	if s.strict {
		opts = append(opts, fake.WithStrict())
	}
	return opts
}

// ServeHTTP sends a request to the service or to the admin routes. It uses no http.ServeMux, which
// would redirect paths that the service must refuse.
func (i *instance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if isAdmin(r.URL.Path) {
		i.admin.ServeHTTP(w, r)
		return
	}
	i.service.ServeHTTP(w, r)
}

// isAdmin reports whether a path is below that of the admin routes.
func isAdmin(path string) bool {
	return strings.HasPrefix(path, adminapi.Path) || path == strings.TrimSuffix(adminapi.Path, "/")
}

func (i *instance) close() {
	i.admin.Page().Close()
	i.srv.Close()
}
