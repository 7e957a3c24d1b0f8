package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	petstore "github.com/petstore/petstore-go"
)

const program = "petstore-fake"

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
		printHelp(stdout)
		return exitOK
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v\n%[1]s -help lists the flags.\n", program, err)
		return exitUsage
	case s.version:
		fmt.Fprintf(stdout, "%s %s\n", program, petstore.Version)
		return exitOK
	}
	if s.health {
		err = checkHealth(localHost(s.addr.Host, s.addr.Port))
	} else {
		err = serve(ctx, s, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", program, err)
		return exitFailed
	}
	return exitOK
}
