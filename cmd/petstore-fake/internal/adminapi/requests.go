package adminapi

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/requestpage"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

// showRequest returns what the routes show of a request. A body that is not UTF-8, which JSON
// cannot carry, is in Base64, as its encoding says.
func showRequest(e *journal.Entry) object {
	body, bodyEncoding := showBody(e.Body)
	response, responseEncoding := showBody(e.ResponseBody)
	return object{
		"seq": e.Seq, "repeats": e.Repeats, "operation": e.Operation, "keyId": e.Key, "key": e.Sender, "method": e.Method,
		"path": e.Path, "header": e.Header, "body": body, "bodyEncoding": bodyEncoding, "status": e.StatusCode,
		"responseHeader": e.ResponseHeader, "response": response, "responseEncoding": responseEncoding, "time": e.Time.UTC(),
		"durationMs": float64(e.Duration) / float64(time.Millisecond), "fault": e.FaultEffect, "hint": e.Hint,
	}
}

func showBody(b []byte) (text, encoding string) {
	if utf8.Valid(b) {
		return string(b), ""
	}
	return base64.StdEncoding.EncodeToString(b), "base64"
}

// listRequests handles GET /_fake/requests. It writes the requests one by one: all of them together
// may be many times as large as the journal.
func (a *API) listRequests(w http.ResponseWriter, r *http.Request) error {
	query, wrongQuery := spec.ReadQuery(r, "text", "limit")
	limit, wrongLimit := spec.ReadNumber("limit", cmp.Or(query.Get("limit"), "100"), 1, 10_000)
	filter, problems := a.page.Journal.NewFilter(query.Get("text"))
	if err := cmp.Or(wrongQuery, wrongLimit); err != nil {
		return err
	}
	if problems != nil {
		return errors.New(strings.Join(problems, "; "))
	}
	var list []*journal.Entry
	for _, e := range a.page.Journal.Read().List {
		if fits, _ := filter.Fits(e); fits {
			list = append(list, e)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"total":%d,"requests":[`, len(list))
	for i, e := range list[max(len(list)-limit, 0):] {
		text, _ := json.Marshal(showRequest(e)) // it can be encoded
		if i > 0 {
			text = append([]byte(",\n"), text...)
		}
		if _, err := w.Write(text); err != nil {
			return nil // the client is gone
		}
	}
	_, _ = io.WriteString(w, "]}\n")
	return nil
}

// onRequest returns an endpoint that calls f with the request whose seq is in the path.
func (a *API) onRequest(f func(r *http.Request, e *journal.Entry) (any, error)) endpoint {
	return func(r *http.Request) (any, error) {
		seq, _ := strconv.Atoi(r.PathValue("id")) // 0, for what is not a number, is not the seq of a request
		state := a.page.Journal.Read()
		if e := state.Entry(seq); e != nil {
			return f(r, e)
		}
		return nil, refuse(http.StatusNotFound, "there is no request %q in the journal", spec.Clip(r.PathValue("id")))
	}
}

func (a *API) getRequest(r *http.Request, e *journal.Entry) (any, error) {
	shown := showRequest(e)
	shown["curl"] = requestpage.Curl(a.srv, "http://"+r.Host, e.Request)
	return shown, nil
}

// repeat sends a request again, with the key it came with. It does not wait for the response.
func (a *API) repeat(_ *http.Request, e *journal.Entry) (any, error) {
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
