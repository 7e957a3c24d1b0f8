package conformance_test

import (
	"context"
	"fmt"
	"log"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/conformance"
)

// A service is observed, and a fake made to behave like it. The service here is another fake.
func Example() {
	// It has a limit per day alone, or the example would wait for the end of a minute.
	service := fake.NewServer(fake.WithPlan(fake.Enterprise(0, 1000)), fake.WithBehavior(fake.Behavior{
		DefaultStatus: "available", InvalidLimit: fake.InvalidClamp,
	}))
	defer service.Close()

	observations, err := conformance.Observe(context.Background(), conformance.Target{
		BaseURL: service.URL(), APIKey: service.APIKey(),
	})
	if err != nil {
		log.Fatal(err)
	}
	behavior, differences := observations.Behavior()
	like := fake.NewServer(fake.WithBehavior(behavior))
	defer like.Close()
	fmt.Println("behaviour:", behavior)
	fmt.Println("cannot be reproduced:", len(differences))
	// Output:
	// behaviour: default-status=available,invalid-limit=clamp
	// cannot be reproduced: 0
}

// What a service does where the service document is silent goes into a file, which makes the fake
// act like that service: fake.WithObserved.
func ExampleObserve() {
	// A limit per day alone, or the example would wait for the minute's end.
	service := fake.NewServer(fake.WithPlan(fake.Enterprise(0, 1000)))
	defer service.Close()

	observations, err := conformance.Observe(context.Background(), conformance.Target{
		BaseURL: service.URL(), APIKey: service.APIKey(),
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, o := range observations {
		if o.Section == "4.1" && o.Answer != conformance.Unseen {
			fmt.Println(o.Question, o.Answer)
		}
	}
	// Output:
	// How is an empty list written? []
	// In which order does listPets return pets? ascending
	// What becomes of limit=0? 400 Error
	// What becomes of limit=101? 400 Error
	// What becomes of limit=abc? 400 Error
	// What becomes of limit=1&limit=2? 400 Error
	// What becomes of status=lost? 400 Error
	// What becomes of a parameter that the document does not name? accepted
}
