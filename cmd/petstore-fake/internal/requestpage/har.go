package requestpage

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// object is a JSON object. Its names below are those of the HTTP Archive format 1.2.
type object = map[string]any

// writeArchive writes an HTTP Archive, which browsers and debugging proxies open, one request after
// the other: the journal may be large. origin, such as "http://127.0.0.1:4010", is put before paths.
func writeArchive(w io.Writer, origin string, requests iter.Seq[fake.Request]) error {
	separator := fmt.Sprintf(`{"log":{"version":"1.2","creator":{"name":"petstore-fake","version":%q},"entries":[`,
		petstore.Version)
	for r := range requests {
		entry, err := json.Marshal(archivedEntry(origin, r))
		if err != nil {
			return err
		}
		if _, err := w.Write(append([]byte(separator), entry...)); err != nil {
			return err
		}
		separator = ",\n"
	}
	_, err := io.WriteString(w, strings.TrimPrefix(separator, ",\n")+"]}}\n")
	return err
}

func archivedEntry(origin string, r fake.Request) object {
	took := float64(r.Duration) / float64(time.Millisecond)
	return object{
		"startedDateTime": r.Time.UTC(), "time": took, "comment": r.Hint,
		"request": archivedRequest(origin, r), "response": archivedResponse(r),
		"cache": object{}, "timings": object{"send": 0, "wait": took, "receive": 0},
	}
}

func archivedRequest(origin string, r fake.Request) object {
	target, query := r.Path, []object{}
	if u, err := url.ParseRequestURI(target); err == nil {
		query = pairs(http.Header(u.Query()))
		if u.Host == "" && target != "*" {
			target = origin + target
		}
	}
	o := archivedMessage(r.Header, r.Body)
	o["method"], o["url"], o["queryString"] = r.Method, target, query
	if len(r.Body) > 0 {
		// The format has no encoding for the body of a request: the comment names it.
		o["postData"] = archivedBody(r.Header, r.Body, "comment")
	}
	return o
}

func archivedResponse(r fake.Request) object {
	o := archivedMessage(r.ResponseHeader, r.ResponseBody)
	o["status"], o["statusText"], o["redirectURL"] = r.StatusCode, http.StatusText(r.StatusCode), ""
	body := archivedBody(r.ResponseHeader, r.ResponseBody, "encoding")
	body["size"] = len(r.ResponseBody)
	o["content"] = body
	return o
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

// archivedBody returns a body, in Base64 if it is not UTF-8: the member named encoding says so.
func archivedBody(h http.Header, body []byte, encoding string) object {
	if utf8.Valid(body) {
		return object{"mimeType": h.Get("Content-Type"), "text": string(body)}
	}
	text := base64.StdEncoding.EncodeToString(body)
	return object{"mimeType": h.Get("Content-Type"), "text": text, encoding: "base64"}
}
