package requestpage

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/safetext"
)

// own are the headers that every HTTP client makes itself.
var own = []string{"Accept-Encoding", "Connection", "Content-Length", "Expect", "Transfer-Encoding"}

// Curl returns a command for a POSIX shell that sends a request of a fake's journal again, or ""
// for a request with characters that a terminal might take for a command of its own. It shows only
// the default key, which is in the documentation, and takes others from $PETSTORE_API_KEY.
func Curl(srv *fake.Server, origin string, r fake.Request) string {
	key := `"Authorization: Bearer $PETSTORE_API_KEY"`
	if r.Key == 1 && srv.APIKey() == fake.DefaultAPIKey {
		key = ShellQuote("Authorization: Bearer " + fake.DefaultAPIKey)
	}
	words := []string{"curl", "--request", ShellQuote(r.Method)}
	if r.Method == http.MethodHead {
		words = []string{"curl", "--head"}
	}
	// curl would change such a path, and "*" is not a path.
	if strings.ContainsAny(r.Path, "[]{}#") || strings.Contains(r.Path, "/.") || !strings.HasPrefix(r.Path, "/") {
		words = append(words, "--request-target", ShellQuote(r.Path), ShellQuote(origin))
	} else {
		words = append(words, ShellQuote(origin+r.Path))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			switch {
			case slices.Contains(own, name):
			case name == "Authorization" && value == "Bearer "+safetext.Mark:
				words = append(words, "--header", key)
			default:
				words = append(words, "--header", ShellQuote(name+": "+value))
			}
		}
	}
	if len(r.Body) > 0 {
		if r.Header.Get("Content-Type") == "" {
			words = append(words, "--header", "Content-Type:") // otherwise curl declares a form
		}
		words = append(words, "--data-raw", ShellQuote(string(r.Body)))
	}
	command := strings.Join(words, " ")
	if len(command) > maxCurl || !utf8.ValidString(command) ||
		strings.ContainsFunc(command, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }) {
		return ""
	}
	return command
}

// ShellQuote returns a word for a POSIX shell.
func ShellQuote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
