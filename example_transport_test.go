package petstore_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/ratelimit"
)

// sender is a function as a transport.
type sender func(*http.Request) (*http.Response, error)

func (f sender) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A gateway in front of the service wants a signature of the body.
func ExampleWithTransport_signing() {
	server := fake.NewServer()
	defer server.Close()
	client := server.Client(petstore.WithTransport(func(next http.RoundTripper) http.RoundTripper {
		return sender(func(r *http.Request) (*http.Response, error) {
			body := new(bytes.Buffer)
			if r.Body != nil {
				_, _ = body.ReadFrom(r.Body) // from memory
			}
			mac := hmac.New(sha256.New, []byte("a secret of the gateway"))
			mac.Write(body.Bytes())
			signed := r.Clone(r.Context())
			signed.Body = io.NopCloser(body)
			signed.Header.Set("X-Signature", fmt.Sprintf("%x", mac.Sum(nil)))
			return next.RoundTrip(signed)
		})
	}))
	_, err := client.CreatePet(context.Background(), petstore.NewPet{Name: "Rex", CategoryID: 1})
	fmt.Println(server.Requests()[0].Header.Get("X-Signature")[:8], err)
	// Output: c66a89a7 <nil>
}

// A dump shows each request as it is sent, but not the key.
func ExampleWithTransport_dump() {
	server := fake.NewServer()
	defer server.Close()
	client := server.Client(petstore.WithTransport(func(next http.RoundTripper) http.RoundTripper {
		return sender(func(r *http.Request) (*http.Response, error) {
			dumped := r.Clone(r.Context())
			dumped.Header.Set("Authorization", "hidden")
			text, err := httputil.DumpRequestOut(dumped, true) // reads the body, and puts another one in its place
			if err != nil {
				return nil, fmt.Errorf("%w: %w", petstore.ErrNotSent, err)
			}
			header, body, _ := strings.Cut(string(text), "\r\n\r\n")
			fmt.Println(body, strings.Contains(header, "\nAuthorization: hidden"))
			dumped.Header.Set("Authorization", r.Header.Get("Authorization"))
			return next.RoundTrip(dumped)
		})
	}))
	_, err := client.CreatePet(context.Background(), petstore.NewPet{Name: "Rex", CategoryID: 1})
	fmt.Println(err)
	// Output:
	// {"name":"Rex","categoryId":1} true
	// <nil>
}

// The way to the service leads through a proxy, and the service asks for a certificate of the client
// (mTLS).
func ExampleWithTransport_proxy() {
	server := fake.NewServer()
	defer server.Close()
	gateway := httptest.NewUnstartedServer(server)
	gateway.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	gateway.StartTLS()
	defer gateway.Close()
	proxy := httptest.NewServer(http.HandlerFunc(tunnel))
	defer proxy.Close()

	address, _ := url.Parse(proxy.URL)
	throughProxy := petstore.WithTransport(func(own http.RoundTripper) http.RoundTripper {
		clone := own.(*http.Transport).Clone()
		clone.Proxy = http.ProxyURL(address)
		clone.TLSClientConfig = &tls.Config{
			RootCAs:      gateway.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, // your x509.CertPool
			Certificates: gateway.TLS.Certificates,                                             // of tls.LoadX509KeyPair
		}
		return clone
	})
	client, err := petstore.NewClient(gateway.URL+"/v1", server.APIKey(), throughProxy)
	if err != nil {
		log.Fatal(err)
	}
	defer client.CloseIdleConnections()
	_, err = client.ListPets(context.Background(), petstore.ListPetsParams{})
	fmt.Println(len(server.Requests()), err)
	// Output:
	// the proxy connects
	// 1 <nil>
}

// tunnel is a proxy for https.
func tunnel(w http.ResponseWriter, r *http.Request) {
	fmt.Println("the proxy connects")
	service, _ := net.Dial("tcp", r.Host)
	client, _, _ := http.NewResponseController(w).Hijack()
	_, _ = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(service, client); _ = service.Close() }()
	go func() { _, _ = io.Copy(client, service); _ = client.Close() }()
}

// account is a limiter for keys that share the limit of their account.
type account struct{ petstore.Limiter }

func (a account) Acquire(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error) {
	r.Key = "account"
	return a.Limiter.Acquire(ctx, r)
}
func (a account) RateLimit(string) petstore.RateLimit { return a.Limiter.RateLimit("account") }
func (a account) Reopen(string)                       { a.Limiter.Reopen("account") }

// A limiter around the default one.
func ExampleWithLimiter() {
	server := fake.NewServer()
	defer server.Close()
	first := server.Client(petstore.WithLimiter(account{ratelimit.New()}))
	second, _ := first.ForKey("another-key") // it fails only for a text that cannot be a key
	_, err := first.ListPets(context.Background(), petstore.ListPetsParams{})
	fmt.Println(second.RateLimit().Remaining, err)
	// Output: 999 <nil>
}

// The service has an endpoint that the SDK does not know.
func ExampleClient_Do_endpoint() {
	server := fake.NewServer(fake.WithHandler("POST /v1/pets/{id}/adoptions", http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			fmt.Fprintf(w, `{"PetID":%s}`, r.PathValue("id"))
		})))
	defer server.Close()
	var made struct{ PetID int64 }
	in := map[string]string{"by": "Ada"}
	_, err := server.Client().Do(context.Background(), http.MethodPost, "pets/7/adoptions", in, &made)
	fmt.Println(made.PetID, err)
	// Output: 7 <nil>
}
