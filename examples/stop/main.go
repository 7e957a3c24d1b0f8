// Stop adds pets until SIGTERM or Ctrl-C, and then sends no more, but lets the create in flight
// finish: a create that is cut off has an unknown outcome.
//
//	go run ./examples/stop
//
// It prints
//
//	20 pets were added, and none is in doubt: true
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// work adds pets until stop ends, and returns how many it has added. It is given a client that has
// WithStop(stop), and calls with a context that does not end: a create in flight finishes.
func work(stop context.Context, client *petstore.Client, pets int) (added int, err error) {
	for ; added < pets; added++ {
		_, err := client.CreatePet(context.WithoutCancel(stop), petstore.NewPet{Name: fmt.Sprint("Pet ", added)})
		switch {
		case stop.Err() != nil && errors.Is(err, petstore.ErrNotSent):
			return added, nil // nothing was lost
		case err != nil:
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
	added, err := work(stop, server.Client(petstore.WithStop(stop)), 20)
	if err != nil {
		log.Print(err)
	}
	fmt.Println(added, "pets were added, and none is in doubt:", added == len(server.Pets()))
}
