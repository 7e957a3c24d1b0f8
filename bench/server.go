package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/bench/internal/canned"
	"github.com/petstore/petstore-go/bench/internal/peer"
	"github.com/petstore/petstore-go/fake"
)

// server is a server in a process of its own, so that its CPU time is not the client's.
type server struct {
	baseURL string
	cmd     *exec.Cmd
	ask     io.WriteCloser
	told    *bufio.Reader
}

// startServer starts this program again, as the server of that kind: see serve.
func startServer(ctx context.Context, kind string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-serve", kind) //nolint:gosec // this very program
	cmd.Stderr = os.Stderr
	ask, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, ask: ask, told: bufio.NewReader(out)}
	s.baseURL, err = s.line()
	return s, err
}

// cpu asks the server for the CPU time that it has used.
func (s *server) cpu() (time.Duration, error) {
	if _, err := io.WriteString(s.ask, "\n"); err != nil {
		return 0, err
	}
	line, err := s.line()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(line, 10, 64)
	return time.Duration(n), err
}

func (s *server) line() (string, error) {
	line, err := s.told.ReadString('\n')
	return strings.TrimSpace(line), err
}

// stop ends the server by closing its standard input.
func (s *server) stop() error {
	_ = s.ask.Close()
	return s.cmd.Wait()
}

// serve is the other side of startServer. It says where it listens, then the CPU time of the process for each
// line that it reads.
func serve(ctx context.Context, kind string, in io.Reader, out io.Writer) error {
	var handler http.Handler
	switch kind {
	case "canned":
		handler = canned.NewHandler()
	case "fake":
		srv := fake.NewServer(fake.WithPlan(fake.Enterprise(0, 0)), fake.WithKey(peer.APIKey, fake.Enterprise(0, 0)),
			fake.WithPets(newPets(100)...))
		defer srv.Close()
		fmt.Fprintln(out, srv.URL())
		return tellCPU(in, out)
	default:
		return errors.New("no such server: " + kind)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = srv.Serve(listener) }()
	fmt.Fprintf(out, "http://%s/v1\n", listener.Addr())
	return tellCPU(in, out)
}

func tellCPU(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		fmt.Fprintln(out, cpuTime().Nanoseconds())
	}
	return lines.Err()
}

func newPets(n int) []petstore.NewPet {
	var pets []petstore.NewPet
	for _, p := range canned.Pets(n) {
		pets = append(pets, petstore.NewPet{Name: p.Name, CategoryID: p.CategoryID, Status: p.Status})
	}
	return pets
}
