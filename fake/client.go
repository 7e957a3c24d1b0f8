package fake

import petstore "github.com/petstore/petstore-go"

// baseURL is the address of the entry points in memory. They serve any host; this one is loopback,
// which a client may call by plain http.
const baseURL = "http://localhost/v1"

// Client returns a new client of the service that reaches the server in memory, with the default
// key. Make one for each test: two of them do not know of each other's requests. Options override
// the client's key and http.Client: [petstore.WithAPIKeyFunc] gives it another key. Client panics
// if an option is not acceptable to [petstore.NewClient].
func (s *Server) Client(opts ...petstore.Option) *petstore.Client {
	return s.client("Client", s.APIKey(), opts)
}

// ClientFor returns a client of the service that reaches the server in memory with the given key,
// as [Server.Client] does with the default key. It panics on a key that the server does not know,
// and where Client does.
func (s *Server) ClientFor(key string, opts ...petstore.Option) *petstore.Client {
	s.mustFind("ClientFor", key)
	return s.client("ClientFor", key, opts)
}

func (s *Server) client(where, key string, opts []petstore.Option) *petstore.Client {
	all := append([]petstore.Option{petstore.WithHTTPClient(s.HTTPClient())}, opts...)
	c, err := petstore.NewClient(baseURL, key, all...)
	if err == nil {
		return c
	}
	if c, errOwn := petstore.NewClient(baseURL, "", all...); errOwn == nil {
		return c // the options have a WithAPIKeyFunc, which rules out a fixed key
	}
	must(false, where, "%v", err)
	return nil
}
