// Command ociimage writes the image of a program as an OCI layout, and checks and unpacks such a
// layout. It needs neither a container engine nor a network, and equal input gives equal files.
//
//	ociimage write -out DIR -program petstore-fake -version 0.2.0 -revision COMMIT \
//	    -created 2026-01-01T00:00:00Z -licenses licenses.txt linux/amd64=FILE linux/arm64=FILE
//	ociimage unpack -platform linux/amd64 -rootfs FILE.tar DIR   # prints how the image runs
//
// The image holds the program, the licences of what the program links, and the empty folder /ca,
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
	p := program{binaries: make(map[string][]byte)}
	flags := flag.NewFlagSet("write", flag.ContinueOnError)
	out := flags.String("out", "", "the folder for the layout")
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
		if p.binaries[platform], err = os.ReadFile(file); err != nil { //nolint:gosec // named on the command line
			return fmt.Errorf("%s: %w", platform, err)
		}
	}
	return p.write(*out)
}

func runUnpack(args []string) error {
	flags := flag.NewFlagSet("unpack", flag.ContinueOnError)
	platform := flags.String("platform", "linux/amd64", "the platform")
	rootfs := flags.String("rootfs", "", "the file for the tar of the image's files")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 || *rootfs == "" {
		return errUsage
	}
	image, err := readImage(flags.Arg(0), *platform)
	if err != nil {
		return err
	}
	if err := writeRootFS(image, *rootfs); err != nil {
		return err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return err
	}
	c := file.Config
	_, err = fmt.Fprintf(os.Stdout, "entrypoint %s\nuser %s\nhealth %s\nenv %s\n",
		strings.Join(c.Entrypoint, " "), c.User, strings.Join(c.Healthcheck.Test, " "), strings.Join(c.Env, " "))
	return err
}
