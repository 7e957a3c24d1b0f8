package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"
)

// certificateLife is how long the certificate is valid: longer than a fake runs, and shorter than
// the 825 days that macOS accepts.
const certificateLife = 365 * 24 * time.Hour

// clockSkew is how far the clock of a client may be behind that of this machine.
const clockSkew = time.Hour

// makeCertificate returns a certificate for some names and addresses, and writes that of the CA
// which signed it to a file. The key of the CA is not kept, so that it signs nothing else.
func makeCertificate(hosts []string, file string) (tls.Certificate, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	begin := time.Now().Add(-clockSkew)
	ca := &x509.Certificate{
		SerialNumber: serialNumber(), Subject: pkix.Name{CommonName: program + " CA"},
		NotBefore: begin, NotAfter: begin.Add(certificateLife),
		KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf := &x509.Certificate{
		SerialNumber: serialNumber(), Subject: pkix.Name{CommonName: program},
		NotBefore: begin, NotAfter: begin.Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	addHosts(leaf, hosts)
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), caKey)
	if err != nil {
		return tls.Certificate{}, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER})
	// Readable for everybody: clients run as other users.
	if err := os.WriteFile(file, text, 0o644); err != nil { //nolint:gosec // see above
		return tls.Certificate{}, fmt.Errorf("the CA's certificate cannot be written: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der, caDER}, PrivateKey: key}, nil
}

// serialNumber returns a random number of 128 bits, which no other certificate has.
func serialNumber() *big.Int {
	var random [16]byte
	_, _ = rand.Read(random[:]) // it returns no error
	return new(big.Int).SetBytes(random[:])
}

// addHosts makes a certificate valid for some names and addresses, each once.
func addHosts(c *x509.Certificate, hosts []string) {
	slices.Sort(hosts)
	for _, host := range slices.Compact(hosts) {
		if ip, err := netip.ParseAddr(host); err == nil {
			c.IPAddresses = append(c.IPAddresses, net.IP(ip.WithZone("").AsSlice()))
		} else if host != "" {
			c.DNSNames = append(c.DNSNames, host)
		}
	}
}

// certificateHosts returns the names and addresses by which clients may call the program: those of
// loopback, the host name of the machine, by which other containers call it, and those of -addr and
// -public.
func certificateHosts(s settings) []string {
	hosts := append([]string{"localhost", "127.0.0.1", "::1"}, s.names...)
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	return hosts
}
