package sim

import (
	"net/http"
	"slices"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// contender is a way to call the service.
type contender struct {
	name       string
	ours, told bool // ours is held to the figures; told knows how many programs there are
	newProgram func(c cell, via http.RoundTripper) program
}

// program is the options that the clients of one program share, with a limiter or a transport.
type program []petstore.Option

const baseURL = "https://pets.example/v1"

func (p program) newClient() *petstore.Client {
	client, err := petstore.NewClient(baseURL, fake.DefaultAPIKey, p...)
	if err != nil {
		panic(err) // the arguments are constants
	}
	return client
}

// contenders returns all that are compared, ours first.
func contenders() []contender {
	return []contender{
		{name: "petstore-go", ours: true, newProgram: limited},
		{name: "serial", newProgram: rival(newSerial)},
		{name: "counter", newProgram: rival(newCounter)},
	}
}

// toldToo returns those, and ours with NewLimiter(Processes(n)).
func toldToo() []contender {
	told := contender{name: "petstore-go, told", ours: true, told: true}
	told.newProgram = func(c cell, via http.RoundTripper) program {
		return append(limited(c, via), petstore.WithLimiter(petstore.NewLimiter(petstore.Processes(c.clients))))
	}
	return slices.Insert(contenders(), 1, told)
}

// limited is petstore-go as it comes. Only the calls of a job wait as long as they must.
func limited(c cell, via http.RoundTripper) program {
	p := program{
		petstore.WithHTTPClient(&http.Client{Transport: via}), petstore.WithLimiter(petstore.NewLimiter()),
	}
	switch {
	case c.noWait:
		p = append(p, petstore.WithMaxWait(0))
	case !c.once():
		p = append(p, petstore.WithMaxWait(time.Hour))
	}
	return p
}

// rival uses go-retryablehttp as its documentation shows, over a limiter's transport. Of petstore-go
// it has no more than the types.
func rival(newTransport func(http.RoundTripper) http.RoundTripper) func(cell, http.RoundTripper) program {
	return func(_ cell, via http.RoundTripper) program {
		client := retryablehttp.NewClient()
		client.Logger = nil
		client.HTTPClient = &http.Client{Transport: newTransport(via)}
		return program{
			petstore.WithHTTPClient(client.StandardClient()), petstore.WithLimiter(nil),
			petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}), petstore.WithAttemptTimeout(0),
		}
	}
}
