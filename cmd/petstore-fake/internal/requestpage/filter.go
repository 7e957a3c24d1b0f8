package requestpage

import (
	"strconv"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

// requestParameters are the parameters of a query that requestFilter reads.
func requestParameters() []string { return []string{"operation", "method", "status", "key", "fault"} }

// requestFilter reads the filters of a request's query. An operation "none" is that of a request which
// fits no operation.
func requestFilter(q *httpjson.Query) func(fake.Request) bool {
	operation := q.Text("operation", fake.OpListPets, fake.OpCreatePet, fake.OpGetPet, "none")
	method := q.Text("method")
	status := statusFilter(q)
	key := keyFilter(q)
	fault := q.Text("fault", "true", "false")
	return func(r fake.Request) bool {
		switch {
		case operation == "none" && r.Operation != "",
			operation != "" && operation != "none" && r.Operation != operation,
			method != "" && r.Method != method,
			!status(r.StatusCode), !key(r),
			fault != "" && r.Fault != (fault == "true"):
			return false
		}
		return true
	}
}

// statusFilter reads a status such as 429, a class such as 4xx, or 0 for no response.
func statusFilter(q *httpjson.Query) func(int) bool {
	text := q.Text("status")
	if text == "" {
		return func(int) bool { return true }
	}
	if len(text) == 3 && text[0] >= '1' && text[0] <= '9' && text[1:] == "xx" {
		return func(status int) bool { return status/100 == int(text[0]-'0') }
	}
	want, err := strconv.Atoi(text)
	if err != nil || want < 0 || want > 999 {
		q.Fail("status is %q; it must be a number such as 429, a class such as 4xx, or 0 for no response",
			spec.Clip(text))
	}
	return func(status int) bool { return status == want }
}

// keyFilter reads the id of a key, none or unknown.
func keyFilter(q *httpjson.Query) func(fake.Request) bool {
	text := q.Text("key")
	if text == "" {
		return func(fake.Request) bool { return true }
	}
	want, err := strconv.Atoi(text)
	if text != keyNone && text != keyUnknown && (err != nil || want < 1) {
		// The error does not repeat the text, which may be a key by mistake.
		q.Fail("key must be the id of a key, %s or %s; GET /_fake/keys lists the ids", keyNone, keyUnknown)
	}
	return func(r fake.Request) bool {
		return r.Key == want && (want > 0 || keyless(r) == text)
	}
}
