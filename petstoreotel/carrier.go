package petstoreotel

import (
	"maps"
	"net/http"
	"slices"
)

// carrier gives a propagator the header of a request. It copies the header, and the request unless that is its own,
// before the first change: they belong to the caller.
type carrier struct {
	request *http.Request
	owned   bool
	copied  bool
}

func (c *carrier) Get(key string) string { return c.request.Header.Get(key) }

func (c *carrier) Set(key, value string) {
	if !c.owned {
		c.request, c.owned = c.request.WithContext(c.request.Context()), true
	}
	if !c.copied {
		header := make(http.Header, len(c.request.Header)+2)
		maps.Copy(header, c.request.Header) // the values are replaced, never changed
		c.request.Header, c.copied = header, true
	}
	c.request.Header.Set(key, value)
}

func (c *carrier) Keys() []string { return slices.Collect(maps.Keys(c.request.Header)) }
