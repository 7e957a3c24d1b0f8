package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/wire"
)

// operations has what a call may ask for. An operation with three entries is drawn more often.
var operations = []string{
	petstore.OpListPets, petstore.OpGetPet, // until the service removes getPet on 5 December 2030
	petstore.OpCreatePet, petstore.OpCreatePet, petstore.OpCreatePet,
}

// call is one call: what was drawn for it, the requests that it sent, and its result.
type call struct {
	operation string
	pet       petstore.NewPet // of createPet; its name is unique
	id        int64           // of getPet
	faults    []int           // of its requests, as indexes of the variable faults
	pause     time.Duration   // before the call
	patience  time.Duration   // the time after which the caller's context ends; 0 for never
	cancels   bool            // the context ends by a cancel, not by a deadline

	maxWait, attemptTimeout, callTimeout time.Duration // a callTimeout of 0 is none
	retry                                petstore.RetryPolicy

	requests []*request // by the recorder
	began    time.Time
	took     time.Duration
	over     bool           // the caller's context had ended when the call returned
	pets     []petstore.Pet // of the result, where they may be empty; nil without a result
	attempts int            // as the result or the error says; -1 if the error has no such field
	err      error
}

// drawCall draws a call. trouble is the probability that one of its requests meets a fault.
func drawCall(r *rand.Rand, trouble float64, name string) *call {
	c := &call{
		operation: pick(r, operations...),
		pet: petstore.NewPet{
			Name: name, CategoryID: r.Int64(),
			Status: pick(r, "", petstore.PetStatusAvailable, petstore.PetStatusPending, petstore.PetStatusSold),
		},
		id:             1 + r.Int64N(8), // some are missing: the catalogue begins with two pets
		pause:          upTo(r, 2*time.Second),
		maxWait:        pick(r, 0, 5*time.Second, 2*time.Minute, 2*time.Minute, 10*time.Minute),
		attemptTimeout: pick(r, 500*time.Millisecond, 5*time.Second, 10*time.Second, 30*time.Second),
		callTimeout:    pick(r, 0, 0, 0, 0, 3*time.Second),
		retry: petstore.RetryPolicy{
			MaxAttempts: pick(r, 1, 2, 4, 7), BaseDelay: pick(r, 0, 50*time.Millisecond),
			MaxDelay: pick(r, time.Second, time.Minute),
		},
	}
	if r.Float64() < .15 {
		c.patience, c.cancels = 1+upTo(r, 4*time.Second), r.IntN(2) == 0
	}
	c.faults = make([]int, c.retry.MaxAttempts)
	for i := range c.faults {
		if r.Float64() < trouble {
			c.faults[i] = r.IntN(len(faults))
		}
	}
	return c
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func upTo(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d) + 1)) }

// writes reports whether the service must carry out the call at most once.
func (c *call) writes() bool { return c.operation == petstore.OpCreatePet }

type callKey struct{}

var errImpatient = errors.New("the caller lost patience")

func (c *call) run(ctx context.Context, client *petstore.Client) {
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, callKey{}, c))
	defer cancel(nil)
	if c.cancels {
		defer time.AfterFunc(c.patience, func() { cancel(errImpatient) }).Stop()
	} else if c.patience > 0 {
		limited, end := context.WithTimeoutCause(ctx, c.patience, errImpatient)
		defer end()
		ctx = limited
	}
	c.began = time.Now()
	c.ask(ctx, client,
		petstore.WithMaxWait(c.maxWait), petstore.WithRetryPolicy(c.retry),
		petstore.WithAttemptTimeout(c.attemptTimeout), petstore.WithCallTimeout(c.callTimeout))
	c.took, c.over = time.Since(c.began), ctx.Err() != nil
}

func (c *call) ask(ctx context.Context, client *petstore.Client, opts ...petstore.CallOption) {
	switch c.operation {
	case petstore.OpListPets:
		got, err := client.ListPets(ctx, petstore.ListPetsParams{}, opts...)
		if c.err = err; got != nil {
			c.pets, c.attempts = got.Pets, got.Attempts
		}
	case petstore.OpGetPet:
		got, err := client.GetPet(ctx, c.id, opts...)
		if c.err = err; got != nil {
			c.pets, c.attempts = []petstore.Pet{got.Pet}, got.Attempts
		}
	case petstore.OpCreatePet:
		got, err := client.CreatePet(ctx, c.pet, opts...)
		if c.err = err; got != nil {
			c.pets, c.attempts = []petstore.Pet{got.Pet}, got.Attempts
		}
	}
	if c.err == nil {
		return
	}
	// The error itself must have the field: it is not enough that it wraps an error with the field.
	c.attempts = -1
	if e := reflect.Indirect(reflect.ValueOf(c.err)); e.Kind() == reflect.Struct && e.FieldByName("Attempts").IsValid() {
		c.attempts = int(e.FieldByName("Attempts").Int())
	}
}

// The outcomes of a call, as its caller knows them.
const (
	done    = "done"
	notDone = "not done"
	unknown = "unknown"
)

