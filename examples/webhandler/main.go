// Webhandler is a web server that does not let its visitors wait for the rate limit: it responds
// 503, with the time after which to try again. It logs each failed call once. Copy handler.go.
//
//	go run ./examples/webhandler
//
// It runs on a fake of the service that takes one request a minute.
//
// It prints
//
//	400 "" name and categoryId are required
//	201 "" {"id":1,"name":"Rex","categoryId":1}
//	503 "60" try again later
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/petstore/petstore-go/fake"
)

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run serves visitors on a port, and is the visitor. A signal ends it earlier.
func run(out io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	service := fake.NewServer(fake.WithPlan(fake.Plan{PerMinute: 1}))
	defer service.Close()
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return err
	}
	served, handler := make(chan error, 1), visitors(service.Client(), slog.New(slog.NewTextHandler(os.Stderr, nil)))
	go func() { served <- serve(ctx, listener, handler) }()
	err = visit("http://"+listener.Addr().String()+"/pets", out)
	stop()
	return errors.Join(err, <-served)
}

func visit(url string, out io.Writer) error {
	for _, pet := range []string{`{"name":"Rex"}`, `{"name":"Rex","categoryId":1}`, `{"name":"Max","categoryId":1}`} {
		resp, err := http.Post(url, "application/json", strings.NewReader(pet))
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%d %q ", resp.StatusCode, resp.Header.Get("Retry-After"))
		_, _ = io.Copy(out, resp.Body)
		_ = resp.Body.Close()
	}
	return nil
}
