package adminapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/requestpage"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

// MaxFaults bounds the faults that are remembered, the finished ones among them.
const MaxFaults = 1_000

// faultBook remembers the faults that were injected, since the fake lists none. The admin's lock is
// held around its methods.
type faultBook struct {
	last    int
	entries []*faultEntry
}

type faultEntry struct {
	id        int
	fault     fake.Fault
	injection *fake.Injection
}

// active reports whether the fault may strike again.
func (e *faultEntry) active() bool {
	return e.fault.Times == fake.Forever || e.injection.Fired() < max(e.fault.Times, 1)
}

// describe tells in a few words what the fault does, and how often.
func (e *faultEntry) describe() string {
	words := strings.TrimPrefix(e.fault.String(), "fault ")
	if e.fault.RetryAfter != "" {
		words += ", Retry-After " + e.fault.RetryAfter
	}
	switch times := e.fault.Times; {
	case times == fake.Forever:
		return words + ", every time"
	case times > 1:
		return fmt.Sprintf("%s, %d times", words, times)
	}
	return words + ", once"
}

func (b *faultBook) add(f fake.Fault, i *fake.Injection) *faultEntry {
	b.last++
	e := &faultEntry{b.last, f, i}
	b.entries = append(b.entries, e)
	return e
}

// room makes room for one more fault at the cost of the oldest that is done, and reports whether
// there is any.
func (b *faultBook) room() bool {
	if len(b.entries) < MaxFaults {
		return true
	}
	i := slices.IndexFunc(b.entries, func(e *faultEntry) bool { return !e.active() })
	if i < 0 {
		return false
	}
	b.entries = slices.Delete(b.entries, i, i+1)
	return true
}

// shownFault is a fault as the admin routes show it.
type shownFault struct {
	ID          int                 `json:"id"`
	Fired       int                 `json:"fired"`
	Active      bool                `json:"active"`
	Operation   string              `json:"operation,omitempty"`
	Key         string              `json:"key,omitempty"`
	Skip        int                 `json:"skip,omitempty"`
	Times       any                 `json:"times"`
	Chance      float64             `json:"chance,omitempty"`
	Delay       string              `json:"delay,omitempty"`
	AfterCommit bool                `json:"afterCommit,omitempty"`
	Status      int                 `json:"status,omitempty"`
	Code        string              `json:"code,omitempty"`
	Message     string              `json:"message,omitempty"`
	RetryAfter  string              `json:"retryAfter,omitempty"`
	Header      map[string][]string `json:"header,omitempty"`
	Body        *string             `json:"body,omitempty"`
	Wire        string              `json:"wire,omitempty"`
}

func showFault(e *faultEntry) shownFault {
	f := e.fault
	s := shownFault{
		ID: e.id, Fired: e.injection.Fired(), Active: e.active(),
		Operation: f.Operation, Skip: f.Skip, Times: max(f.Times, 1), Chance: f.Chance,
		AfterCommit: f.AfterCommit, Status: f.Status, Code: f.Code, Message: f.Message,
		RetryAfter: f.RetryAfter, Header: shownHeader(f.Header),
	}
	if f.APIKey != "" {
		s.Key = requestpage.MaskKey(f.APIKey)
	}
	if f.Times == fake.Forever {
		s.Times = "forever"
	}
	if f.Delay > 0 {
		s.Delay = f.Delay.String()
	}
	if f.Body != nil {
		body := string(f.Body)
		s.Body = &body
	}
	if f.Wire != fake.WireNone {
		s.Wire = f.Wire.String()
	}
	return s
}

// shownHeader returns the header of a fault as the admin routes show it: an empty list, never null, for a
// header that is taken away.
func shownHeader(h http.Header) map[string][]string {
	shown := make(map[string][]string, len(h))
	for name, values := range h {
		shown[name] = append([]string{}, values...)
	}
	return shown
}

// listFaults handles GET /_fake/faults.
func (a *API) listFaults(*http.Request) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	shown := []shownFault{}
	for _, e := range a.faults.entries {
		shown = append(shown, showFault(e))
	}
	return map[string]any{"faults": shown}, nil
}

// inject handles POST /_fake/faults.
func (a *API) inject(r *http.Request) (any, error) {
	body, err := httpjson.ReadBody(r)
	if err != nil {
		return nil, err
	}
	f, err := spec.ParseFaultJSON(body)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.faults.room() {
		return nil, httpjson.Errorf(http.StatusConflict,
			"there are %d faults at work already; remove some", MaxFaults)
	}
	return httpjson.Created{Value: showFault(a.faults.add(f, a.srv.Inject(f)))}, nil
}

// removeFaults handles DELETE /_fake/faults.
func (a *API) removeFaults(*http.Request) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.faults.entries {
		e.injection.Remove()
	}
	a.faults.entries = nil
	return nil, nil
}

// removeFault handles DELETE /_fake/faults/{id}.
func (a *API) removeFault(r *http.Request) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, ok := httpjson.ID(r)
	i := slices.IndexFunc(a.faults.entries, func(e *faultEntry) bool { return int64(e.id) == n })
	if !ok || i < 0 {
		return nil, httpjson.NotFound("there is no fault with the id %q", spec.Clip(r.PathValue("id")))
	}
	a.faults.entries[i].injection.Remove()
	a.faults.entries = slices.Delete(a.faults.entries, i, i+1)
	return nil, nil
}
