package page

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// own are the headers that every HTTP client makes itself.
var own = []string{"Accept-Encoding", "Connection", "Content-Length", "Expect", "Transfer-Encoding"}

// curl returns a command for a shell that sends a request again, as far as the journal has it, with
// its key if the fake knows the key, otherwise with $PETSTORE_API_KEY.
func curl(origin string, r *Request) string {
	words := []string{
		"curl", "--globoff", "--path-as-is", "--request", quote(r.Method), quote(origin + r.Path),
	}
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
		words = append(words, "--header", "Content-Type:") // otherwise curl declares a form
	}
	return strings.Join(append(words, "--data-raw", quote(string(r.Body))), " ")
}

// quote returns a word for a shell. It leaves out what a terminal takes for a command, such as a
// tab, since the word may come from anybody, and is there to be pasted.
func quote(word string) string {
	shown := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' {
			return r
		}
		return -1
	}, word)
	return "'" + strings.ReplaceAll(shown, "'", `'\''`) + "'"
}