func (c *call) outcome() string {
	switch {
	case c.err == nil:
		return done
	case errors.Is(c.err, petstore.ErrOutcomeUnknown):
		return unknown
	}
	return notDone
}

func (c *call) String() string {
	s := fmt.Sprintf("%s %s: %s after %v, patience %v, timeouts %v and %v",
		c.operation, c.pet.Name, c.outcome(), c.took, c.patience, c.attemptTimeout, c.callTimeout)
	for _, q := range c.requests {
		s += fmt.Sprintf("; %v → %d %v", faults[q.fault], q.status, q.err)
	}
	return fmt.Sprintf("%s; error: %v", s, c.err)
}

// faults has what may happen to a request; faults[0] changes nothing. A status that means "not
// carried out", such as 400 or 429, never comes after the request was carried out: no client can
// cope with a service that sends a wrong status.
var faults = append([]fake.Fault{
	{}, {Status: 401}, {Status: 404}, {Status: 501}, {Wire: fake.WireRefuse},
	{Status: 307, Header: http.Header{"Location": {"https://elsewhere.test/v1/pets"}}},
	{Status: 400, Message: "what is " + key + "?", Header: http.Header{"X-Echo": {key}}},
	{Status: 429}, {Status: 429, RetryAfter: "soon"}, {Status: 429, RetryAfter: "3"},
	{Status: 429, Wire: fake.WireTruncate}, {Status: 500, Wire: fake.WireTruncate},
	{Status: 503, RetryAfter: "2.5"}, // only this call must wait, not all calls with its key
	// These change only the response: the request is carried out.
	{Body: []byte(`{"id":1,"name":"`)}, {Body: []byte(`{"status":"available"}`)},
	{Header: http.Header{"Content-Type": {"text/html"}}},
	{Header: http.Header{"X-RateLimit-Limit": nil, "X-RateLimit-Remaining": nil, "X-RateLimit-Reset": nil}},
	{Header: http.Header{"X-RateLimit-Remaining": {"-1"}, "X-RateLimit-Reset": {"tomorrow"}}},
}, ambiguous()...)

// ambiguous returns the faults that may come before or after the request is carried out.
func ambiguous() (all []fake.Fault) {
	for _, after := range []bool{false, true} {
		for _, status := range []int{202, 204, 408, 500, 502, 503, 504} {
			all = append(all, fake.Fault{Status: status, AfterCommit: after})
		}
		for _, wire := range append(fake.Wires(), "") {
			for _, delay := range []time.Duration{0, 700 * time.Millisecond, 2 * time.Second} {
				if wire != fake.WireRefuse {
					all = append(all, fake.Fault{Wire: wire, Delay: delay, AfterCommit: after})
				}
			}
		}
	}
	return all
}

// faultHeader is the header with the index of a request's fault.
const faultHeader = "Chaos-Fault"

// request is one request of a client, with its response.
type request struct {
	at     time.Time
	fault  int          // the index in faults
	asked  atomic.Int32 // number of connections that the transport asked for
	got    atomic.Int32 // number of connections that it got; after the first, net/http sent the request again
	status int
	err    error
}

// unsent reports whether the request got no connection, or its error says that the service has not
// processed it. If a create was carried out all the same, checkCreate finds its pet.
func (q *request) unsent() bool {
	noConnection := q.got.Load() == 0 && (q.asked.Load() > 0 || wire.IsDial(q.err))
	return q.err != nil && (noConnection || wire.IsUnprocessed(q.err))
}

// recorder is the transport below the client. It records each request, and selects its fault.
type recorder struct {
	base   http.RoundTripper
	report *report
}

func (w *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	w.checkKey(r)
	c := r.Context().Value(callKey{}).(*call)
	q := &request{at: time.Now(), fault: c.faults[min(len(c.requests), len(c.faults)-1)]}
	c.requests = append(c.requests, q)
	passed := r.Clone(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GetConn: func(string) { q.asked.Add(1) },
		GotConn: func(httptrace.GotConnInfo) { q.got.Add(1) },
	}))
	passed.Header.Set(faultHeader, fmt.Sprint(q.fault))
	resp, err := w.base.RoundTrip(passed)
	if q.err = err; err == nil {
		q.status = resp.StatusCode
	}
	return resp, err
}

// checkKey checks that the request goes below the base URL, with a key that was current within the
// last second in Authorization, and with no key anywhere else.
func (w *recorder) checkKey(r *http.Request) {
	header, now := r.Header.Clone(), time.Now()
	keys := []string{"Bearer " + w.report.keyAt(now), "Bearer " + w.report.keyAt(now.Add(-time.Second))}
	if sent := header["Authorization"]; len(sent) != 1 || !slices.Contains(keys, sent[0]) {
		w.report.found("key", "Authorization has not the key of the last second")
	}
	delete(header, "Authorization")
	w.report.searchKey("a request", fmt.Sprint(r.URL, header))
	if !strings.HasPrefix(r.URL.String(), baseURL+"/") || r.Host != "" && r.Host != r.URL.Host {
		w.report.found("key", "it is sent to %s for %q", r.URL.Host, r.Host)
	}
}
