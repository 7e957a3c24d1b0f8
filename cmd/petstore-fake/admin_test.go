package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// curlRequest returns the request that a command for curl sends.
func curlRequest(t *testing.T, line string) (method, target, body string) {
	t.Helper()
	words := curlArguments(t, "fake=/_fake; "+line)
	for i := 0; i < len(words); i++ {
		switch word := words[i]; word {
		case "-X":
			i++
			method = words[i]
		case "--json":
			i++
			body = words[i]
		case "-o":
			i++
		case "-N":
		default:
			require.Empty(t, target, line)
			target = word
		}
	}
	if method == "" && body != "" {
		method = http.MethodPost
	}
	return cmp.Or(method, http.MethodGet), target, body
}

func TestReset(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t, "-seed", writeFile(t, `[{"name":"Rex","categoryId":1}]`),
		"-plan", "free", "-clock", "2030-01-01T00:00:00Z", "-fault", "status=500,operation=createPet")
	start := i.startState()
	i.object("POST", "/_fake/keys", `{"key":"second-key","plan":"free"}`)
	i.object("PUT", "/_fake/keys/1/plan", `{"plan":"enterprise:5,5"}`)
	i.object("PUT", "/_fake/keys/1/ban", `{"duration":"1h"}`)
	i.object("POST", "/_fake/faults", `{"status":503,"times":"forever"}`)
	i.object("POST", "/_fake/clock", `{"advance":"1h"}`)
	i.object("POST", "/_fake/pets", `{"name":"Mimi","categoryId":1}`)
	assert.Equal(t, 500, i.status("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`))
	assert.Equal(t, 503, i.status("GET", "/v1/pets", ""))
	require.NotEqual(t, start, i.startState())

	assert.Equal(t, 204, i.status("POST", "/_fake/reset", ""))
	assert.Equal(t, start, i.startState(), "everything is as it was at the start")
	assert.Equal(t, 401, i.callAs("second-key", "GET", "/v1/pets", "").Code)
	assert.Equal(t, 500, i.status("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`), "the fault is back")
}

// startState returns what a reset must put back, but for the seconds of the clock.
func (i testInstance) startState() map[string]string {
	i.t.Helper()
	state := make(map[string]string)
	for _, path := range []string{"keys", "faults", "pets", "requests", "violations", "clock"} {
		text := i.call("GET", "/_fake/"+path, "").Body.String()
		state[path] = regexp.MustCompile(`T\d\d:\d\d:[\d.]+Z`).ReplaceAllString(text, "")
	}
	state["clock"] = regexp.MustCompile(`"now":"\d{4}`).FindString(state["clock"]) // the year
	return state
}

func TestDocumentation(t *testing.T) {
	t.Parallel()
	t.Run("names every flag", func(t *testing.T) {
		t.Parallel()
		for _, o := range new(settings).options() {
			assert.Regexp(t, `(?m)^//\t-`+o.name+`[ [,]`, documentation)
		}
	})
	t.Run("names every field of a fault", func(t *testing.T) {
		t.Parallel()
		_, fields, _ := strings.Cut(documentation, "The fields are those of fake.Fault: ")
		for _, name := range spec.FaultFields() {
			assert.Regexp(t, `\b`+name+`\b`, fields)
		}
	})
	t.Run("names every plan", func(t *testing.T) {
		t.Parallel()
		_, plans, _ := strings.Cut(documentation, "of the keys without one: ")
		plans, _, _ = strings.Cut(plans, "enterprise:M,D")
		names := strings.ReplaceAll(fakecontrol.PlanNames(), " or ", ", ")
		for name := range strings.SplitSeq(strings.TrimSuffix(names, ", enterprise:M,D"), ", ") {
			assert.Contains(t, plans, name, "doc.go lacks a plan in its list")
		}
	})
	t.Run("names every wire of a fault", func(t *testing.T) {
		t.Parallel()
		_, wires, _ := strings.Cut(documentation, "and wire (")
		wires, _, _ = strings.Cut(wires, ")")
		for _, wire := range fakecontrol.Wires()[1:] {
			assert.Regexp(t, `\b`+string(wire)+`\b`, wires, "doc.go lacks a wire in its list")
		}
	})
	t.Run("names every behaviour with its choices", func(t *testing.T) {
		t.Parallel()
		_, err := fakecontrol.ParseBehavior("=")
		require.Error(t, err)
		_, names, _ := strings.Cut(err.Error(), "the behaviours are ")
		for name := range strings.SplitSeq(names, ", ") {
			found := regexp.MustCompile(`(?m)^//\t` + name + ` +(.*)$`).FindStringSubmatch(documentation)
			require.NotNil(t, found, name)
			for choice := range strings.SplitSeq(found[1], ", ") {
				_, err := fakecontrol.ParseBehavior(name + "=" + choice)
				assert.NoError(t, err)
			}
		}
	})
	// Every command for curl in the documentation works, and there is one for each admin route.
	t.Run("has a command for curl for every route", func(t *testing.T) {
		t.Parallel()
		text, err := os.ReadFile("../../docs/petstore-fake.md")
		require.NoError(t, err)
		_, block, _ := strings.Cut(string(text), "```sh\nfake=")
		block, _, _ = strings.Cut(block, "```")
		i := newTestInstance(t)
		untested := make(map[string]bool)
		mux := http.NewServeMux()
		for _, r := range i.routes() {
			untested[r.Method+" "+r.Path] = true
			mux.HandleFunc(r.Method+" "+strings.TrimSuffix(r.Path, "/"), func(http.ResponseWriter, *http.Request) {
				delete(untested, r.Method+" "+r.Path)
			})
		}
		for line := range strings.Lines("fake=" + block) {
			if !strings.HasPrefix(line, "curl ") {
				continue
			}
			i.call("GET", "/v1/pets", "") // so that there is a request 1 in the journal
			method, target, body := curlRequest(t, line)
			r := request(t, method, target, body)
			w := i.send(r)
			assert.Less(t, w.Code, 300, "%s: %s", line, w.Body)
			r.URL.Path = strings.TrimSuffix(r.URL.Path, "/")
			mux.ServeHTTP(httptest.NewRecorder(), r)
		}
		assert.Empty(t, untested)
	})
}

func TestAdminRoutes(t *testing.T) {
	t.Parallel()
	t.Run("refuse wrong requests with the reason", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t)
		i.object("POST", "/_fake/pets", `{"name":"Rex","categoryId":1}`)
		for _, c := range []struct {
			method, path, body string
			status             int
			reason             string
		}{
			{"GET", "/_fake/nothing", "", 404, "GET /_fake/ lists them"},
			{"GET", "/_fake/requests?limit=0", "", 400, "limit"},
			{"GET", "/_fake/requests?limit=ten", "", 400, "limit"},
			{"GET", "/_fake/requests?limit=1&limit=2", "", 400, "twice"},
			{"GET", "/_fake/requests?colour=red", "", 400, `\"colour\"`},
			{"GET", "/_fake/requests?fault=perhaps", "", 400, "fault"},
			{"GET", "/_fake/requests?since=-1", "", 400, "since"},
			{"GET", "/_fake/requests?a=%zz", "", 400, "query"},
			{"PUT", "/_fake/clock", `{"time":"tomorrow"}`, 400, "2030-12-05T00:00:00Z"},
			{"PUT", "/_fake/clock", `{"time":"1969-01-01T00:00:00Z"}`, 400, "1970"},
			{"PUT", "/_fake/clock", `{"time":"2300-01-01T00:00:00Z"}`, 400, "2291"},
			{"POST", "/_fake/clock", `{"advance":"-1m"}`, 400, "advance"},
			{"POST", "/_fake/clock", `{"advance":60}`, 400, "advance must be of type string, not number"},
			{"POST", "/_fake/clock", `{"advance":"2562047h"}`, 400, "advance"},
			{"POST", "/_fake/clock", `{"forward":"1m"}`, 400, `unknown field \"forward\"`},
			{"POST", "/_fake/clock", `{}`, 400, "advance"},
			{"POST", "/_fake/clock", `[]`, 400, "must be a JSON object"},
			{"POST", "/_fake/clock", `null`, 400, "must be a JSON object"},
			{"POST", "/_fake/clock", `{"advance":"1m"} x`, 400, "not JSON"},
			{"POST", "/_fake/clock", `{"advance"`, 400, "not JSON"},
			{"POST", "/_fake/clock", `{"advance":"1m","advance":"2m"}`, 400, "duplicate"},
			{"POST", "/_fake/clock", ``, 400, "missing"},
			{"POST", "/_fake/clock", `{"advance":"` + strings.Repeat(" ", 1<<20) + `1m"}`, 413, "larger"},
			{"POST", "/_fake/faults", `{"status":99}`, 400, "Status is 99"},
			{"POST", "/_fake/faults", ``, 400, "missing"},
			{"POST", "/_fake/faults", `""`, 400, "a field is missing"},
			{"POST", "/_fake/faults", `"status=1000"`, 400, "Status is 1000"},
			{"POST", "/_fake/faults", `"status=503" 1`, 400, "must be a JSON object"},
			{"POST", "/_fake/faults", `null`, 400, "must be a JSON object"},
			{"DELETE", "/_fake/faults/9", "", 404, `\"9\"`},
			{"DELETE", "/_fake/faults/x", "", 404, `\"x\"`},
			{"POST", "/_fake/keys", `{"key":"","plan":"pro"}`, 400, "key"},
			{"POST", "/_fake/keys", `{"key":"a-key","plan":"no-such-plan"}`, 400, "plan"},
			{"POST", "/_fake/keys", `{"key":"a-key","plan":"pro","owner":"me"}`, 400, `\"owner\"`},
			{"GET", "/_fake/keys/2", "", 404, "no key"},
			{"GET", "/_fake/keys/0", "", 404, "no key"},
			{"DELETE", "/_fake/keys/x", "", 404, "no key"},
			{"PUT", "/_fake/keys/9/plan", `{"plan":"pro"}`, 404, "no key"},
			{"PUT", "/_fake/keys/1/plan", `{"plan":"no-such-plan"}`, 400, "plan"},
			{"PUT", "/_fake/keys/1/ban", `{"duration":"0s"}`, 400, "duration"},
			{"PUT", "/_fake/keys/1/ban", `{"duration":"soon"}`, 400, "duration"},
			{"PUT", "/_fake/keys/9/ban", `{"duration":"1m"}`, 404, "no key"},
			{"DELETE", "/_fake/keys/9/ban", "", 404, "no key"},
			{"POST", "/_fake/pets", `{"name":"Rex"}`, 400, "categoryId"},
			{"POST", "/_fake/pets", `{"name":"Rex","categoryId":1,"colour":"red"}`, 400, "colour"},
			{"POST", "/_fake/pets", `[{"name":"a","categoryId":1},{"name":"b"}]`, 400, "pet 2 of the array"},
			{"POST", "/_fake/pets", ``, 400, "missing"},
		} {
			t.Run(fmt.Sprintf("%s %s %.40s", c.method, c.path, c.body), func(t *testing.T) {
				w := i.call(c.method, c.path, c.body)
				assert.Equal(t, c.status, w.Code, "%s %s %.80s: %s", c.method, c.path, c.body, w.Body)
				assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
				assert.Contains(t, w.Body.String(), `{"error":"`)
				assert.Contains(t, w.Body.String(), c.reason, "%s %s %.80s", c.method, c.path, c.body)
			})
		}
	})
	t.Run("refuse other methods and name their own", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t)
		allowed := make(map[string]map[string]bool)
		for _, r := range i.routes() {
			path := strings.ReplaceAll(r.Path, "{id}", "1")
			if allowed[path] == nil {
				allowed[path] = make(map[string]bool)
			}
			allowed[path][r.Method] = true
		}
		for path, methods := range allowed {
			for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
				if methods[method] {
					continue
				}
				w := i.call(method, path, "")
				assert.Equal(t, http.StatusMethodNotAllowed, w.Code, "%s %s", method, path)
				for allow := range methods {
					assert.Contains(t, w.Header().Get("Allow"), allow)
				}
				assert.True(t, json.Valid(w.Body.Bytes()))
			}
		}
	})
	t.Run("are neither counted nor faulted nor in the journal", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t, "-plan", "enterprise:1,1", "-fault", "status=503,times=forever", "-log", "text")
		for range 3 {
			assert.Equal(t, 200, i.status("GET", "/_fake/keys", ""))
			r := request(t, "GET", "/_fake/pets", "")
			r.Header.Set("Authorization", "Bearer fake-api-key")
			assert.Equal(t, 200, i.send(r).Code)
		}
		assert.Empty(t, i.srv.Requests())
		assert.Zero(t, i.srv.Usage("fake-api-key").Minute)
		assert.Empty(t, i.stderr.String())
		assert.Equal(t, 503, i.status("GET", "/v1/pets", ""))
	})
	t.Run("hide keys", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t, "-key", "operator-secret", "-fault", "key=other-secret-key,status=500")
		i.object("POST", "/_fake/keys", `{"key":"short","plan":"pro"}`)
		i.callAs("operator-secret", "GET", "/v1/pets?key=operator-secret", "")
		for _, path := range []string{"/_fake/requests?key=operator-secret", "/_fake/keys/operator-secret"} {
			w := i.call("GET", path, "")
			assert.Contains(t, w.Body.String(), "GET /_fake/keys lists the ids", path)
			assert.NotContains(t, w.Body.String(), "operator-secret", path)
		}
		for _, r := range i.routes() {
			if r.Method == http.MethodGet {
				w := i.call("GET", strings.ReplaceAll(r.Path, "{id}", "1"), "")
				for _, key := range []string{"operator-secret", "other-secret-key", `"short"`} {
					assert.NotContains(t, w.Body.String(), key, r.Path)
				}
			}
		}
	})
	t.Run("leave all other paths to the service", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t)
		for _, path := range []string{"/", "/_fakes", "/v1/../_fake/reset", "//v1/pets", "/favicon.ico"} {
			assert.Equal(t, http.StatusNotFound, i.status("GET", path, ""), path)
		}
		assert.Len(t, i.srv.Requests(), 5)
		assert.Equal(t, http.StatusOK, i.status("HEAD", "/_fake/", ""))
		assert.Contains(t, []int{301, 307}, i.status("GET", "/_fake", ""))
	})
}
