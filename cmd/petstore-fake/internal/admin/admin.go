// Package admin adds routes below /_fake/ to a fake. These admin routes control the fake, and show
// its state and its journal. The package also reads the values that the routes and the flags of
// petstore-fake take.
package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/page"
	"github.com/petstore/petstore-go/fake"
)

// Path is the path of the admin routes.
const Path = "/_fake/"

// Health is the path of the route for health checks. A request to it may have any Host, because an
// orchestrator may call the program by a name that the program does not know.
const Health = Path + "health"

// API serves the admin routes, and passes all other requests to the service. It is safe for
// concurrent use.
type API struct {
	srv     *fake.Server
	service http.Handler
	config  Config
	page    *page.Page
	mux     *http.ServeMux // serves the admin routes
	changes sync.Mutex     // held while a route changes the fake: some routes read its state first
}

// Config has the settings of the admin routes.
type Config struct {
	Start  time.Time // New and a reset set the fake's clock to this time; zero: the machine's time
	Plan   fake.Plan // the plan of a key that is added without a plan
	Public bool      // an admin request may also have an IP address or one of Names as its Host
	Names  []string  // host names, in lower case
}

// New returns the API that controls srv. It passes all requests except admin requests to service,
// which is srv or a handler that wraps srv. The caller closes srv.
func New(srv *fake.Server, service http.Handler, config Config) *API {
	a := &API{srv: srv, service: service, config: config, page: page.New(srv), mux: http.NewServeMux()}
	a.startClock()
	for _, r := range a.routes() {
		pattern := r.Method + " " + r.Path
		if r.Path == Path {
			pattern += "{$}" // matches only this path, not the paths below it
		}
		a.mux.HandleFunc(pattern, r.handle)
	}
	a.mux.HandleFunc(Path, func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound,
			fmt.Errorf("there is no admin route %.64s %.64s; GET %s lists them", r.Method, r.URL.Path, Path))
	})
	return a
}

// ServeHTTP does not use an http.ServeMux to choose between the admin routes and the service: a mux
// redirects paths such as //v1/pets, but the service must refuse them.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path+"/", Path) {
		a.serveAdmin(w, r)
		return
	}
	a.page.Changed() // the request has arrived
	defer a.page.Changed()
	a.service.ServeHTTP(w, r)
}

func (a *API) serveAdmin(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
	if err := a.config.checkOrigin(r); err != nil {
		writeError(w, http.StatusForbidden, err)
		return
	}
	if r.Method != http.MethodGet {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20)) // before Lock: the client may be slow
		if err != nil {
			writeError(w, http.StatusBadRequest, err)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		a.changes.Lock()
		defer a.changes.Unlock()
		defer a.page.Changed()
	}
	a.mux.ServeHTTP(w, r)
}

// front handles GET /_fake/: a browser gets the request page, a program gets the list of routes.
func (a *API) front(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	// A browser accepts text/html; a program such as curl sends */*.
	if strings.Contains(strings.ToLower(r.Header.Get("Accept")), "text/html") {
		a.page.Show(w, r)
		return
	}
	writeJSON(w, http.StatusOK, object{
		"program": "petstore-fake", "version": petstore.Version, "baseUrl": "http://" + r.Host + "/v1",
		"send":   `JSON, or name=value with commas between them: status=503,times=3 is {"status":503,"times":3}`,
		"routes": a.routes(),
	})
}

// route is an admin route, as the list of routes shows it.
type route struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	About  string `json:"about"`
	Send   any    `json:"send,omitempty"` // the fields of the request's body

	handle http.HandlerFunc
}

// jsonRoute returns a route that reads no body. It sends the value that f returns as JSON, or, if
// the value is nil, status 204 without a body.
func jsonRoute(method, path, about string, f func(r *http.Request) (any, error)) route {
	return route{Method: method, Path: path, About: about, handle: func(w http.ResponseWriter, r *http.Request) {
		value, err := f(r)
		switch {
		case err != nil:
			writeError(w, http.StatusBadRequest, err)
		case value == nil:
			w.WriteHeader(http.StatusNoContent)
		default:
			writeJSON(w, http.StatusOK, value)
		}
	}}
}

// bodyRoute is like jsonRoute, but the route passes the body of the request to read, and the value
// that read returns to f.
func bodyRoute[T any](
	method, path, about string, read func(string) (T, error), f func(r *http.Request, value T) (any, error),
) route {
	r := jsonRoute(method, path, about, func(r *http.Request) (any, error) {
		body, _ := io.ReadAll(r.Body) // cannot fail: serveAdmin has read it into memory
		value, err := read(string(body))
		if err != nil {
			return nil, err
		}
		return f(r, value)
	})
	r.Send = fieldsOf(reflect.TypeFor[T]())
	return r
}

type object = map[string]any

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // it fails only if the client is gone
}

func writeError(w http.ResponseWriter, status int, err error) {
	writeJSON(w, status, object{"error": err.Error()})
}
