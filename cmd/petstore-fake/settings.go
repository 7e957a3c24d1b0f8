package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

// settings are the values of all options.
type settings struct {
	addr    spec.Address
	keys    []spec.Key // the first is the default key
	plan    fake.Plan  // of the keys that have none
	pets    []petstore.NewPet
	faults  []fake.Fault
	others  []fake.Option // of the fake
	strict  bool
	log     string
	public  bool
	names   []string // hosts that admin requests may name, besides loopback
	health  bool
	version bool
}

// readSettings reads the flags, and the environment variables of options without a flag. No error
// repeats a key.
func readSettings(args []string, getenv func(string) string) (settings, error) {
	s := settings{plan: fake.PlanBusiness}
	s.addr, _ = spec.ParseAddress(spec.DefaultAddr)
	options := s.options()
	given, err := parseFlags(args, options)
	if err != nil {
		return s, err
	}
	if len(given["healthcheck"]) > 0 { // it runs every few seconds, and must not read -seed and others
		options = slices.DeleteFunc(options, func(o option) bool {
			return !slices.Contains([]string{"healthcheck", "addr", "public"}, o.name)
		})
	}
	for _, o := range options {
		source, values := "-"+o.name, given[o.name]
		if v := getenv(o.env()); len(values) == 0 && v != "" {
			source, values = o.env(), []string{v}
		}
		for _, v := range values {
			if err := o.set(v); err != nil {
				return s, fmt.Errorf("%s: %w", source, err)
			}
		}
	}
	err = s.complete()
	return s, err
}

// complete checks and fills in what depends on several options.
func (s *settings) complete() error {
	switch {
	case !s.public && !spec.IsLoopback(s.addr.Host):
		return fmt.Errorf("%s is not a loopback address: everybody who reaches it can use the fake and"+
			" its admin routes; add -public if that is meant", s.addr)
	case s.health && s.addr.Port == 0:
		return errors.New("-healthcheck needs the port that the program serves on: give it by -addr")
	}
	if s.addr.Host != "" {
		s.names = append(s.names, strings.ToLower(s.addr.Host))
	}
	if len(s.keys) == 0 {
		s.keys = []spec.Key{{Key: fake.DefaultAPIKey}}
	}
	for i, k := range s.keys {
		if k.Plan == nil {
			s.keys[i].Plan = &s.plan
		}
	}
	return nil
}

// parseMinute reads the length of a window.
func parseMinute(v string) (time.Duration, error) {
	d, err := spec.ParseDuration(v)
	switch {
	case err != nil:
		return 0, err
	case d%time.Second != 0 || d == 0 || d > time.Hour:
		return 0, fmt.Errorf("%v is not a whole number of seconds from 1s to 1h", d)
	}
	return d, nil
}

func parseSeed(v string) (uint64, error) {
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number from 0 to %d", spec.Clip(v), uint64(1<<64-1))
	}
	return n, nil
}

func parseBan(v string) ([]fake.Option, error) {
	after, duration, _ := strings.Cut(v, ",")
	n, err := strconv.Atoi(strings.TrimSpace(after))
	d, err2 := spec.ParseDuration(strings.TrimSpace(duration))
	if err != nil || err2 != nil || n < 1 || d == 0 {
		return nil, fmt.Errorf("%q is not AFTER,DURATION, such as 5,10m: a number of requests, at least 1,"+
			" and a duration above 0", spec.Clip(v))
	}
	return []fake.Option{fake.WithBan(n, d)}, nil
}

func parseLog(v string) (string, error) {
	if v != logText && v != logJSON {
		return "", fmt.Errorf("there is no format %q; it is text or json", spec.Clip(v))
	}
	return v, nil
}

// setPublic sets the value of -public: true, false, or the host names of the program, which is then
// public.
func (s *settings) setPublic(v string) error {
	if on, err := strconv.ParseBool(v); err == nil {
		s.public, s.names = on, nil
		return nil
	}
	names := strings.Split(strings.ToLower(v), ",")
	for _, name := range names {
		if !spec.IsHostName(name) {
			return fmt.Errorf("%q is not a host name; give names without scheme and port", spec.Clip(name))
		}
	}
	s.public, s.names = true, slices.Clip(names)
	return nil
}

// readSeed reads the pets of a file. Its errors begin with the file.
func readSeed(name string) ([]petstore.NewPet, error) {
	text, err := readFile(name, 64<<20)
	if err != nil {
		return nil, err
	}
	pets, err := spec.ParsePets(text)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return pets, err
}

// readFile reads a file that has at most limit bytes, as a pipe or a device may not.
func readFile(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name) // the user names the file, on the command line
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s is larger than %d MiB", name, limit>>20)
	}
	return text, err
}
