package adminapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/requestpage"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

// MaxFaults bounds the faults that may still strike.
const MaxFaults = 1_000

// describe returns what a fault does, and how often, in a few words.
func describe(f fake.Fault) string {
	words := strings.TrimPrefix(f.String(), "fault ")
	if f.RetryAfter != "" {
		words += ", Retry-After " + f.RetryAfter
	}
	switch times := f.Times; {
	case times == fake.Forever:
		words += ", every time"
	case times > 1:
		words += fmt.Sprintf(", %d times", times)
	default:
		words += ", once"
	}
	if f.For > 0 {
		words += fmt.Sprintf(", for %v", f.For)
	}
	return words
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
	For         string              `json:"for,omitempty"`
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

func showFault(i *fake.Injection) shownFault {
	f := i.Fault()
	s := shownFault{
		ID: i.ID(), Fired: i.Fired(), Active: i.Active(),
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
	if f.For > 0 {
		s.For = f.For.String()
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
	shown := []shownFault{}
	for _, i := range a.srv.Injections() {
		shown = append(shown, showFault(i))
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
	a.mu.Lock() // the bound must hold, however many inject at once
	defer a.mu.Unlock()
	active := 0
	for _, i := range a.srv.Injections() {
		if i.Active() {
			active++
		}
	}
	if active >= MaxFaults {
		return nil, httpjson.Errorf(http.StatusConflict,
			"there are %d faults at work already; remove some", MaxFaults)
	}
	return httpjson.Created{Value: showFault(a.srv.Inject(f))}, nil
}

// removeFaults handles DELETE /_fake/faults.
func (a *API) removeFaults(*http.Request) (any, error) {
	for _, i := range a.srv.Injections() {
		i.Remove()
	}
	return nil, nil
}

// removeFault handles DELETE /_fake/faults/{id}.
func (a *API) removeFault(r *http.Request) (any, error) {
	n, _ := httpjson.ID(r)
	for _, i := range a.srv.Injections() {
		if int64(i.ID()) == n {
			i.Remove()
			return nil, nil
		}
	}
	return nil, httpjson.NotFound("there is no fault with the id %q", spec.Clip(r.PathValue("id")))
}
