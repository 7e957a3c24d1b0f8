package main

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
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
	ca := newTemplate(program + " CA")
	ca.IsCA, ca.BasicConstraintsValid, ca.MaxPathLenZero = true, true, true
	ca.KeyUsage = x509.KeyUsageCertSign
	ca.SubjectKeyId = []byte(rand.Text()) // or the leaf does not name it
	leaf := newTemplate(program)
	leaf.KeyUsage, leaf.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	addHosts(leaf, hosts)
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	caDER, caErr := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), caKey)
	if err = cmp.Or(caErr, err); err != nil {
		return tls.Certificate{}, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER})
	// Readable for everybody: clients run as other users.
	if err := os.WriteFile(file, text, 0o644); err != nil { // see above
		return tls.Certificate{}, fmt.Errorf("the CA's certificate cannot be written: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der, caDER}, PrivateKey: key}, nil
}

// newTemplate returns a certificate for a name. It gets a random serial number, which no other has.
func newTemplate(name string) *x509.Certificate {
	begin := time.Now().Add(-clockSkew)
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: begin, NotAfter: begin.Add(certificateLife),
	}
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
