package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/adminapi"
)

// healthTimeout bounds the whole check: the image's health check allows 3 s.
const healthTimeout = 2 * time.Second

// checkHealth returns an error unless the program that runs with the same settings serves.
func checkHealth(ctx context.Context, s settings) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	scheme, transport := "http", &http.Transport{DisableKeepAlives: true}
	if s.tls != "" {
		pool, err := readCA(s.tls)
		if err != nil {
			return err
		}
		scheme, transport.TLSClientConfig = "https", &tls.Config{RootCAs: pool}
	}
	url := scheme + "://" + localHost(s.addr.Host, s.addr.Port) + adminapi.Health
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := transport.RoundTrip(r) // not through a proxy
	if err != nil {
		return fmt.Errorf("no response from %s: %w", r.URL.Host, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s responds with status %d", r.URL.Host, resp.StatusCode)
	}
	return nil
}

// readCA reads the file that -tls named.
func readCA(file string) (*x509.CertPool, error) {
	text, err := readFile(file, 1<<20)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New(file + " holds no certificate")
	}
	return pool, nil
}

// localHost returns the host and port of a listener as programs on the same machine call it.
func localHost(host string, port uint16) string {
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
