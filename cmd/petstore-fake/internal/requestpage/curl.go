package requestpage

import (
	"encoding/base64"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/safetext"
)

// maxArgument is the largest body that goes into an argument of curl; systems bound these.
const maxArgument = 64 << 10

// Curl returns a command for a POSIX shell that sends a request of a fake's journal again. It shows
// only the default key, which is in the documentation, and takes others from $PETSTORE_API_KEY.
func Curl(srv *fake.Server, origin string, r fake.Request) string {
	if r.Key == 1 && srv.APIKey() == fake.DefaultAPIKey {
		return command(origin, r, fake.DefaultAPIKey)
	}
	return command(origin, r, "$PETSTORE_API_KEY")
}

func command(origin string, r fake.Request, key string) string {
	words := []string{"curl"}
	switch {
	case r.Method == http.MethodHead:
		words = append(words, "--head")
	case r.Method != http.MethodGet || len(r.Body) > 0:
		words = append(words, "--request", shellWord(r.Method))
	}
	words = append(words, curlTarget(origin, r.Path)...)
	words = append(words, curlHeaders(r, key)...)
	switch body := string(r.Body); {
	case body == "":
	case len(body) <= maxArgument && isPrintable(body):
		words = append(words, "--data-raw", ShellQuote(body))
	default:
		return decoded(body) + " | " + strings.Join(append(words, "--data-binary", "@-"), " ")
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
func curlHeaders(r fake.Request, key string) (words []string) {
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

var isScheme = regexp.MustCompile(`^([A-Za-z]+ )?$`)

func curlHeader(name, value, key string) string {
	scheme, found := strings.CutSuffix(value, safetext.Mark)
	switch {
	case name == "Authorization" && found && isScheme.MatchString(scheme):
		return `"` + name + ": " + scheme + key + `"`
	case value == "":
		return shellWord(name + ";") // curl's way to say that there is no value
	}
	return shellWord(name + ": " + value)
}

// shellWord returns a word for a POSIX shell that a terminal can be given too: what a terminal
// might take for a command of its own is written in base64.
func shellWord(word string) string {
	if isPrintable(word) {
		return ShellQuote(word)
	}
	return `"$(` + decoded(word) + `)"`
}

// isPrintable reports whether a text is what it looks like.
func isPrintable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsPrint(r) && r != '\n'
	})
}

// decoded returns the command that writes a text of any bytes.
func decoded(text string) string {
	return "echo " + base64.StdEncoding.EncodeToString([]byte(text)) + " | base64 -d"
}

// ShellQuote returns a word for a POSIX shell.
func ShellQuote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
