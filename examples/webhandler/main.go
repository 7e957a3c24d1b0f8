// Webhandler is a web server that does not let its visitors wait for the rate limit: it responds 503
// with the time after which to try again. It logs each call that failed, once. handler.go is to copy.
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
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/petstore/petstore-go/fake"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run serves visitors on a port, and is the visitor.
func run(ctx context.Context, out io.Writer) error {
	service := fake.NewServer(fake.WithPlan(fake.Plan{PerMinute: 1}))
	defer service.Close()
	server := http.Server{
		Handler:           visitors(service.Client(), slog.New(slog.NewTextHandler(os.Stderr, nil))),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second, // more than ReadTimeout and the longest call
	}
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return err
	}
	go server.Serve(listener)
	defer server.Shutdown(ctx) // lets requests finish: a create that is cut off has an unknown outcome
	for _, pet := range []string{`{"name":"Rex"}`, `{"name":"Rex","categoryId":1}`, `{"name":"Max","categoryId":1}`} {
		resp, err := http.Post("http://"+listener.Addr().String()+"/pets", "application/json", strings.NewReader(pet))
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%d %q ", resp.StatusCode, resp.Header.Get("Retry-After"))
		_, _ = io.Copy(out, resp.Body)
		_ = resp.Body.Close()
	}
	return nil
}
