// Processes runs four processes that share a key of 60 requests a minute without Redis: each is told
// how many they are by PETSTORE_PROCESSES, and none gets a 429.
//
//	go run ./examples/processes
//
// It prints
//
//	80 requests, 429s: 0
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

const processes, requests = 4, 20 // requests of each: together more than one minute has

func main() {
	run := start
	if os.Getenv("PETSTORE_PROCESSES") != "" {
		run = work
	}
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

// work is one of the processes. NewClientFromEnv reads PETSTORE_PROCESSES.
func work() error {
	client, err := petstore.NewClientFromEnv()
	for i := 0; i < requests && err == nil; i++ {
		_, err = client.ListPets(context.Background(), petstore.ListPetsParams{})
	}
	return err
}

// start starts the processes on a fake service whose minute lasts five seconds.
func start() error {
	server := fake.NewServer(fake.WithPlan(fake.PlanFree), fake.WithMinute(5*time.Second))
	defer server.Close()
	var group sync.WaitGroup
	for range processes {
		group.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), fmt.Sprint("PETSTORE_PROCESSES=", processes),
				"PETSTORE_BASE_URL="+server.URL(), "PETSTORE_API_KEY="+server.APIKey())
			cmd.Stderr = os.Stderr
			if err := cmd.Run(); err != nil {
				log.Print(err)
			}
		})
	}
	group.Wait()
	fmt.Println(len(server.Requests()), "requests, 429s:", server.Usage(server.APIKey()).Limited)
	return nil
}
