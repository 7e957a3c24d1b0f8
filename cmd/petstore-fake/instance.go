package main

import (
	"io"
	"net/http"
	"strings"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/adminapi"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/requestpage"
	"github.com/petstore/petstore-go/fake"
)

// instance is the fake with the routes that this program puts around it, without a port.
type instance struct {
	srv     *fake.Server
	service http.Handler
	admin   *adminapi.API
}

// newInstance returns what the settings ask for. The key of the settings is the only
// one that is valid.
func newInstance(s settings, stderr io.Writer) *instance {
	n := requestpage.NewNotifier()
	srv := fake.NewServer(
		fake.WithNotify(n.Notify),
		fake.WithPlan(s.plan), fake.WithKey(s.key, s.plan), fake.WithPets(s.pets...),
		fake.WithBan(s.ban.after, s.ban.duration), fake.WithBehavior(s.behavior),
	)
	if s.key != fake.DefaultAPIKey {
		srv.RevokeKey(fake.DefaultAPIKey)
	}
	keys := requestpage.NewKeybook(s.key)
	keys.Number(keys.ID(s.key), srv.KeyNumber(s.key))
	a := adminapi.New(adminapi.Config{
		Server: srv, Keys: keys, Notifier: n, Faults: s.faults, Latency: s.latency,
		Public: s.public, Names: s.names,
	})
	return &instance{srv, &service{srv, a, newRequestLog(stderr, s.log, keys)}, a}
}

// ServeHTTP sends a request to the service or to the admin routes. It uses no http.ServeMux, which
// would redirect paths that the service must refuse.
func (i *instance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	boundBody(w, r)
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
	i.admin.Close()
	i.srv.Close()
}
