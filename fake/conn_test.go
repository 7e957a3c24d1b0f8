package fake

import (
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inLink runs a test on a connection in a bubble of its own.
func inLink(t *testing.T, f func(*testing.T, *link)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := newLink()
		closed := 0
		l.closed = func() { closed++ }
		f(t, l)
		_ = l.client.Close()
		_ = l.server.Close()
		assert.Equal(t, 1, closed)
	})
}

func TestConn(t *testing.T) {
	t.Run("carries bytes both ways, and then EOF", func(t *testing.T) {
		inLink(t, func(t *testing.T, l *link) {
			long := strings.Repeat("0123456789", 100_000)
			go func() {
				_, err := io.WriteString(l.client, long)
				assert.NoError(t, err)
				assert.NoError(t, l.client.Close())
			}()
			got, err := io.ReadAll(l.server)
			require.NoError(t, err)
			assert.Equal(t, long, string(got))
			_, err = l.server.Write([]byte("x"))
			require.ErrorIs(t, err, syscall.ECONNRESET)
			assert.ErrorIs(t, l.client.Close(), net.ErrClosed)
			_, err = l.client.Read(make([]byte, 1))
			require.ErrorIs(t, err, net.ErrClosed)
			_, err = l.client.Write([]byte("x"))
			assert.ErrorIs(t, err, net.ErrClosed)
		})
	})
	t.Run("a reset loses the bytes on their way", func(t *testing.T) {
		inLink(t, func(t *testing.T, l *link) {
			_, err := l.server.Write([]byte("lost"))
			require.NoError(t, err)
			l.reset()
			require.NoError(t, l.server.Close())
			_, err = l.client.Read(make([]byte, 9))
			require.ErrorIs(t, err, syscall.ECONNRESET)
			assert.Equal(t, "read fake fake-client->fake-server: read: connection reset by peer", err.Error())
			_, err = l.client.Write([]byte("x"))
			assert.ErrorIs(t, err, syscall.ECONNRESET)
		})
	})
	t.Run("deadlines end reads and writes in virtual time", func(t *testing.T) {
		inLink(t, func(t *testing.T, l *link) {
			start := time.Now()
			require.NoError(t, l.client.SetDeadline(start.Add(time.Hour)))
			_, err := l.client.Read(make([]byte, 1))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			assert.Equal(t, time.Hour, time.Since(start))
			_, err = l.client.Write([]byte("x"))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)

			require.NoError(t, l.client.SetReadDeadline(time.Time{}))
			require.NoError(t, l.client.SetWriteDeadline(time.Now().Add(time.Minute)))
			n, err := l.client.Write(make([]byte, 2*maxPipe))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			assert.Equal(t, maxPipe, n)

			require.NoError(t, l.client.SetReadDeadline(time.Unix(0, 0)))
			_, err = l.client.Read(make([]byte, 1))
			assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		})
	})
	t.Run("a later deadline replaces an earlier one", func(t *testing.T) {
		inLink(t, func(t *testing.T, l *link) {
			start := time.Now()
			require.NoError(t, l.client.SetReadDeadline(start.Add(time.Second)))
			require.NoError(t, l.client.SetReadDeadline(start.Add(time.Minute)))
			_, err := l.client.Read(make([]byte, 1))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			assert.Equal(t, time.Minute, time.Since(start))
		})
	})
	t.Run("both ends have addresses", func(t *testing.T) {
		inLink(t, func(t *testing.T, l *link) {
			assert.Equal(t, l.client.LocalAddr(), l.server.RemoteAddr())
			assert.Equal(t, l.client.RemoteAddr(), l.server.LocalAddr())
			assert.Equal(t, "fake", l.client.LocalAddr().Network())
		})
	})
}
