package page

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxCurl bounds the body of a command, in bytes.
const maxCurl = 4 << 10

// own are the headers that every HTTP client makes itself.
var own = []string{"Accept-Encoding", "Connection", "Content-Length", "Expect", "Transfer-Encoding"}

// Curl returns a command for a shell that sends a request again, with the key of the request if the
// fake knows it and else with $PETSTORE_API_KEY. A note says what the command cannot repeat, or why
// there is none.
func Curl(origin string, r *Request) (command, note string) {
	if len(r.Body) > maxCurl || bytes.Contains(r.Body, []byte("\x00")) {
		return "", fmt.Sprintf("There is no command for a body of more than %d bytes, or with a NUL.", maxCurl)
	}
	words := []string{"curl", "--request", quote(r.Method)}
	if r.Method == http.MethodHead {
		words = []string{"curl", "--head"}
	}
	if strings.ContainsAny(r.Path, "[]{}") || strings.Contains(r.Path, "/.") { // curl would change it
		words = append(words, "--globoff", "--path-as-is")
	}
	words = append(words, quote(origin+r.Path))
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if name == "Authorization" && r.Key == 0 {
			words = append(words, `--header "Authorization: Bearer $PETSTORE_API_KEY"`)
			note = "The journal has no key that the fake does not know: the command sends $PETSTORE_API_KEY."
			continue
		}
		words = append(words, headerWords(name, r)...)
	}
	if len(r.Body) > 0 {
		if r.Header.Get("Content-Type") == "" {
			words = append(words, "--header", "Content-Type:") // otherwise curl declares a form
		}
		words = append(words, "--data-raw", quote(string(r.Body)))
	}
	return strings.Join(words, " "), note
}

// headerWords returns the options for one name of the header of a request.
func headerWords(name string, r *Request) (words []string) {
	if slices.Contains(own, name) {
		return nil
	}
	for _, value := range r.Header[name] {
		if name == "Authorization" {
			value = "Bearer " + r.Sender
		}
		words = append(words, "--header", quote(name+": "+value))
	}
	return words
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
