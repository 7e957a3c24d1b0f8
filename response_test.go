package petstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

// replaying returns a transport whose connections respond to a request with what open returns.
func replaying(open func() io.Reader) *http.Transport {
	return &http.Transport{DisableKeepAlives: true, DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
		client, service := net.Pipe()
		go func() {
			defer service.Close()
			_, _ = service.Read(make([]byte, 4096)) // net/http drops bytes that come before a request
			_, _ = io.Copy(service, open())
		}()
		return client, nil
	}}
}

// read is what net/http made of the bytes of a response.
type read struct {
	response *http.Response // nil if net/http returned an error
	body     []byte
	cut      bool // the body is cut off
}

func readByNetHTTP(t *testing.T, method string, response []byte) read {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "https://service.test/v1/pets", nil)
	require.NoError(t, err)
	resp, err := replaying(func() io.Reader { return bytes.NewReader(response) }).RoundTrip(req)
	if err != nil || resp.StatusCode == 0 {
		return read{}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return read{resp, body, err != nil}
}

// FuzzResponse gives arbitrary bytes as the response to a call. The call succeeds if net/http can
// read them as a response, and json/v2 can read its body as the document says, with all required
// fields; then it returns the values of json/v2. Otherwise it returns one of the five errors, on
// one short line, without the key, which the bytes may contain.
func FuzzResponse(f *testing.F) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	for _, response := range quotedLines(f, "testdata/responses.txt") {
		f.Add([]byte(response), []byte(nil))
	}
	for _, body := range quotedLines(f, "testdata/bodies.txt") {
		f.Add([]byte(head+"\r\n"), []byte(body))
		f.Add([]byte(strings.Replace(head, "200", "201", 1)+"\r\n"), []byte(body))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		response := slices.Concat(first, second)
		current := response
		client := newClient(t, replaying(func() io.Reader { return bytes.NewReader(current) }), testKey,
			once)
		listed, errList := client.ListPets(t.Context(), petstore.ListPetsParams{})
		created, errCreate := client.CreatePet(t.Context(), newPet())
		current = []byte(head + "\r\n" + strings.Repeat(" ", len(response))) // overwrites the buffer that the results must not use
		require.Error(t, list(client))
		checkListed(t, readByNetHTTP(t, http.MethodGet, response), listed, errList)
		checkCreated(t, readByNetHTTP(t, http.MethodPost, response), created, errCreate)
	})
}

// quotedLines returns the Go strings of a file that has one in each line.
func quotedLines(t testing.TB, file string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		s, err := strconv.Unquote(line)
		require.NoError(t, err)
		all = append(all, s)
	}
	return all
}

// acceptable reports whether a response is the documented success, apart from the contents of its
// body.
func (r read) acceptable(code int) bool {
	return r.response != nil && r.response.StatusCode == code && !r.cut &&
		isJSON(r.response.Header)
}

func isJSON(h http.Header) bool {
	mediaType, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(mediaType), "application/json")
}

// wirePet is a Pet of section 2 for json/v2. Its pointers show whether a required field is present.
type wirePet struct {
	ID         *int64  `json:"id"`
	Name       *string `json:"name"`
	CategoryID *int64  `json:"categoryId"`
	Status     *string `json:"status"`
}

func (p *wirePet) whole() bool {
	return p != nil && p.ID != nil && p.Name != nil && p.CategoryID != nil
}

func (p *wirePet) pet() petstore.Pet {
	pet := petstore.Pet{ID: *p.ID, Name: *p.Name, CategoryID: *p.CategoryID}
	if p.Status != nil {
		pet.Status = petstore.PetStatus(*p.Status)
	}
	return pet
}

func checkListed(t *testing.T, r read, got *petstore.ListPetsResult, err error) {
	t.Helper()
	var want *[]*wirePet
	theirs := jsonv2.Unmarshal(r.body, &want)
	whole := theirs == nil && want != nil && !slices.ContainsFunc(*want, func(p *wirePet) bool { return !p.whole() })
	require.Equal(t, r.acceptable(http.StatusOK) && whole, err == nil, "ours: %v; json/v2: %v", err, theirs)
	if err != nil {
		assert.Nil(t, got)
		checkResponseError(t, err, r)
		assert.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
		return
	}
	require.NotNil(t, got.Pets)
	require.Len(t, got.Pets, len(*want))
	for i, p := range *want {
		assert.Equal(t, p.pet(), got.Pets[i])
	}
}

func checkCreated(t *testing.T, r read, got *petstore.CreatePetResult, err error) {
	t.Helper()
	var want *wirePet
	theirs := jsonv2.Unmarshal(r.body, &want)
	require.Equal(t, r.acceptable(http.StatusCreated) && theirs == nil && want.whole(), err == nil, "ours: %v; json/v2: %v", err, theirs)
	if err == nil {
		assert.Equal(t, want.pet(), got.Pet)
		return
	}
	assert.Nil(t, got)
	checkResponseError(t, err, r)
	refused := r.response != nil && (r.response.StatusCode/100 == 4 && r.response.StatusCode != http.StatusRequestTimeout ||
		r.response.StatusCode == http.StatusNotImplemented)
	assert.Equal(t, !refused, errors.Is(err, petstore.ErrOutcomeUnknown), "%v", err)
}

// checkResponseError checks that the error agrees with what net/http read, and does not have the
// key.
func checkResponseError(t *testing.T, err error, r read) {
	t.Helper()
	assertShortLine(t, err)
	assert.NotContains(t, err.Error(), testKey)
	if api, ok := errors.AsType[*petstore.APIError](err); ok {
		require.NotNil(t, r.response)
		assert.Equal(t, r.response.StatusCode, api.StatusCode)
		checkKept(t, api.Response, api.Body)
		assert.NotContains(t, api.Code+api.Message, testKey)
		return
	}
	if invalid, ok := errors.AsType[*petstore.ResponseError](err); ok {
		require.ErrorIs(t, err, petstore.ErrInvalidResponse)
		checkKept(t, invalid.Response, invalid.Body)
		return
	}
	as[*petstore.TransportError](t, err)
	assert.Nil(t, r.response, "%v", err)
}

func checkKept(t *testing.T, r petstore.Response, body []byte) {
	t.Helper()
	assert.LessOrEqual(t, len(body), 4096)
	assert.NotContains(t, string(body), testKey)
	for _, values := range r.Header {
		assert.NotContains(t, strings.Join(values, " "), testKey)
	}
}

func TestErrorBody(t *testing.T) {
	client, _ := scripted(t, []responder{status(404, `{"code":"c","message":"m"}`, "Content-Type: ", "Content-Type: text/html")})
	e := as[*petstore.APIError](t, list(client))
	assert.Equal(t, []string{"c", "m"}, []string{e.Code, e.Message}, "whatever the media type")
	client, _ = scripted(t, []responder{status(201, `{"id":1}`)})
	invalid := as[*petstore.ResponseError](t, create(client))
	assert.Equal(t, `{"id":1}`, string(invalid.Body))
	assert.ErrorContains(t, invalid, "name is missing")
}
