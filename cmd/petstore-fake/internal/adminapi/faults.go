package adminapi

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/requestpage"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

// MaxFaults bounds the faults that may still strike.
const MaxFaults = 1_000

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
	faults, one, err := parseFaults(body)
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
	if active+len(faults) > MaxFaults {
		return nil, httpjson.Errorf(http.StatusConflict,
			"more than %d faults would be active; remove some", MaxFaults)
	}
	shown := []shownFault{}
	for _, f := range faults {
		shown = append(shown, showFault(a.srv.Inject(f)))
	}
	if one {
		return httpjson.Created{Value: shown[0]}, nil
	}
	return httpjson.Created{Value: map[string]any{"faults": shown}}, nil
}

// parseFaults reads a fault as a JSON object, or faults in a JSON string, as -fault takes them. one reports
// whether it was an object.
func parseFaults(body []byte) (faults []fake.Fault, one bool, err error) {
	var text string
	if json.Unmarshal(body, &text) == nil && bytes.HasPrefix(bytes.TrimSpace(body), []byte(`"`)) {
		faults, err = spec.ParseFaults(text)
		return faults, false, err
	}
	f, err := spec.ParseFaultJSON(body)
	return []fake.Fault{f}, true, err
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
