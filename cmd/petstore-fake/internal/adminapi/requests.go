package adminapi

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/requestpage"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

// shownRequest is a request of the journal. A body that is not UTF-8, which JSON cannot carry, is in
// Base64, as its encoding says.
type shownRequest struct {
	Seq              int         `json:"seq"`
	Repeats          int         `json:"repeats,omitempty"`
	Operation        string      `json:"operation"`
	KeyID            int         `json:"keyId"` // 0 without a valid key
	Key              string      `json:"key"`
	Method           string      `json:"method"`
	Path             string      `json:"path"`
	Header           http.Header `json:"header"`
	Body             string      `json:"body"`
	BodyEncoding     string      `json:"bodyEncoding,omitempty"`
	Status           int         `json:"status"`
	ResponseHeader   http.Header `json:"responseHeader"`
	Response         string      `json:"response"`
	ResponseEncoding string      `json:"responseEncoding,omitempty"`
	Time             time.Time   `json:"time"`
	DurationMS       float64     `json:"durationMs"`
	Fault            string      `json:"fault"` // what it did
	Hint             string      `json:"hint"`
	Curl             string      `json:"curl,omitempty"`
}

func showRequest(e *journal.Entry) shownRequest {
	shown := shownRequest{
		Seq: e.Seq, Repeats: e.Repeats, Operation: e.Operation, KeyID: e.Key, Key: e.Sender,
		Method: e.Method, Path: e.Path, Header: e.Header, Status: e.StatusCode, ResponseHeader: e.ResponseHeader,
		Time: e.Time.UTC(), DurationMS: milliseconds(e.Duration), Fault: e.FaultEffect, Hint: e.Hint,
	}
	shown.Body, shown.BodyEncoding = showBody(e.Body)
	shown.Response, shown.ResponseEncoding = showBody(e.ResponseBody)
	return shown
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func showBody(b []byte) (text, encoding string) {
	if utf8.Valid(b) {
		return string(b), ""
	}
	return base64.StdEncoding.EncodeToString(b), "base64"
}

// fitting returns the requests that fit the text in the query of a request, oldest first.
func (a *API) fitting(r *http.Request, others ...string) (query url.Values, list []*journal.Entry, err error) {
	query, err = spec.ReadQuery(r, append(others, "text")...)
	filter, problems := a.page.Journal.NewFilter(query.Get("text"))
	if problems != nil {
		err = cmp.Or(err, errors.New(strings.Join(problems, "; ")))
	}
	for _, e := range a.page.Journal.Read().List {
		if fits, _ := filter.Fits(e); fits {
			list = append(list, e)
		}
	}
	return query, list, err
}

func (a *API) listRequests(w http.ResponseWriter, r *http.Request) error {
	query, list, err := a.fitting(r, "limit")
	limit, wrong := spec.ReadNumber("limit", cmp.Or(query.Get("limit"), "100"), 1, 10_000)
	if err := cmp.Or(err, wrong); err != nil {
		return err
	}
	begin := fmt.Sprintf(`{"total":%d,"requests":[`, len(list))
	writeList(w, begin, list[max(len(list)-limit, 0):], func(e *journal.Entry) any { return showRequest(e) }, "]}")
	return nil
}

// writeList writes requests one by one: all of them together may be many times as large as the
// journal.
func writeList(w http.ResponseWriter, begin string, list []*journal.Entry, show func(*journal.Entry) any, end string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, begin)
	for i, e := range list {
		text, _ := json.Marshal(show(e)) // it can be encoded
		if i > 0 {
			text = append([]byte(",\n"), text...)
		}
		if _, err := w.Write(text); err != nil {
			return // the client is gone
		}
	}
	_, _ = io.WriteString(w, end+"\n")
}

func (a *API) findRequest(r *http.Request) (*journal.Entry, error) {
	seq, _ := strconv.Atoi(r.PathValue("id")) // 0 is none
	state := a.page.Journal.Read()
	if e := state.Entry(seq); e != nil {
		return e, nil
	}
	return nil, refuse(http.StatusNotFound, "there is no request %q in the journal", spec.Clip(r.PathValue("id")))
}

func (a *API) getRequest(r *http.Request) (any, error) {
	e, err := a.findRequest(r)
	if err != nil {
		return nil, err
	}
	shown := showRequest(e)
	shown.Curl = requestpage.Curl(a.srv, "http://"+r.Host, e.Request)
	return shown, nil
}

// repeat sends a request again, with the key it came with. It does not wait for the response.
func (a *API) repeat(r *http.Request) (any, error) {
	e, err := a.findRequest(r)
	if err != nil {
		return nil, err
	}
	seq, err := a.srv.Repeat(e.Seq)
	if err != nil {
		return nil, refuse(http.StatusConflict, "%v", spec.Plain(err))
	}
	return object{"seq": seq}, nil
}

func (a *API) violations(*http.Request) (any, error) {
	return object{"violations": listed(a.srv.Violations(), func(v fake.Violation) object {
		return object{"rule": v.Rule, "section": v.Section, "detail": v.Detail, "seq": v.Seq}
	})}, nil
}

// archive handles GET /_fake/har. The names of the objects are those of the HTTP Archive format
// 1.2, which browsers and debugging proxies open.
func (a *API) archive(w http.ResponseWriter, r *http.Request) error {
	_, list, err := a.fitting(r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Disposition", `attachment; filename="petstore-fake.har"`)
	begin := fmt.Sprintf(`{"log":{"version":"1.2","creator":{"name":"petstore-fake","version":%q},"entries":[`, petstore.Version)
	writeList(w, begin, list, func(e *journal.Entry) any { return archived("http://"+r.Host, e) }, "]}}")
	return nil
}

func archived(origin string, e *journal.Entry) object {
	target, query := e.Path, []object{}
	if u, err := url.ParseRequestURI(target); err == nil {
		query = pairs(http.Header(u.Query()))
		if u.Host == "" && target != "*" {
			target = origin + target
		}
	}
	request, response := archivedMessage(e.Header, e.Body), archivedMessage(e.ResponseHeader, e.ResponseBody)
	request["method"], request["url"], request["queryString"] = e.Method, target, query
	if len(e.Body) > 0 { // the format has no encoding for the body of a request: the comment names it
		request["postData"] = archivedBody(e.Header, e.Body, "comment")
	}
	response["status"], response["statusText"], response["redirectURL"] = e.StatusCode, http.StatusText(e.StatusCode), ""
	content := archivedBody(e.ResponseHeader, e.ResponseBody, "encoding")
	content["size"], response["content"] = len(e.ResponseBody), content
	took := milliseconds(e.Duration)
	return object{
		"startedDateTime": e.Time.UTC(), "time": took, "request": request, "response": response, "comment": e.Hint,
		"cache": object{}, "timings": object{"send": 0, "wait": took, "receive": 0},
	}
}

// archivedMessage returns the members that requests and responses share.
func archivedMessage(h http.Header, body []byte) object {
	return object{
		"httpVersion": "HTTP/1.1", "cookies": []object{}, "headers": pairs(h),
		"headersSize": -1, "bodySize": len(body), // -1: the journal does not know it
	}
}

func pairs(h http.Header) []object {
	list := []object{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			list = append(list, object{"name": name, "value": value})
		}
	}
	return list
}

// archivedBody returns a body. If it is written in Base64, the member named encoding says so.
func archivedBody(h http.Header, body []byte, encoding string) object {
	text, base64 := showBody(body)
	shown := object{"mimeType": h.Get("Content-Type"), "text": text}
	if base64 != "" {
		shown[encoding] = base64
	}
	return shown
}
