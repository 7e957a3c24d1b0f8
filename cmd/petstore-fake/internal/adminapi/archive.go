package adminapi

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"
	"unicode/utf8"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// object is a JSON object. Its names below are those of the HTTP Archive format 1.2, which browsers
// and debugging proxies open.
type object = map[string]any

// archive handles GET /_fake/har.
func (a *API) archive(w http.ResponseWriter, r *http.Request) error {
	_, seqs, err := a.fitting(r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Disposition", `attachment; filename="petstore-fake.har"`)
	begin := fmt.Sprintf(`{"log":{"version":"1.2","creator":{"name":"petstore-fake","version":%q},"entries":[`, petstore.Version)
	a.writeList(w, begin, seqs, func(one fake.Request) any { return archived("http://"+r.Host, one) }, "]}}")
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
