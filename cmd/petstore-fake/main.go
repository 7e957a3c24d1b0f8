// Petstore-fake is a program that serves the Pet Store Service from memory. It is for tests that
// are not in Go. Tests in Go can use the package github.com/petstore/petstore-go/fake.
//
// petstore-fake -help explains the flags. docs/petstore-fake.md explains how to use the program.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/admin"
)

const program = "petstore-fake"

//go:embed help.txt
var help string

// The exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends ctx. Then stop restores the default: a second signal ends the program.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// run runs the program with its arguments until ctx ends, and returns the exit status.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	s, err := readSettings(args, getenv)
	switch {
	case errors.Is(err, flag.ErrHelp):
		_, _ = io.WriteString(stdout, help)
		return exitOK
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v\n%[1]s -help lists the flags.\n", program, err)
		return exitUsage
	case s.version:
		fmt.Fprintf(stdout, "%s %s\n", program, petstore.Version)
		return exitOK
	case s.health:
		err = checkHealth(localHost(s.host, s.port))
	default:
		err = serve(ctx, s, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", program, err)
		return exitFailed
	}
	return exitOK
}

// checkHealth returns an error unless a petstore-fake responds with status 200 at a host and port.
func checkHealth(host string) error {
	// This transport uses no proxy. The timeout ends before the 3 s of the image's health check.
	c := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get("http://" + host + admin.Health)
	if err != nil {
		return fmt.Errorf("no response from %s: %w", host, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s responds with status %d", host, resp.StatusCode)
	}
	return nil
}
