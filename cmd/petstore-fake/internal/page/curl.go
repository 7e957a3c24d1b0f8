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

// maxCurl bounds the body of a command, in bytes.
const maxCurl = 4 << 10

// own are the headers that every HTTP client makes itself.
var own = []string{"Accept-Encoding", "Connection", "Content-Length", "Expect", "Transfer-Encoding"}

// Curl returns a command for a POSIX shell that sends a request again, with the key of the request
// if the fake knows it and else with $PETSTORE_API_KEY. A note says what the command cannot repeat,
// or why there is none.
func Curl(origin string, r *Request) (command, note string) {
	if len(r.Body) > maxCurl {
		return "", fmt.Sprintf("There is no command: its body would be longer than %s.", many(maxCurl, "byte"))
	}
	words := []string{"curl", "--request", quote(r.Method)}
	if r.Method == http.MethodHead {
		words = []string{"curl", "--head"}
	}
	if strings.ContainsAny(r.Path, "[]{}") || strings.Contains(r.Path, "/.") { // curl would change it
		words = append(words, "--globoff", "--path-as-is")
	}
	headers, note := headerWords(r)
	words = append(append(words, quote(origin+r.Path)), headers...)
	if len(r.Body) > 0 && r.Header.Get("Content-Type") == "" {
		words = append(words, "--header", "Content-Type:") // otherwise curl declares a form
	}
	switch {
	case isPlain(string(r.Body)) && len(r.Body) > 0:
		words = append(words, "--data-raw", quote(string(r.Body)))
	case len(r.Body) > 0:
		words = append([]string{"printf", format(string(r.Body)), "|"}, append(words, "--data-binary", "@-")...)
	}
	return strings.Join(words, " "), note
}

// headerWords returns the options for the header of a request.
func headerWords(r *Request) (words []string, note string) {
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			word := quote(name + ": " + value)
			switch {
			case slices.Contains(own, name):
				continue
			case name == "Authorization" && r.Key > 0:
				word = quote("Authorization: Bearer " + r.Sender)
			case name == "Authorization":
				word = `"Authorization: Bearer $PETSTORE_API_KEY"`
				note = "The journal has no key that the fake does not know: the command sends $PETSTORE_API_KEY."
			case value == "":
				word = quote(name + ";")
			}
			words = append(words, "--header", word)
		}
	}
	return words, note
}

// quote returns a word for a POSIX shell.
func quote(word string) string {
	if !isPlain(word) {
		return `"$(printf ` + format(word) + `)"`
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// isPlain reports whether a text can be pasted into a terminal: it has no character that the
// terminal takes for a command, such as a tab or an escape.
func isPlain(text string) bool {
	return utf8.ValidString(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' })
}

// format returns a format of printf that writes a text, whose bytes outside of ASCII are octal.
func format(text string) string {
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case c == '%':
			b.WriteString("%%")
		case c == '-' && i == 0 || c == '\\' || c == '\'' || c < ' ' || c > '~':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return "'" + b.String() + "'"
}
