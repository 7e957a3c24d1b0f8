package page

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// own are the headers that every HTTP client makes itself.
var own = []string{"Accept-Encoding", "Connection", "Content-Length", "Expect", "Transfer-Encoding"}

// Curl returns a command for a shell that sends a request again, as far as the journal has it, with
// its key if the fake knows the key, otherwise with $PETSTORE_API_KEY.
func Curl(origin string, r *Request) string {
	words := []string{"curl", "--request", quote(r.Method)}
	if r.Method == http.MethodHead {
		words = []string{"curl", "--head"}
	}
	if strings.ContainsAny(r.Path, "[]{}") || strings.Contains(r.Path, "/.") { // curl would change it
		words = append(words, "--globoff", "--path-as-is")
	}
	words = append(words, quote(origin+r.Path))
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

// quote returns a word for a shell. If it has a character that a terminal takes for a command, such
// as a tab, it is written as $'...', which POSIX has since 2024.
func quote(word string) string {
	isCommand := func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }
	if utf8.ValidString(word) && !strings.ContainsFunc(word, isCommand) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder
	for _, c := range []byte(word) {
		if c < ' ' || c > '~' || c == '\'' || c == '\\' {
			fmt.Fprintf(&b, `\%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return "$'" + b.String() + "'"
}
