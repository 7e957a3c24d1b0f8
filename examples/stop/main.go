// Stop adds pets until SIGTERM or Ctrl-C, and then takes no more work, but lets the create in flight
// finish: a create that is cut off has an unknown outcome.
//
//	go run ./examples/stop
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// grace is how long the last create may take: shorter than the grace period of the platform.
const grace = 20 * time.Second

// work adds pets until stop ends, and returns how many it has added.
func work(stop context.Context, client *petstore.Client, pets int) (added int, err error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(stop))
	defer cancel()
	defer context.AfterFunc(stop, func() { time.AfterFunc(grace, cancel) })()
	for ; added < pets && stop.Err() == nil; added++ {
		if _, err := client.CreatePet(ctx, petstore.NewPet{Name: fmt.Sprint("Pet ", added)}); err != nil {
			return added, err
		}
	}
	return added, nil
}

func main() {
	stop, done := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer done()
	server := fake.NewServer(fake.WithLatency(100 * time.Millisecond))
	defer server.Close()
	added, err := work(stop, server.Client(), 20)
	if err != nil {
		log.Print(err)
	}
	fmt.Println(added, "pets were added, and none is in doubt:", added == len(server.Pets()))
}
