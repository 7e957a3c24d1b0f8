package main

import (
	_ "embed"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// option is a flag with its environment variable. doc.go describes each.
type option struct {
	name  string
	set   func(value string) error
	alone bool // reports whether the flag may stand without a value, which is then "true"
}

// options returns all options; their values are written to s.
func (s *settings) options() []option {
	return []option{
		{"addr", bind(&s.addr, spec.ParseAddress), false},
		{"public", s.setPublic, true},
		{"key", collect(&s.keys, spec.ParseKeys), false},
		{"plan", bind(&s.plan, fakecontrol.ParsePlan), false},
		{"minute", with(s, fake.WithMinute, parseMinute), false},
		{"ban", collect(&s.others, parseBan), false},
		{"clock", with(s, fake.WithTime, spec.ParseTime), false},
		{"seed", bind(&s.pets, readSeed), false},
		{"latency", with(s, fake.WithLatency, spec.ParseDuration), false},
		{"fault", collect(&s.faults, spec.ParseFaults), false},
		{"variant", with(s, fake.WithBehavior, fakecontrol.ParseBehavior), false},
		{"random-seed", with(s, fake.WithSeed, parseSeed), false},
		{"strict", bind(&s.strict, spec.ParseBool), true},
		{"log", bind(&s.log, parseLog), false},
		{"healthcheck", bind(&s.health, spec.ParseBool), true},
		{"version", bind(&s.version, spec.ParseBool), true},
	}
}

// bind returns the setter of an option with one value.
func bind[T any](at *T, parse func(string) (T, error)) func(string) error {
	return func(v string) error {
		value, err := parse(v)
		if err == nil {
			*at = value
		}
		return err
	}
}

// collect returns the setter of an option with several values, which may be given several times.
func collect[T any](at *[]T, parse func(string) ([]T, error)) func(string) error {
	return func(v string) error {
		values, err := parse(v)
		*at = append(*at, values...)
		return err
	}
}

// with returns the setter of an option of the fake.
func with[T any](s *settings, option func(T) fake.Option, parse func(string) (T, error)) func(string) error {
	return func(v string) error {
		value, err := parse(v)
		if err == nil {
			s.others = append(s.others, option(value))
		}
		return err
	}
}

// env returns the name of the option's environment variable.
func (o option) env() string {
	return "PETSTORE_FAKE_" + strings.ToUpper(strings.ReplaceAll(o.name, "-", "_"))
}

// parseFlags returns the values of the flags as texts, by name. Package flag must not parse them,
// because its errors repeat the value, which may be a key.
func parseFlags(args []string, options []option) (map[string][]string, error) {
	given := make(map[string][]string)
	flags := flag.NewFlagSet(program, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	for _, o := range options {
		add := flags.Func
		if o.alone {
			add = flags.BoolFunc
		}
		add(o.name, "", func(v string) error {
			given[o.name] = append(given[o.name], v)
			return nil
		})
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: there are only flags", flags.Arg(0))
	}
	return given, nil
}

// documentation is the source file with the package's documentation, which -help prints.
//
//go:embed doc.go
var documentation string

func printHelp(w io.Writer) {
	for line := range strings.Lines(documentation) {
		text, ok := strings.CutPrefix(line, "//")
		if !ok {
			return // the package clause
		}
		fmt.Fprint(w, strings.Replace(strings.TrimPrefix(text, " "), "\t", "  ", 1))
	}
}
