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
	"os/signal"
	"syscall"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// work adds pets until stop ends, and returns how many it has added. Its calls have a context that
// does not end.
func work(stop context.Context, server *fake.Server, pets int) (added int, err error) {
	client := server.Client(petstore.WithStop(stop))
	for ; added < pets; added++ {
		_, err := client.CreatePet(context.WithoutCancel(stop), petstore.NewPet{Name: fmt.Sprint("Pet ", added)})
		if errors.Is(err, petstore.ErrStopped) {
			break // before the pet was sent
		} else if err != nil {
			return added, err
		}
	}
	return added, nil
}

func main() {
	stop, done := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer done()
	server := fake.NewServer(fake.WithLatency(100 * time.Millisecond))
	defer server.Close()
	added, err := work(stop, server, 20)
	fmt.Println(added, "pets were added, and none is in doubt:", err == nil && added == len(server.Pets()))
}
