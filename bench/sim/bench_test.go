package sim

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/bench/internal/canned"
	"github.com/petstore/petstore-go/fake"
)

// BenchmarkCall is a whole call without a network, from one goroutine and from 256 on each CPU; the
// difference that the limiter makes is what it costs. How long a call waits for the limiter's lock:
//
//	go test -run - -bench 256/limiter -mutexprofile mutex.out && go tool pprof -top mutex.out
func BenchmarkCall(b *testing.B) {
	for name, limiter := range map[string]petstore.Limiter{"limiter": petstore.NewLimiter(), "none": nil} {
		for _, goroutines := range []int{1, 256} {
			b.Run(fmt.Sprintf("%d/%s", goroutines, name), func(b *testing.B) {
				b.ReportAllocs()
				client, err := petstore.NewClient(baseURL, fake.DefaultAPIKey, petstore.WithLimiter(limiter),
					petstore.WithHTTPClient(&http.Client{Transport: canned.NewTransport()}))
				if err != nil {
					b.Fatal(err)
				}
				b.SetParallelism(goroutines)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if _, err := client.ListPets(b.Context(), petstore.ListPetsParams{}); err != nil {
							b.Error(err)
						}
					}
				})
			})
		}
	}
}
