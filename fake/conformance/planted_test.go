package conformance

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/fake"
)

// bug is a small change of the fake's behaviour: a pattern in a request or a response, and the text
// in its place, in which {count} stands for the number of requests so far.
type bug struct {
	clause        string // the beginning of the name of the one that must fail; empty: none may
	what          string
	in            string // the beginning of the text of the requests or responses that change
	pattern, with string
}

const (
	allOfBody = `(?s)(\n\n)(.*)` // of a response
	aPet      = `{"name":"x","categoryId":1}`
	goodAuth  = " Bearer " + fake.DefaultAPIKey

	limitHeader     = "8.2 every response carries X-RateLimit-Limit"
	remainingHeader = "8.2 every response carries X-RateLimit-Remaining"
	resetHeader     = "8.2 every response carries X-RateLimit-Reset"
)

// change returns a text with the bug. Requests begin with a line such as
// "GET /pets?limit=1 Bearer fake-api-key", and responses with "HTTP/1.0 200 listPets /pets?limit=1".
func (b bug) change(text string) string {
	if b.what == "" || !strings.HasPrefix(text, b.in) && !strings.HasPrefix(text, "HTTP/1.0 "+b.in) {
		return text
	}
	return regexp.MustCompile(b.pattern).ReplaceAllString(text, b.with)
}

// service is the fake with a bug, as the transport of a client.
type service struct {
	bug
	fake  http.RoundTripper
	count int // requests so far
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	path := strings.TrimPrefix(r.URL.RequestURI(), "/v1")
	operation := map[bool]string{true: "getPet", false: "listPets"}[strings.HasPrefix(path, "/pets/")]
	if r.Method == http.MethodPost {
		operation = "createPet"
	}
	sent, _ := io.ReadAll(r.Body)
	line, body, _ := strings.Cut(s.change(fmt.Sprintf("%s %s %s\n%s", r.Method, path, r.Header.Get("Authorization"), sent)), "\n")
	words := strings.SplitN(line, " ", 3)
	r2, err := http.NewRequest(r.Method, "http://petstore.example/v1"+words[1], strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r2.Header = r.Header.Clone()
	r2.Header.Set("Authorization", words[2])
	resp, err := s.fake.RoundTrip(r2)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	received, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	s.count++
	var header strings.Builder
	_ = resp.Header.WriteSubset(&header, map[string]bool{"Content-Length": true})
	text := fmt.Sprintf("HTTP/1.0 %d %s %s\n%s\n%s", resp.StatusCode, operation, path,
		strings.ReplaceAll(header.String(), "\r\n", "\n"), received)
	text = strings.ReplaceAll(s.change(text), "{count}", fmt.Sprint(s.count))
	return http.ReadResponse(bufio.NewReader(strings.NewReader(text)), r)
}

// The clause of a bug must fail, with an empty catalogue or with a full one.
func TestPlanted(t *testing.T) {
	caught := make(map[string]bool) // clauses
	for _, b := range slices.Concat(bugs, different) {
		names := slices.DeleteFunc(names(), func(name string) bool { return !strings.HasPrefix(name+" ", b.clause) })
		if b.clause != "" && assert.Len(t, names, 1, b.clause) {
			caught[names[0]] = true
		}
		t.Run(b.what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				plan := fake.WithPlan(fake.Plan{PerMinute: 120}) // enough for a run, and soon used up
				_, empty := open(t, b, plan)
				_, full := open(t, b, plan, catalogue())
				failed, _ := empty.checkAll()
				failedToo, _ := full.checkAll()
				if b.clause == "" {
					assert.Empty(t, failed)
					assert.Empty(t, failedToo)
					return
				}
				text := cmp.Or(failed[names[0]], failedToo[names[0]])
				assert.Regexp(t, `^section [\d.]+: expected .+, got .+\n\tin .+$`, text, "the bug must be reported")
			})
		})
	}
	for _, name := range names() {
		assert.True(t, caught[name], "bugs_test.go has no bug that makes this clause fail: %s", name)
	}
}
