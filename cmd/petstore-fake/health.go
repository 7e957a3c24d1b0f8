package main

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/adminapi"
)

// checkHealth returns an error unless a program serves at a host and port.
func checkHealth(host string) error {
	// Not through a proxy. The image's health check allows 3 s.
	c := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get("http://" + host + adminapi.Health)
	if err != nil {
		return fmt.Errorf("no response from %s: %w", host, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s responds with status %d", host, resp.StatusCode)
	}
	return nil
}

// localHost returns the host and port of a listener as programs on the same machine call it.
func localHost(host string, port uint16) string {
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
