package fake

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
)

// exchange is one request in the server, the same for every entry point.
type exchange struct {
	srv     *Server
	req     *http.Request
	method  string
	arrived time.Time
	now     time.Time // when it was admitted
	route   route
	cred    credential
	key     *apiKey // nil without a valid key
	body    []byte
	bodyErr error
	entry   *entry // nil until it has arrived whole
}

// operation is an operation of the service (section 4).
type operation struct {
	name    string // as in petstore.Call
	method  string
	ofOne   bool // its path ends in the id of a pet
	respond func(*Server, *exchange) response
}

// operations returns the operations of the service. This is the list from which routes, the Allow
// header, faults and petstore-fake have them.
func operations() []operation {
	return []operation{
		{petstore.OpListPets, http.MethodGet, false, (*Server).listPets},
		{petstore.OpCreatePet, http.MethodPost, false, (*Server).createPet},
		{petstore.OpGetPet, http.MethodGet, true, (*Server).getPet},
	}
}

func operationNames() (names []string) {
	for _, o := range operations() {
		names = append(names, o.name)
	}
	return names
}

// checkOperation returns an error if there is no such operation; empty stands for any.
func checkOperation(operation string) error {
	if names := operationNames(); operation != "" && !slices.Contains(names, operation) {
		return fmt.Errorf("there is no operation %s; the operations are %s", quote(operation), strings.Join(names, ", "))
	}
	return nil
}

// route is what a method and a path mean (section 4).
type route struct {
	operation string // empty if they fit none
	petID     string
	allow     string // the methods of a path that the service has, for Allow
}

// findRoute reads a path, segment by segment: an escaped slash separates nothing.
func findRoute(method string, u *url.URL) route {
	path, rooted := strings.CutPrefix(u.EscapedPath(), "/")
	version, path, _ := strings.Cut(path, "/")
	pets, id, one := strings.Cut(path, "/")
	if !rooted || unescape(version) != "v1" || unescape(pets) != "pets" || one && (id == "" || strings.Contains(id, "/")) {
		return route{}
	}
	for _, o := range operations() {
		if o.ofOne == one && o.method == method {
			return route{operation: o.name, petID: unescape(id)}
		}
	}
	return route{allow: methods(one)}
}

// methods returns the methods of a path for the Allow header.
func methods(ofOne bool) string {
	var all []string
	for _, o := range operations() {
		if o.ofOne == ofOne {
			all = append(all, o.method)
		}
	}
	return strings.Join(all, ", ")
}

// unescape returns a segment of a path without the escapes of a URL.
func unescape(segment string) string {
	s, _ := url.PathUnescape(segment) // net/url lets no path pass with an escape that is none
	return s
}

func (r route) known() bool { return r.operation != "" || r.allow != "" }

// newExchange reads the parts of a request that come before its body.
func (s *Server) newExchange(r *http.Request) *exchange {
	x := &exchange{srv: s, req: r, arrived: s.Now()}
	x.method = cmp.Or(r.Method, http.MethodGet) // as net/http has it for clients
	x.route = findRoute(x.method, r.URL)
	s.authenticate(x)
	return x
}

// respond returns the response to a request. A panic in Match becomes a response too, so that a
// test fails instead of ending its process.
func (s *Server) respond(x *exchange, refusing bool) (a response) {
	defer func() {
		if p := recover(); p != nil {
			a = s.panicked(x, p)
		}
		s.finish(x, &a)
	}()
	x.readBody()
	if refusing {
		if f := s.faults.pick(x, true); f != nil {
			return response{wire: WireRefuse, fault: f, lost: x.pause(f.Delay)}
		}
	}
	x.entry = s.journal.add(x)
	s.notify(x)
	x.arrival()
	if err := x.pause(time.Duration(s.latency.Load())); err != nil {
		return response{lost: err, hint: "the client gave up before there was a response"}
	}
	if f := s.faults.pick(x, false); f != nil {
		return s.fail(x, f)
	}
	return s.carryOut(x)
}

// finish writes the response into the journal before anything of it is sent, so that a client that
// has its response finds it there.
func (s *Server) finish(x *exchange, a *response) {
	a.now = s.Now()
	a.head = x.method == http.MethodHead
	a.size = len(a.body)
	if a.quota == (quota{}) {
		a.quota = x.quota(a.now)
	}
	if x.entry == nil {
		return
	}
	x.departure(a)
	s.journal.finish(x.entry, a)
	s.notify(x)
}

func (s *Server) notify(x *exchange) {
	if s.config.notify != nil {
		s.config.notify(x.entry.seq)
	}
}

// panicked returns the response to a request whose handling panicked.
func (s *Server) panicked(x *exchange, p any) response {
	if x.entry == nil {
		x.entry = s.journal.add(x)
	}
	return refusal(http.StatusInternalServerError, codeInternal, s.panicMessage(p))
}

// readBody reads the request's body as far as the server takes it.
func (x *exchange) readBody() {
	if x.req.Body == nil || x.req.Body == http.NoBody {
		return
	}
	from := io.Reader(x.req.Body)
	if at, ok := from.(io.ReaderAt); ok { // the client takes a body for sent once Read was called
		from = io.NewSectionReader(at, 0, math.MaxInt64)
	}
	body, err := readBounded(from)
	switch {
	case err != nil:
		x.bodyErr = fmt.Errorf("the request body cannot be read: %w", err)
	case len(body) > maxBody:
		body = body[:maxBody]
		x.bodyErr = errors.New("the request body is larger than 1 MiB")
	}
	x.body = bytes.Clone(body) // without the room to grow, since the journal keeps it
}

// readBounded reads a little more than maxBody at most, and drops what a client still sends up to
// eight times that, since most clients look for a response only when they have sent their request.
func readBounded(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	if err == nil && len(body) > maxBody {
		_, err = io.CopyN(io.Discard, r, 8*maxBody)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return body, err
}

// carryOut keeps to the order of the document: authentication before anything else on a path that
// exists, then the limits, then the operation.
func (s *Server) carryOut(x *exchange) response {
	if !x.route.known() {
		return refusal(http.StatusNotFound, codeNotFound,
			fmt.Sprintf("the service has no path %s; it has /v1/pets and /v1/pets/{petId} (section 4)",
				quote(x.req.URL.Path)))
	}
	if x.key == nil {
		return unauthorized(x)
	}
	v := x.key.take(s.config.ban)
	if v.retryAt != 0 {
		return s.limited(x, v)
	}
	x.now = v.now
	a := s.operate(x)
	a.quota = v.quota
	return a
}

// operate runs the operation that an admitted request asks for.
func (s *Server) operate(x *exchange) response {
	for _, o := range operations() {
		if o.name == x.route.operation {
			return o.respond(s, x)
		}
	}
	a := refusal(http.StatusMethodNotAllowed, codeMethodNotAllowed,
		fmt.Sprintf("%s is not a method of this path; it has %s (section 4)",
			quote(x.method), x.route.allow))
	a.set("Allow", x.route.allow)
	return a
}
