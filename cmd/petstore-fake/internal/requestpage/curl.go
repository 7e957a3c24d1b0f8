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

// maxArgument is the largest argument of a command; systems bound these.
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
	// curl changes these, and * is no path.
	if strings.ContainsAny(r.Path, "[]{}#") || strings.Contains(r.Path, "/.") || !strings.HasPrefix(r.Path, "/") {
		words = append(words, "--request-target", shellWord(r.Path), shellWord(origin))
	} else {
		words = append(words, shellWord(origin+r.Path))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			if !slices.Contains(own, name) {
				words = append(words, "--header", header(name, value, key))
			}
		}
	}
	if body := string(r.Body); body != "" {
		if r.Header.Get("Content-Type") == "" {
			words = append(words, "--header", "Content-Type:") // or curl makes it a form
		}
		if len(body) > maxArgument || !isPrintable(body) {
			return decoded(body) + " | " + strings.Join(append(words, "--data-binary", "@-"), " ")
		}
		words = append(words, "--data-raw", ShellQuote(body))
	}
	return strings.Join(words, " ")
}

// own are the headers that every HTTP client makes itself.
var own = []string{"Accept-Encoding", "Connection", "Content-Length", "Expect", "Transfer-Encoding"}

var isScheme = regexp.MustCompile(`^([A-Za-z]+ )?$`)

func header(name, value, key string) string {
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
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' })
}

// decoded returns the command that writes a text of any bytes.
func decoded(text string) string {
	return "echo " + base64.StdEncoding.EncodeToString([]byte(text)) + " | base64 -d"
}

// ShellQuote returns a word for a POSIX shell.
func ShellQuote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
