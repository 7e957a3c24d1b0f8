package petstore

import "context"

// callIn is the context of a call of listPets in ctx, as a Limiter is given it.
func callIn(ctx context.Context, traces ...*ClientTrace) context.Context {
	k := &call{client: &Client{traces: traces}, operation: listPets, config: &callConfig{}}
	k.ctx = callContext{ctx, k}
	return &k.ctx
}
