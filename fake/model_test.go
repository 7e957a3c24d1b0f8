package fake

import (
	"math"
	"math/big"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
)

// model is a second implementation of the service document, which checks the responses of the
// first. It reads paths with net/http's ServeMux.
type model struct {
	now  time.Time
	pets []petstore.Pet // by ascending id
}

// check fails the test unless a request was served as the document says, and updates the catalogue.
func (m *model) check(t *testing.T, x served) {
	t.Helper()
	checkEveryAnswer(t, m.now, x)
	path, id := pathByServeMux(x.request)
	code := http.StatusMethodNotAllowed
	switch {
	case path == "":
		code = http.StatusNotFound
	case !presentsKey(x.request.Header):
		code = http.StatusUnauthorized
		assert.Equal(t, "Bearer", x.answer.Header().Get("WWW-Authenticate"))
	case modelled()[x.request.Method+" "+path] != nil:
		modelled()[x.request.Method+" "+path](m, t, x, id)
		return
	default:
		assert.Contains(t, x.answer.Header().Get("Allow"), http.MethodGet)
	}
	assert.Equal(t, code, x.answer.Code)
}

// modelled returns the operations that the model has.
func modelled() map[string]func(*model, *testing.T, served, string) {
	return map[string]func(*model, *testing.T, served, string){
		"GET /v1/pets":         (*model).checkList,
		"POST /v1/pets":        (*model).checkCreate,
		"GET /v1/pets/{petId}": (*model).checkGet,
	}
}

func TestModelHasEveryOperation(t *testing.T) {
	for _, o := range Operations() {
		assert.NotNil(t, modelled()[o.Method+" "+version+o.Path], "model_test.go lacks %s", o.Name)
	}
	assert.Len(t, modelled(), len(Operations()))
}

// The list of the wires has every constant, and the package's documentation names each.
func TestWiresHaveEveryConstant(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	source, err := os.ReadFile("wire.go")
	require.NoError(t, err)
	declared := regexp.MustCompile(`(Wire\w+) +Wire = "(.+)"`).FindAllStringSubmatch(string(source), -1)
	assert.Len(t, declared, len(Wire("").Values()))
	for _, one := range declared {
		assert.Contains(t, Wire("").Values(), Wire(one[2]))
		assert.Contains(t, string(doc), "Wire: "+one[1])
	}
}

// checkEveryAnswer checks the parts that all responses have: the three headers, the server's time
// and JSON, which is an Error object in a refusal (sections 7 and 8.2).
func checkEveryAnswer(t *testing.T, now time.Time, x served) {
	t.Helper()
	h := x.answer.Header()
	for _, name := range []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"} {
		require.Len(t, h[name], 1, name)
		n, ok := new(big.Int).SetString(h[name][0], 10)
		assert.True(t, ok && n.Sign() >= 0 && n.IsInt64(), "%s: %s", name, h[name])
	}
	assert.Equal(t, now.Format(http.TimeFormat), h.Get("Date"))
	assert.Equal(t, "application/json", h.Get("Content-Type"))
	if x.answer.Code < 400 || x.request.Method == http.MethodHead {
		return
	}
	var e struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Status  int    `json:"status"`
	}
	require.NoError(t, json.Unmarshal(x.answer.Body.Bytes(), &e, json.RejectUnknownMembers(true)))
	assert.NotEmpty(t, e.Code)
	assert.NotEmpty(t, e.Message)
	assert.Equal(t, x.answer.Code, e.Status)
}

// pathByServeMux is the template of a path of the service, as net/http understands paths, empty if
// it has none.
func pathByServeMux(r *http.Request) (template, id string) {
	mux := http.NewServeMux()
	for _, path := range []string{"/v1/pets", "/v1/pets/{petId}"} {
		mux.HandleFunc(path, func(_ http.ResponseWriter, r *http.Request) { template, id = path, r.PathValue("petId") })
	}
	r = r.Clone(r.Context())
	r.Method = http.MethodConnect // for which it takes paths as they are, and redirects none
	slash := strings.HasSuffix(strings.ToUpper(r.URL.RawPath), "/%2F")
	if slash { // the one segment that it takes for no segment
		r.URL.RawPath, r.URL.Path = r.URL.RawPath+"%2F", r.URL.Path+"/"
	}
	mux.ServeHTTP(httptest.NewRecorder(), r)
	if slash {
		id = strings.TrimSuffix(id, "/")
	}
	return template, id
}

