package petstore

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/ratelimit"
)

// Response describes the last HTTP response of the call that returned a result, an [APIError] or a
// [ResponseError].
type Response struct {
	// StatusCode is the HTTP status code.
	StatusCode int
	// Header is the response's header.
	Header http.Header
	// RateLimit is the rate limit from the X-RateLimit headers (section 8.2).
	RateLimit RateLimit
	// Attempts is the number of requests that the call sent, in part or completely.
	Attempts int
}

// RateLimit is the window of the rate limit according to the X-RateLimit headers of one response
// (section 8.2): Limit, Remaining and Reset. The zero RateLimit means that nothing is known, as
// when a header is missing or malformed.
type RateLimit = ratelimit.Window

// read reads the body of a response, at most maxBody bytes of it.
func (a *attempt) read(resp *http.Response) error {
	defer resp.Body.Close()  // its error says nothing new: the body was read to its end, or is given up
	const maxBody = 10 << 20 // about 100,000 pets; the document allows 100
	size := resp.ContentLength
	if size < 0 || size > maxBody { // a server may announce any length: memory is taken as bytes arrive
		size = 8 << 10
	}
	body := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	n, err := body.ReadFrom(io.LimitReader(resp.Body, maxBody+1))
	a.body = body.Bytes()
	if n > maxBody {
		a.failure = bodyTooLarge
	}
	return err
}

// decodeBody decodes the body of a success. A body that is empty, that is no JSON or that does not
// follow the document gives a *ResponseError. A 204 has no body.
func (k *call) decodeBody(a *attempt) error {
	mediaType, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	mediaType = strings.TrimSpace(mediaType)
	var err error
	switch {
	case a.was(http.StatusNoContent), k.into == nil && len(a.body) == 0:
		return nil
	case len(a.body) == 0: // the decoder would report no more than EOF
		return k.responseError(a, "body is empty", nil)
	case !strings.EqualFold(mediaType, "application/json"):
		return k.responseError(a, "Content-Type is "+safetext.Quote(mediaType)+", not application/json", nil)
	case k.into != nil:
		err = k.into.decode(a.body)
	case !jsontext.Value(a.body).IsValid():
		err = errNotJSON
	}
	if err == nil {
		return nil
	}
	// The decoder's error is not wrapped: it quotes names from the body, which may contain anything.
	return k.responseError(a, "body", errors.New(safetext.Line(safetext.Redact(err.Error(), a.key.Secret()))))
}

// response returns what results and errors say about the last response of the call.
func (k *call) response(a *attempt) Response {
	return Response{
		StatusCode: a.outcome.StatusCode, Header: a.header, RateLimit: a.outcome.Window, Attempts: k.requestsSent,
	}
}

// decodeError returns the code and the message of a body that is an Error object; both are empty
// for any other body: a 502, for example, often comes from a gateway, with a body in HTML.
func decodeError(body []byte) (code, message string) {
	var decoded struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	if jsonv2.Unmarshal(body, &decoded) != nil {
		return "", ""
	}
	return decoded.Code, decoded.Message
}

// bodyStart returns the part of the body that an error keeps: enough for an Error object.
func (a *attempt) bodyStart() []byte {
	return safetext.Head(a.body, a.key.Secret(), 4<<10, a.failure != noFailure)
}
