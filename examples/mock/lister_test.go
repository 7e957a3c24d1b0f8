package mock

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ lister = (*petstore.Client)(nil)

// mock is a lister that returns what it has.
type mock struct {
	result petstore.ListPetsResult
	err    error
}

func (m mock) ListPets(context.Context, petstore.ListPetsParams, ...petstore.CallOption) (*petstore.ListPetsResult, error) {
	return &m.result, m.err
}

func TestSold(t *testing.T) {
	count, err := sold(t.Context(), mock{result: petstore.ListPetsResult{Pets: make([]petstore.Pet, 2)}})
	require.NoError(t, err)
	assert.Equal(t, 2, count)
	_, err = sold(t.Context(), mock{err: petstore.ErrUnauthorized})
	assert.ErrorIs(t, err, petstore.ErrUnauthorized)
}
