package fake

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
	"time"
	"unicode/utf8"

	petstore "github.com/petstore/petstore-go"
)

// WriteHAR writes requests of the journal as an HTTP Archive (HAR 1.2), which browsers and
// debugging proxies open, one after the other. origin is put before the paths of the requests, such
// as "http://127.0.0.1:4010". The journal holds no API key, and so the archive holds none. The
// error is that of w.
func WriteHAR(w io.Writer, origin string, requests iter.Seq[Request]) error {
	before := `{"log":{"version":"1.2","creator":{"name":"petstore-go fake","version":"` + petstore.Version +
		`"},"entries":[`
	encoder := json.NewEncoder(w)
	for r := range requests {
		_, err := io.WriteString(w, before)
		if err == nil {
			err = encoder.Encode(harEntry(origin, r))
		}
		if err != nil {
			return fmt.Errorf("fake: WriteHAR: %w", err)
		}
		before = ","
	}
	if before == "," {
		before = ""
	}
	if _, err := io.WriteString(w, before+"]}}\n"); err != nil {
		return fmt.Errorf("fake: WriteHAR: %w", err)
	}
	return nil
}

// object is a JSON object. Its names below are those of the HTTP Archive format 1.2.
type object = map[string]any

func harEntry(origin string, r Request) object {
	took := float64(r.Duration) / float64(time.Millisecond)
	entry := object{
		"startedDateTime": r.Time.UTC(), "time": took,
		"request": harRequest(origin, r), "response": harResponse(r),
		"cache": object{}, "timings": object{"send": 0, "wait": took, "receive": 0},
	}
	if r.Hint != "" {
		entry["comment"] = r.Hint
	}
	return entry
}

func harRequest(origin string, r Request) object {
	target, query := r.Path, []object{}
	if u, err := url.ParseRequestURI(target); err == nil {
		query = harPairs(http.Header(u.Query()))
		if u.Host == "" && target != "*" {
			target = origin + target
		}
	}
	request := harMessage(r.Header, len(r.Body))
	request["method"], request["url"], request["queryString"] = r.Method, target, query
	if len(r.Body) > 0 {
		text, encoding := harText(r.Body)
		// The format has no encoding for the body of a request: the comment names it.
		request["postData"] = object{
			"mimeType": r.Header.Get("Content-Type"), "text": text, "comment": encoding,
		}
	}
	return request
}

func harResponse(r Request) object {
	text, encoding := harText(r.Answer)
	content := object{
		"size": len(r.Answer), "mimeType": r.AnswerHeader.Get("Content-Type"), "text": text,
	}
	if encoding != "" {
		content["encoding"] = encoding
	}
	response := harMessage(r.AnswerHeader, len(r.Answer))
	response["status"], response["statusText"] = r.StatusCode, http.StatusText(r.StatusCode)
	response["content"], response["redirectURL"] = content, ""
	return response
}

// harMessage returns the fields that requests and responses share.
func harMessage(h http.Header, bodySize int) object {
	return object{
		"httpVersion": "HTTP/1.1", "cookies": []object{}, "headers": harPairs(h),
		"headersSize": -1, "bodySize": bodySize, // -1: the journal does not know it
	}
}

func harPairs(h http.Header) []object {
	pairs := []object{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			pairs = append(pairs, object{"name": name, "value": value})
		}
	}
	return pairs
}

// harText returns a body as text with its encoding, which is empty for UTF-8.
func harText(body []byte) (text, encoding string) {
	if utf8.Valid(body) {
		return string(body), ""
	}
	return base64.StdEncoding.EncodeToString(body), "base64"
}
