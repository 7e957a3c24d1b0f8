// Package replay sends requests of a fake.s journal again: by a command for curl that it writes, or
// itself.
package replay

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/petstore/petstore-go/fake"
)

// maxArgument is the largest body that goes into an argument of curl; systems bound these.
const maxArgument = 64 << 10

// Curl returns a command for a POSIX shell that sends a request of the journal again, with a key
// that anybody may see. Without one it takes $PETSTORE_API_KEY: the journal does not hold keys.
func Curl(origin string, r fake.Request, key string) string {
	if key == "" {
		key = "$PETSTORE_API_KEY"
	}
	words := []string{"curl"}
	switch {
	case r.Method == http.MethodHead:
		words = append(words, "--head")
	case r.Method != http.MethodGet || len(r.Body) > 0:
		words = append(words, "--request", shellWord(r.Method))
	}
	words = append(words, curlTarget(origin, r.Path)...)
	words = append(words, curlHeaders(r, key)...)
	switch {
	case len(r.Body) == 0:
	case len(r.Body) <= maxArgument && isPrintable(string(r.Body)):
		words = append(words, "--data-raw", ShellQuote(string(r.Body)))
	default:
		return printf(string(r.Body)) + " | " + strings.Join(append(words, "--data-binary", "@-"), " ")
	}
	return strings.Join(words, " ")
}

// curlTarget returns the arguments that make a path go out as it came in.
func curlTarget(origin, path string) []string {
	if !strings.HasPrefix(path, "/") || strings.Contains(path, "#") { // OPTIONS *, and what curl keeps to itself
		return []string{"--request-target", shellWord(path), shellWord(origin)}
	}
	var words []string
	if strings.Contains(path, "/.") {
		words = append(words, "--path-as-is")
	}
	if strings.ContainsAny(path, "[]{}") {
		words = append(words, "--globoff")
	}
	return append(words, shellWord(origin+path))
}

// own are the headers that every HTTP client makes itself.
var own = []string{"Accept-Encoding", "Connection", "Content-Length", "Expect", "Transfer-Encoding"}

// curlHeaders returns the header as arguments.
func curlHeaders(r fake.Request, key string) []string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			if !slices.Contains(own, name) {
				words = append(words, "--header", curlHeader(name, value, key))
			}
		}
	}
	if len(r.Body) > 0 && len(r.Header["Content-Type"]) == 0 {
		words = append(words, "--header", ShellQuote("Content-Type:")) // or curl makes it a form
	}
	return words
}

func curlHeader(name, value, key string) string {
	scheme, found := strings.CutSuffix(value, redacted)
	switch {
	case name == "Authorization" && found && isWord(strings.TrimSuffix(scheme, " ")):
		return `"` + name + ": " + scheme + key + `"`
	case value == "":
		return shellWord(name + ";") // curl's way to say that there is no value
	}
	return shellWord(name + ": " + value)
}

// shellWord returns a word for a POSIX shell that a terminal can be given too: what a terminal
// might take for a command of its own is written in digits.
func shellWord(word string) string {
	switch {
	case word != "" && isWord(word):
		return word
	case isPrintable(word):
		return ShellQuote(word)
	}
	return `"$(` + printf(word) + `)"`
}

// isWord reports whether a text is nothing but ASCII letters.
func isWord(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
}

// isPrintable reports whether a text is what it looks like.
func isPrintable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsPrint(r) && r != '\n'
	})
}

// printf returns the command that writes a text of any bytes.
func printf(text string) string {
	var b strings.Builder
	b.WriteString("printf '")
	for i := range len(text) {
		switch c := text[i]; {
		case c == '%':
			b.WriteString("%%")
		case i == 0 && c == '-': // which printf would take for an option
			b.WriteString(`\055`)
		case ' ' <= c && c < 0x7f && c != '\\' && c != '\'':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	b.WriteString("'")
	return b.String()
}

// redacted is what the journal has in place of a key.
const redacted = "[redacted]"

// ShellQuote returns a word for a POSIX shell.
func ShellQuote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
