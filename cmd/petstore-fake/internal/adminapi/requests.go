package adminapi

import (
	"cmp"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/replay"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

// shownRequest is a request of the journal. A body that is not UTF-8, which JSON cannot carry,
// stands in the field with Base64 in its name.
type shownRequest struct {
	Seq            int         `json:"seq"`
	Operation      string      `json:"operation"`
	KeyID          int         `json:"keyId"` // 0 without a valid key
	Key            string      `json:"key"`
	Method         string      `json:"method"`
	Path           string      `json:"path"`
	Header         http.Header `json:"header"`
	Body           string      `json:"body"`
	BodyBase64     []byte      `json:"bodyBase64,omitempty"`
	Status         int         `json:"status"`
	ResponseHeader http.Header `json:"answerHeader"`
	Response       string      `json:"answer"`
	ResponseBase64 []byte      `json:"answerBase64,omitempty"`
	Time           time.Time   `json:"time"`
	DurationMS     float64     `json:"durationMs"`
	Fault          bool        `json:"fault"`
	FaultEffect    string      `json:"faultEffect,omitempty"`
	Hint           string      `json:"hint"`
	Curl           string      `json:"curl,omitempty"`
}

func (a *API) showRequest(r fake.Request) shownRequest {
	shown := shownRequest{
		Seq: r.Seq, Operation: r.Operation, Method: r.Method, Path: r.Path, Header: r.Header, KeyID: r.Key,
		Status: r.StatusCode, ResponseHeader: r.ResponseHeader, Time: r.Time.UTC(), Hint: r.Hint,
		DurationMS: float64(r.Duration) / float64(time.Millisecond),
		Fault:      r.FaultEffect != "", FaultEffect: r.FaultEffect,
	}
	if shown.Key = journal.Sender(r); r.Key > 0 {
		key, _ := a.keyOf(strconv.Itoa(r.Key))
		shown.Key = journal.MaskKey(key)
	}
	shown.Body, shown.BodyBase64 = showBytes(r.Body)
	shown.Response, shown.ResponseBase64 = showBytes(r.ResponseBody)
	return shown
}

func showBytes(b []byte) (text string, binary []byte) {
	if utf8.Valid(b) {
		return string(b), nil
	}
	return "", b
}

// fitting returns the query of a request, which may have filters and other parameters, and the
// requests that fit them, oldest first.
func (a *API) fitting(r *http.Request, others ...string) (query url.Values, list []fake.Request, err error) {
	query, err = spec.ReadQuery(r, append(journal.Parameters(), others...)...)
	filter, wrong := journal.NewFilter(query)
	if err := cmp.Or(err, wrong); err != nil {
		return nil, nil, err
	}
	a.page.Journal.Update()
	for _, one := range a.page.Journal.Requests() {
		e, ok := a.page.Journal.Entry(one.Seq)
		if ok && filter.FitsStatus(one.Status) && a.page.Journal.Fits(filter, one.Seq) {
			list = append(list, e.Request)
		}
	}
	return query, list, nil
}

func (a *API) listRequests(r *http.Request) (any, error) {
	query, list, err := a.fitting(r, "limit")
	limit, wrong := spec.ReadNumber("limit", query.Get("limit"), 1, 10_000, 100)
	if err := cmp.Or(err, wrong); err != nil {
		return nil, err
	}
	return object{"total": len(list), "requests": listed(list[max(len(list)-limit, 0):], a.showRequest)}, nil
}

// findRequest returns the request that the path of a request names. The page names the journal,
// too: after a reset, the number belongs to another request.
func (a *API) findRequest(r *http.Request) (fake.Request, error) {
	query, err := spec.ReadQuery(r, "journal")
	number := strconv.FormatInt(a.page.Journal.Update().Number, 10)
	if at := query.Get("journal"); at != "" && at != number {
		return fake.Request{}, refuse(http.StatusConflict,
			"the journal was cleared since; this request is not in it")
	}
	seq, _ := strconv.Atoi(r.PathValue("id")) // 0 is none
	e, found := a.page.Journal.Entry(seq)
	if !found {
		return e.Request, refuse(http.StatusNotFound, "there is no request %q in the journal", spec.Clip(r.PathValue("id")))
	}
	return e.Request, err
}

func (a *API) getRequest(r *http.Request) (any, error) {
	one, err := a.findRequest(r)
	if err != nil {
		return nil, err
	}
	shown := a.showRequest(one)
	shown.Curl = replay.Curl(a.srv, "http://"+r.Host, one)
	return shown, nil
}

// repeat sends a request again, with the key it came with. It does not wait for the response;
// closing the fake ends it.
func (a *API) repeat(r *http.Request) (any, error) {
	one, err := a.findRequest(r)
	if err != nil {
		return nil, err
	}
	if _, err := a.srv.Repeat(one.Seq); err != nil {
		return nil, refuse(http.StatusConflict, "%v", err)
	}
	return nil, nil
}

func (a *API) clearRequests(*http.Request) (any, error) {
	a.page.Journal.Clear()
	return nil, nil
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
	writeJSON(w, http.StatusOK, object{"log": object{
		"version": "1.2", "creator": object{"name": "petstore-fake", "version": petstore.Version},
		"entries": listed(list, func(one fake.Request) object { return archived("http://"+r.Host, one) }),
	}})
	return nil
}

// archived returns the entry of a request.
func archived(origin string, r fake.Request) object {
	target, query := r.Path, []object{}
	if u, err := url.ParseRequestURI(target); err == nil {
		query = pairs(http.Header(u.Query()))
		if u.Host == "" && target != "*" {
			target = origin + target
		}
	}
	request, response := archivedMessage(r.Header, r.Body), archivedMessage(r.ResponseHeader, r.ResponseBody)
	request["method"], request["url"], request["queryString"] = r.Method, target, query
	if len(r.Body) > 0 { // the format has no encoding for the body of a request: the comment names it
		request["postData"] = archivedBody(r.Header, r.Body, "comment")
	}
	response["status"], response["statusText"], response["redirectURL"] = r.StatusCode, http.StatusText(r.StatusCode), ""
	content := archivedBody(r.ResponseHeader, r.ResponseBody, "encoding")
	content["size"], response["content"] = len(r.ResponseBody), content
	took := float64(r.Duration) / float64(time.Millisecond)
	return object{
		"startedDateTime": r.Time.UTC(), "time": took, "request": request, "response": response, "comment": r.Hint,
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
	if utf8.Valid(body) {
		return object{"mimeType": h.Get("Content-Type"), "text": string(body)}
	}
	return object{
		"mimeType": h.Get("Content-Type"), "text": base64.StdEncoding.EncodeToString(body), encoding: "base64",
	}
}
