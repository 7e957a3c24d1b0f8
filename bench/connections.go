package main

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/petstore/petstore-go/bench/internal/canned"
	"github.com/petstore/petstore-go/bench/internal/peer"
	"github.com/petstore/petstore-go/bench/internal/report"
)

// The scenarios that connections are counted in. One in a hundred is what goes wrong.
const (
	allWell   = "all is well"
	answer503 = "1 % of the answers are 503"
	cancelled = "1 % of the calls are cancelled"
	oneIn     = 100
)

// census counts the connections that a server sees from clients with their own transports.
type census struct {
	calls, runs int
}

func (c census) run(ctx context.Context) ([]report.Connections, error) {
	tmp, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	if err := trustTestServers(tmp); err != nil {
		return nil, err
	}
	var all []report.Connections
	for _, scheme := range []string{"http", "https"} {
		for _, scenario := range []string{allWell, answer503, cancelled} {
			for _, p := range peer.Peers()[:3] { // ours, net/http's and go-retryablehttp's own transports
				line, err := c.count(ctx, p, scheme, scenario)
				if err != nil {
					return nil, fmt.Errorf("%s, %s, %s: %w", p.Name, scheme, scenario, err)
				}
				all = append(all, line)
			}
		}
	}
	return all, nil
}

// trustTestServers makes this process trust the certificate of net/http/httptest, which has to happen before
// any certificate is looked at.
func trustTestServers(dir string) error {
	srv := httptest.NewTLSServer(nil)
	defer srv.Close()
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	name := filepath.Join(dir, "roots.pem")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		return err
	}
	return os.Setenv("SSL_CERT_FILE", name)
}

func (c census) count(ctx context.Context, p peer.Peer, scheme, scenario string) (report.Connections, error) {
	line := report.Connections{Client: p.Name, Scheme: scheme, Scenario: scenario, Calls: c.calls}
	var cpu []int64
	for range c.runs {
		s := newCountingServer(scheme, scenario)
		client, err := p.New(peer.Target{BaseURL: s.URL + "/v1"})
		if err == nil {
			var used sample
			used, err = measure(c.calls, func(n int) error { return s.callFromMany(ctx, client, n) })
			cpu = append(cpu, used.cpu)
		}
		s.Close()
		if err != nil {
			return line, err
		}
		line.Opened = append(line.Opened, int(s.opened.Load()))
	}
	line.CPU = report.Median(cpu)
	return line, nil
}

// countingServer counts the connections it gets, and makes some answers fail.
type countingServer struct {
	*httptest.Server

	scenario string
	answers  http.Handler
	opened   atomic.Int64
	requests atomic.Int64
	alone    sync.Mutex                         // held by the call that is to be cancelled
	cancel   atomic.Pointer[context.CancelFunc] // of that call
}

func newCountingServer(scheme, scenario string) *countingServer {
	s := &countingServer{scenario: scenario, answers: canned.NewHandler()}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // connections that were dialed and not needed
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.opened.Add(1)
		}
	}
	if scheme == "https" {
		s.StartTLS() // without HTTP/2
	} else {
		s.Start()
	}
	return s
}

// ServeHTTP answers as ever, but 503 to every hundredth request if that is the scenario, and not at all to a
// call that is to be cancelled: it cancels it.
func (s *countingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/pets/"+fmt.Sprint(canned.MissingID)):
		(*s.cancel.Load())()
		<-r.Context().Done()
	case s.scenario == answer503 && s.requests.Add(1)%oneIn == 0:
		canned.SetRateLimit(w.Header())
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"code":"unavailable","message":"try again","status":503}`))
	default:
		s.answers.ServeHTTP(w, r)
	}
}

// callFromMany makes n calls from 64 goroutines.
func (s *countingServer) callFromMany(ctx context.Context, client peer.Client, n int) error {
	var wg sync.WaitGroup
	var taken atomic.Int64
	failures := make(chan error, n)
	for range goroutines {
		wg.Go(func() {
			for i := taken.Add(1); i <= int64(n); i = taken.Add(1) {
				if err := s.call(ctx, client, i); err != nil {
					failures <- err
				}
			}
		})
	}
	wg.Wait()
	close(failures)
	if s.scenario == answer503 && len(failures) <= n/oneIn+1 {
		return nil // who does not retry sees the 503
	}
	return <-failures
}

func (s *countingServer) call(ctx context.Context, client peer.Client, i int64) error {
	if s.scenario != cancelled || i%oneIn != 0 {
		_, err := client.Call(ctx, canned.List20)
		return err
	}
	s.alone.Lock()
	defer s.alone.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.cancel.Store(&cancel)
	if _, err := client.Call(ctx, canned.NotFound); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("a cancelled call came to %w", err)
	}
	return nil
}