func presentsKey(h http.Header) bool {
	values := h["Authorization"]
	if len(values) != 1 {
		return false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	return strings.EqualFold(scheme, "Bearer") && strings.Trim(token, " ") == DefaultAPIKey
}

// jsonInteger is the one spelling of an integer that the fake takes, also in a path and a query.
var jsonInteger = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// number reads an integer with math/big, and returns false if it is not between least and most.
func number(s string, least, most int64) (int64, bool) {
	n, ok := new(big.Int).SetString(s, 10)
	if !ok || !jsonInteger.MatchString(s) || n.Cmp(big.NewInt(least)) < 0 || n.Cmp(big.NewInt(most)) > 0 {
		return 0, false
	}
	return n.Int64(), true
}

func (m *model) checkList(t *testing.T, x served, _ string) {
	t.Helper()
	values, err := url.ParseQuery(x.request.URL.RawQuery)
	limit, good := int64(20), err == nil && len(values["limit"]) < 2 && len(values["status"]) < 2
	if good && values.Has("limit") {
		limit, good = number(values.Get("limit"), 1, 100)
	}
	status := petstore.PetStatus(values.Get("status"))
	if !good || values.Has("status") && !status.Valid() {
		assert.Equal(t, http.StatusBadRequest, x.answer.Code, x.request.URL.RawQuery)
		return
	}
	require.Equal(t, http.StatusOK, x.answer.Code, x.request.URL.RawQuery)
	want := []petstore.Pet{}
	for _, p := range m.pets {
		if (status == "" || p.Status == status) && int64(len(want)) < limit {
			want = append(want, p)
		}
	}
	var got []petstore.Pet
	require.NoError(t, json.Unmarshal(x.answer.Body.Bytes(), &got, json.RejectUnknownMembers(true)))
	assert.Equal(t, want, got)
}

func (m *model) checkGet(t *testing.T, x served, petID string) {
	t.Helper()
	id, ok := number(petID, math.MinInt64, math.MaxInt64)
	i := slices.IndexFunc(m.pets, func(p petstore.Pet) bool { return ok && p.ID == id })
	if i < 0 {
		assert.Equal(t, http.StatusNotFound, x.answer.Code, petID)
		return
	}
	require.Equal(t, http.StatusOK, x.answer.Code, petID)
	var got petstore.Pet
	require.NoError(t, json.Unmarshal(x.answer.Body.Bytes(), &got, json.RejectUnknownMembers(true)))
	assert.Equal(t, m.pets[i], got)
}

func (m *model) checkCreate(t *testing.T, x served, _ string) {
	t.Helper()
	p, ok := readModelPet(x.body)
	if !ok || x.broken || len(x.body) > maxBody || !saysJSON(x.request.Header) {
		assert.Equal(t, http.StatusBadRequest, x.answer.Code, "%s", x.body)
		return
	}
	require.Equal(t, http.StatusCreated, x.answer.Code, "%s: %s", x.body, x.answer.Body)
	want := petstore.Pet{ID: int64(len(m.pets) + 1), Name: p.Name, CategoryID: p.CategoryID, Status: p.Status}
	var got petstore.Pet
	require.NoError(t, json.Unmarshal(x.answer.Body.Bytes(), &got, json.RejectUnknownMembers(true)))
	assert.Equal(t, want, got)
	m.pets = append(m.pets, want)
}

func saysJSON(h http.Header) bool {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	encoding := h.Get("Content-Encoding")
	return err == nil && media == "application/json" && (encoding == "" || encoding == "identity")
}

// readModelPet reads a NewPet (section 2).
func readModelPet(body []byte) (p petstore.NewPet, ok bool) {
	var members map[string]jsontext.Value
	if json.Unmarshal(body, &members) != nil {
		return p, false
	}
	var name, status string
	if json.Unmarshal(members["name"], &name) != nil || name == "" {
		return p, false
	}
	category, ok := number(string(members["categoryId"]), math.MinInt64, math.MaxInt64)
	if !ok {
		return p, false
	}
	if value, given := members["status"]; given {
		if value.Kind() != '"' || json.Unmarshal(value, &status) != nil || !petstore.PetStatus(status).Valid() {
			return p, false
		}
	}
	return petstore.NewPet{Name: name, CategoryID: category, Status: petstore.PetStatus(status)}, true
}

func TestVariantsCoverEveryPairOfChoices(t *testing.T) {
	missing := make(map[[2]string]bool)
	all := axesOf(new(Behavior))
	for i, a := range all {
		for _, b := range all[i+1:] {
			for _, choice := range a.choices {
				for _, other := range b.choices {
					missing[[2]string{a.name + "=" + choice, b.name + "=" + other}] = true
				}
			}
		}
	}
	for name := range Variants() {
		var v Behavior
		require.NoError(t, v.UnmarshalText([]byte(name)))
		all := axesOf(&v)
		for i, a := range all {
			for _, b := range all[i+1:] {
				delete(missing, [2]string{a.name + "=" + a.get(), b.name + "=" + b.get()})
			}
		}
	}
	for pair := range missing {
		// No status is the nearest of an unknown one: to clamp it is to ignore it.
		assert.Contains(t, pair, "invalid-status=clamp")
	}
}
