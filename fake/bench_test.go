package fake_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func BenchmarkStartRequestStop(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		srv := fake.NewServer()
		viaMemory(b, srv).list(b)
		srv.Close()
	}
}

// BenchmarkStartToFirst200OverTCP has a metric of its own: ns/op includes the end of both sides.
func BenchmarkStartToFirst200OverTCP(b *testing.B) {
	var first time.Duration
	for b.Loop() {
		start := time.Now()
		srv := fake.NewServer()
		d := entryPoint{&http.Client{Transport: &http.Transport{}}, srv.URL()}
		d.list(b)
		first += time.Since(start)
		d.client.CloseIdleConnections()
		srv.Close()
	}
	b.ReportMetric(float64(first)/float64(b.N), "ns/first-200")
}

// BenchmarkPlainStartToFirst200OverTCP is the same with nothing behind the port, for comparison.
func BenchmarkPlainStartToFirst200OverTCP(b *testing.B) {
	var first time.Duration
	for b.Loop() {
		start := time.Now()
		srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		d := entryPoint{&http.Client{Transport: &http.Transport{}}, srv.URL}
		d.list(b)
		first += time.Since(start)
		d.client.CloseIdleConnections()
		srv.Close()
	}
	b.ReportMetric(float64(first)/float64(b.N), "ns/first-200")
}

func BenchmarkTransport(b *testing.B) {
	for _, q := range []struct {
		name string
		request
	}{
		{"list", request{path: "/pets"}},
		{"filter", request{path: "/pets?limit=20&status=available"}},
		{"create", request{path: "/pets", body: `{"name":"Rex","categoryId":1,"status":"available"}`}},
		{"get", request{path: "/pets/7"}},
		{"refused", request{path: "/pets", auth: "-"}},
	} {
		b.Run(q.name, func(b *testing.B) {
			srv := fake.NewServer(fake.WithPlan(fake.Enterprise(0, 0)), fake.WithPets(catalogue(100)...))
			defer srv.Close()
			benchmark(b, srv.Transport(), q.build(b, "http://x/v1"))
		})
	}
}

func BenchmarkHTTPClient(b *testing.B) {
	srv := fake.NewServer(fake.WithPlan(fake.Enterprise(0, 0)), fake.WithPets(catalogue(100)...))
	defer srv.Close()
	benchmark(b, srv.HTTPClient().Transport, request{path: "/pets"}.build(b, "http://x/v1"))
}

// benchmark sends one request again and again. On a busy machine, compare cpu-ns/op.
func benchmark(b *testing.B, rt http.RoundTripper, req *http.Request) {
	b.Helper()
	b.ReportAllocs()
	cpu := cpuTime()
	defer func() { b.ReportMetric(float64(cpuTime()-cpu)/float64(b.N), "cpu-ns/op") }()
	for b.Loop() {
		if req.GetBody != nil {
			req.Body, _ = req.GetBody()
		}
		resp, err := rt.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

func BenchmarkListWithAFilterAmong(b *testing.B) {
	for _, n := range []int{1_000, 100_000, 1_000_000} {
		srv := fake.NewServer(fake.WithPlan(fake.Enterprise(0, 0)))
		pet := petstore.NewPet{Name: "Rex", Status: petstore.PetStatusAvailable}
		for i := range n {
			pet.Status = petstore.PetStatusAvailable
			if i%(n/10) == n/20 { // ten of them, far apart
				pet.Status = petstore.PetStatusSold
			}
			srv.AddPet(pet)
		}
		for _, status := range []string{"available", "sold", "pending"} {
			b.Run(strconv.Itoa(n)+"/"+status, func(b *testing.B) {
				benchmark(b, srv.Transport(), request{path: "/pets?status=" + status}.build(b, "http://x/v1"))
			})
		}
	}
}
