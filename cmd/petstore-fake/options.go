package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
)

// option is a flag with its environment variable.
type option struct {
	name  string
	arg   string // what the help calls its value
	about string
	alone bool // may stand without a value
	set   func(*settings, string) error
}

// options returns the options in the order in which the help shows them.
func options() []option {
	return []option{
		{
			"addr", "HOST:PORT", "where to listen; " + spec.DefaultAddr + " unless given, port 0 is any free port",
			false, setAddr,
		},
		{"key", "KEY", "the one API key, in place of fake-api-key", false, setKey},
		{"plan", "PLAN", "plan of the key: free, pro, business (default) or enterprise:M,D", false, setPlan},
		{"seed", "FILE", "animals to begin with: a JSON array of NewPet objects", false, setSeed},
		{"latency", "DURATION", "hold every answer of the service back", false, setLatency},
		{
			"fault", "SPEC", "a failure on demand, such as status=503,operation=createPet,times=2; repeatable",
			false, setFault,
		},
		{"ban", "AFTER,DURATION", "ban a key after so many requests that follow a 429: 5,10m", false, setBan},
		{"variant", "LIST", "behaviours where the service document is silent, see below", false, setVariant},
		{"log", "FORMAT", "write requests to stderr: text or json", false, setLog},
		{
			"public", "", "allow an address that is not loopback; -public=NAME,... names hosts for /_fake/",
			true, setPublic,
		},
		{"version", "", "print the version and exit", true, setVersion},
	}
}

func (o option) env() string { return "PETSTORE_FAKE_" + strings.ToUpper(o.name) }

// printHelp is the answer to -help.
func printHelp(w io.Writer) {
	fmt.Fprintf(w, "%s is the Pet Store Service in memory.\n\nFlags; each also by the environment, "+
		"such as %s, where the flag wins:\n\n", program, options()[0].env())
	for _, o := range options() {
		fmt.Fprintf(w, "  %-22s %s\n", strings.TrimSpace("-"+o.name+" "+o.arg), o.about)
	}
	fmt.Fprintf(w, "\nFields of -fault: %s.\nTwo faults are separated by a semicolon.\n",
		strings.Join(spec.FaultFields, ", "))
	fmt.Fprint(w, "\nBehaviours of -variant, the default first:\n\n")
	for _, c := range spec.Choices() {
		fmt.Fprintf(w, "  %-22s %s\n", c.Name, strings.Join(c.Levels, ", "))
	}
	fmt.Fprint(w, "\nWith port 0, standard output is the port alone. A browser gets the request page at /_fake/,\n"+
		"a program the list of the admin routes.\n")
}
