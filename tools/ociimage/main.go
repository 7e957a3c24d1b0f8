// Command ociimage writes the image of a program as an OCI archive, and takes such an archive apart.
// It needs neither a container engine nor a network, and equal input gives equal bytes.
//
//	ociimage write -out image.tar -program petstore-fake -version 0.2.0 -revision COMMIT \
//	    -created 2026-01-01T00:00:00Z -licenses licenses.txt linux/amd64=FILE linux/arm64=FILE
//	ociimage unpack -platform linux/amd64 -out DIR image.tar   # prints how it runs
//
// The image holds nothing but the program, the licences of what it links, and the empty folder /ca,
// which belongs to the user that the program runs as.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ociimage:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: ociimage write|unpack, with the flags in the documentation")

func run(args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	switch args[0] {
	case "write":
		return runWrite(args[1:])
	case "unpack":
		return runUnpack(args[1:])
	}
	return errUsage
}

func runWrite(args []string) error {
	var p program
	flags := flag.NewFlagSet("write", flag.ContinueOnError)
	out := flags.String("out", "", "the archive")
	created := flags.String("created", "", "the time of the commit (RFC 3339)")
	licenses := flags.String("licenses", "", "the file with the licences")
	flags.StringVar(&p.name, "program", "", "the name of the program")
	flags.StringVar(&p.version, "version", "", "its version")
	flags.StringVar(&p.revision, "revision", "", "its commit")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if p.created, err = time.Parse(time.RFC3339, *created); err != nil {
		return fmt.Errorf("-created: %w", err)
	}
	if p.licenses, err = os.ReadFile(*licenses); err != nil {
		return err
	}
	for _, arg := range flags.Args() {
		platform, file, _ := strings.Cut(arg, "=")
		binary, err := os.ReadFile(file) //nolint:gosec // named on the command line
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		p.binaries = append(p.binaries, platformBinary{platform, binary})
	}
	archive, err := p.archive()
	if err != nil {
		return err
	}
	return os.WriteFile(*out, archive, 0o600)
}

func runUnpack(args []string) error {
	flags := flag.NewFlagSet("unpack", flag.ContinueOnError)
	platform := flags.String("platform", "linux/amd64", "the platform")
	out := flags.String("out", "", "the folder for its files")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 || *out == "" {
		return errUsage
	}
	archive, err := os.ReadFile(flags.Arg(0))
	if err != nil {
		return err
	}
	i, err := readImage(archive, *platform)
	if err != nil {
		return err
	}
	if err := i.unpack(*out); err != nil {
		return err
	}
	c := i.config.Config
	_, err = fmt.Fprintf(os.Stdout, "entrypoint %s\nuser %s\nhealth %s\n",
		strings.Join(c.Entrypoint, " "), c.User, strings.Join(c.Healthcheck.Test, " "))
	for _, variable := range c.Env {
		if err == nil {
			_, err = fmt.Fprintf(os.Stdout, "env %s\n", variable)
		}
	}
	return err
}
