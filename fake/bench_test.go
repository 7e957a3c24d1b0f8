package fake_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

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

func BenchmarkServeHTTP(b *testing.B) {
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
			b.ReportAllocs()
			for b.Loop() {
				srv.ServeHTTP(httptest.NewRecorder(), q.build(b, "http://x/v1"))
			}
		})
	}
}

func BenchmarkHTTPClient(b *testing.B) {
	srv := fake.NewServer(fake.WithPlan(fake.Enterprise(0, 0)), fake.WithPets(catalogue(100)...))
	defer srv.Close()
	b.ReportAllocs()
	for b.Loop() {
		viaMemory(b, srv).list(b)
	}
}
