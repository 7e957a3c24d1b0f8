package sim

import (
	"net/http"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

const baseURL = "https://pets.example/v1"

// program is the options that the clients of one program share, with a limiter.
type program []petstore.Option

func (p program) newClient() *petstore.Client {
	client, err := petstore.NewClient(baseURL, fake.DefaultAPIKey, p...)
	if err != nil {
		panic(err) // the arguments are constants
	}
	return client
}

// newProgram returns a program as users write it. Only the calls of a job wait as long as they must.
func (r *run) newProgram() program {
	limiter := petstore.NewLimiter()
	if r.told {
		limiter = petstore.NewLimiter(petstore.Processes(r.clients))
	}
	p := program{petstore.WithHTTPClient(&http.Client{Transport: r}), petstore.WithLimiter(limiter)}
	switch {
	case r.noWait:
		p = append(p, petstore.WithMaxWait(0))
	case !r.once():
		p = append(p, petstore.WithMaxWait(time.Hour))
	}
	return p
}
