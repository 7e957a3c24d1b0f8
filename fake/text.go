package fake

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/petstore/petstore-go/internal/safetext"
)

// must panics unless ok. It is for mistakes of the program that uses the fake, not of its clients.
// No message repeats a key.
func must(ok bool, where, format string, args ...any) {
	if !ok {
		panic("fake: " + where + ": " + fmt.Sprintf(format, args...))
	}
}

func check(where string, err error) { must(err == nil, where, "%v", err) }

// noSuch returns an error about a name that is none of the names there are.
func noSuch[T ~string](kind string, name T, names []T) error {
	list := strings.Trim(fmt.Sprint(names), "[]") // no name has a space
	return fmt.Errorf("there is no %s %s; the %ss are %s", kind, quote(string(name)), kind,
		strings.ReplaceAll(list, " ", ", "))
}

// clip shortens a part of a request for a message. If this cuts off a key, the journal still
// recognises and redacts the part that is left.
func clip(s string) string { return safetext.Shorten(s, 64+len("…")) }

func quote(s string) string { return strconv.Quote(clip(s)) }

func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
