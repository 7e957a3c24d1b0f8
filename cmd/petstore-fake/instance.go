package main

import (
	"io"
	"net/http"

	"github.com/petstore/petstore-go/fake"
)

// instance is the fake with all that this program puts around it, but for the port.
type instance struct {
	srv     *fake.Server
	service http.Handler
	admin   *admin
}

// newInstance returns what the settings ask for. The key of the settings is the only
// one that is valid.
func newInstance(s settings, stderr io.Writer) *instance {
	f := newFeed()
	srv := fake.NewServer(
		fake.WithNotify(f.touch),
		fake.WithPlan(s.plan), fake.WithKey(s.key, s.plan), fake.WithPets(s.pets...),
		fake.WithBan(s.ban.after, s.ban.duration), fake.WithBehavior(s.behavior),
	)
	if s.key != fake.DefaultAPIKey {
		srv.RevokeKey(fake.DefaultAPIKey)
	}
	keys := newKeybook(s.key)
	keys.number(keys.id(s.key), srv.KeyNumber(s.key))
	a := newAdmin(s, srv, keys, f)
	log := newRequestLog(stderr, s.log, keys)
	return &instance{srv, &service{srv, a.latency, a.traffic, f, log}, a}
}

// ServeHTTP leads a request to the service or to the admin routes. It asks no http.ServeMux: that would
// redirect paths which the service has to refuse.
func (i *instance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	noteUse(r)
	boundBody(w, r)
	if isAdmin(r.URL.Path) {
		i.admin.ServeHTTP(w, r)
		return
	}
	i.service.ServeHTTP(w, r)
}

func (i *instance) close() {
	i.admin.feed.close()
	i.srv.Close()
	i.admin.judge.close()
}
