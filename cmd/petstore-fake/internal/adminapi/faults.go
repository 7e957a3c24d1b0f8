package adminapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// showFault returns a fault as the admin routes accept it, with its id and how often it has struck.
func showFault(i fakecontrol.Injection) map[string]any {
	f := i.Fault
	if f.APIKey != "" {
		f.APIKey = journal.MaskKey(f.APIKey)
	}
	shown := spec.ShowFault(f)
	shown["id"], shown["fired"], shown["active"] = i.ID, i.Fired(), i.Active
	return shown
}

func (a *API) listFaults(*http.Request) (any, error) {
	shown := []map[string]any{}
	for _, i := range a.srv.Injections() {
		shown = append(shown, showFault(i))
	}
	return map[string]any{"faults": shown}, nil
}

func (a *API) inject(r *http.Request) (any, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	faults, one, err := parseFaults(body)
	_, wrongQuery := httpjson.ReadQuery(r) // it would not limit the fault
	if err = cmp.Or(wrongQuery, err); err != nil {
		return nil, err
	}
	shown, keys := []map[string]any{}, a.srv.Keys()
	for _, f := range faults {
		// The page, which has no keys, names one by its id: #2. No key begins like that.
		if text, is := strings.CutPrefix(f.APIKey, "#"); is {
			id, err := strconv.Atoi(text)
			if err != nil || id < 1 || id > len(keys) {
				return nil, errors.New("key: there is no key with this id; GET /_fake/keys lists the ids")
			}
			f.APIKey = keys[id-1].APIKey
		}
		shown = append(shown, showFault(a.srv.Inject(f)))
	}
	if one {
		return shown[0], nil
	}
	return map[string]any{"faults": shown}, nil
}

// parseFaults reads a fault as a JSON object, or faults in a JSON string, as -fault takes them. one
// reports whether it was an object.
func parseFaults(body []byte) (faults []fake.Fault, one bool, err error) {
	var text string
	if json.Unmarshal(body, &text) == nil && bytes.HasPrefix(bytes.TrimSpace(body), []byte(`"`)) {
		faults, err = spec.ParseFaults(text)
		return faults, false, err
	}
	f, err := spec.ParseFaultJSON(body)
	return []fake.Fault{f}, true, err
}

func (a *API) removeFaults(*http.Request) (any, error) {
	for _, i := range a.srv.Injections() {
		i.Remove()
	}
	return nil, nil
}

func (a *API) removeFault(r *http.Request) (any, error) {
	for _, i := range a.srv.Injections() {
		if strconv.Itoa(i.ID) == r.PathValue("id") {
			i.Remove()
			return nil, nil
		}
	}
	return nil, httpjson.Errorf(http.StatusNotFound, "there is no fault with the id %q", spec.Clip(r.PathValue("id")))
}
