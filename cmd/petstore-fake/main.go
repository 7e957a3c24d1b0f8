package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	petstore "github.com/petstore/petstore-go"
)

const program = "petstore-fake"

// documentation is the source file with the package's documentation, which -help prints.
//
//go:embed doc.go
var documentation string

func help() string {
	comment, _, _ := strings.Cut(documentation, "package main")
	return strings.ReplaceAll(regexp.MustCompile(`(?m)^// ?`).ReplaceAllString(comment, ""), "\t", "  ")
}

// The exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// run runs the program with its arguments until ctx ends, and returns the exit status.
func run(
	ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer,
) int {
	s, err := readSettings(args, getenv)
	switch {
	case errors.Is(err, flag.ErrHelp):
		_, _ = io.WriteString(stdout, help())
		return exitOK
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v\n%[1]s -help lists the flags.\n", program, err)
		return exitUsage
	case s.version:
		fmt.Fprintf(stdout, "%s %s\n", program, petstore.Version)
		return exitOK
	}
	if s.health {
		err = checkHealth(localHost(s.addr.host, s.addr.port))
	} else {
		err = serve(ctx, s, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", program, err)
		return exitFailed
	}
	return exitOK
}
