// Petstore-fake is the Pet Store Service in memory as a program: the package
// github.com/petstore/petstore-go/fake for teams whose tests are not in Go.
//
// petstore-fake -help explains the flags, and docs/petstore-fake.md has the rest.
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
	// A second signal ends the program at once.
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

// checkHealth returns an error unless a program serves at a host and port.
func checkHealth(host string) error {
	// Not through a proxy. The image's health check allows 3 s.
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
