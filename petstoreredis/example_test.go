package petstoreredis_test

import (
	"context"
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreredis"
)

// Two clients, which would be in two processes, share the budget of one key.
func Example() {
	mini, err := miniredis.Run() // stands in for your Redis
	if err != nil {
		panic(err)
	}
	defer mini.Close()
	server := fake.NewServer(fake.WithPlan(fake.PlanFree)) // stands in for the service
	defer server.Close()

	for range 2 {
		rdb := redis.NewClient(&redis.Options{Addr: mini.Addr()})
		limiter, err := petstoreredis.NewLimiter(rdb, "petstore, production key")
		if err != nil {
			panic(err)
		}
		client := server.Client(petstore.WithLimiter(limiter))
		result, err := client.ListPets(context.Background(), petstore.ListPetsParams{})
		if err != nil {
			panic(err)
		}
		fmt.Println(result.RateLimit.Remaining, "requests left")
		_ = limiter.Flush(context.Background()) // this "process" ends here
		_ = rdb.Close()
	}
	// Output:
	// 59 requests left
	// 58 requests left
}
