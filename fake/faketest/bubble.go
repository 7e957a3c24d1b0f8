// Package faketest runs tests with a fake in virtual time. It is a package of its own, so that
// programs that use package fake do not link package testing.
package faketest

import (
	"testing"
	"testing/synctest"

	"github.com/petstore/petstore-go/fake"
)

// Bubble runs f in a testing/synctest bubble with a server that [fake.NewTestServer] makes there.
// The server is closed after f has returned and the cleanups of f have run. Its [fake.Server.URL]
// panics, since no socket works in a bubble.
func Bubble(t *testing.T, f func(t *testing.T, s *fake.Server), opts ...fake.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		f(t, fake.NewTestServer(t, opts...))
	})
}
