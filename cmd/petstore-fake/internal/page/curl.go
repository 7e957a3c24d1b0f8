package page

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"
)

// own has the headers that an HTTP client sets itself: the command leaves them to curl.
var own = []string{"Accept-Encoding", "Connection", "Content-Length", "Expect", "Transfer-Encoding"}

// curl returns a shell command that sends a request of the journal again. A body of more than
// 64 KiB is cut off, as in the journal. If the fake does not know the key of the request, the
// command takes the key from $PETSTORE_API_KEY.
func curl(origin string, r *Request) string {
	method := []string{"--request", quote(r.Method)}
	if r.Method == http.MethodHead {
		method = []string{"--head"} // with --request, curl would wait for a body
	}
	words := slices.Concat([]string{"curl", "--globoff", "--path-as-is"}, method, []string{quote(origin + r.Path)})
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			switch {
			case slices.Contains(own, name):
			case name != "Authorization":
				words = append(words, "--header", quote(name+": "+value))
			case r.Key > 0:
				words = append(words, "--header", quote("Authorization: Bearer "+r.Sender))
			default:
				words = append(words, "--header", `"Authorization: Bearer $PETSTORE_API_KEY"`)
			}
		}
	}
	if len(r.Body) == 0 {
		return strings.Join(words, " ")
	}
	if r.Header.Get("Content-Type") == "" {
		words = append(words, "--header", "Content-Type:") // stops curl from sending the Content-Type of a form
	}
	return strings.Join(append(words, "--data-raw", quote(string(r.Body))), " ")
}

// quote returns a word in quotes for a shell. It leaves out characters that are not printable, such
// as a tab: the user pastes the command into a terminal, which could obey such a character, and
// anybody may have sent the word.
func quote(word string) string {
	shown := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' {
			return r
		}
		return -1
	}, word)
	return "'" + strings.ReplaceAll(shown, "'", `'\''`) + "'"
}
