package loopback

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestListen(t *testing.T) {
	l := Listen(t)
	assert.NoError(t, reach(Host(t)))
	require.NoError(t, l.Close())
	assert.Error(t, reach("192.0.2.1"), "an address of another machine")
}
