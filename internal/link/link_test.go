package link

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
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/internal/testkit"
)

func TestMain(m *testing.M) {
	testkit.SkipExamples()
	goleak.VerifyTestMain(m)
}

// inLink runs a test with a connection in a bubble of its own.
func inLink(t *testing.T, name string, f func(*testing.T, *Link)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			closed := 0
			l := New(func(*Link) { closed++ })
			f(t, l)
			_ = l.Client.Close()
			_ = l.Server.Close()
			assert.Equal(t, 1, closed)
		})
	})
}

func TestConn(t *testing.T) {
	inLink(t, "carries bytes both ways, and then EOF", func(t *testing.T, l *Link) {
		long := strings.Repeat("0123456789", 100_000)
		go func() {
			_, err := io.WriteString(l.Client, long)
			assert.NoError(t, err)
			assert.NoError(t, l.Client.Close())
		}()
		got, err := io.ReadAll(l.Server)
		require.NoError(t, err)
		assert.Equal(t, long, string(got))
		_, err = l.Server.Write([]byte("x"))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		assert.ErrorIs(t, l.Client.Close(), net.ErrClosed)
		_, err = l.Client.Read(make([]byte, 1))
		require.ErrorIs(t, err, net.ErrClosed)
		_, err = l.Client.Write([]byte("x"))
		assert.ErrorIs(t, err, net.ErrClosed)
	})
	inLink(t, "a reset loses the bytes on their way", func(t *testing.T, l *Link) {
		_, err := l.Server.Write([]byte("lost"))
		require.NoError(t, err)
		require.NoError(t, l.Server.SetLinger(0))
		require.NoError(t, l.Server.Close())
		_, err = l.Client.Read(make([]byte, 9))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		assert.Equal(t, "read fake fake-client->fake-server: read: connection reset by peer", err.Error())
		_, err = l.Client.Write([]byte("x"))
		assert.ErrorIs(t, err, syscall.ECONNRESET)
	})
	inLink(t, "64 KiB are on their way, and a further byte waits for a read", func(t *testing.T, l *Link) {
		_, err := l.Client.Write(make([]byte, 64<<10))
		require.NoError(t, err)
		written := false
		go func() {
			_, err := l.Client.Write([]byte("x"))
			written = err == nil
		}()
		synctest.Wait()
		assert.False(t, written)
		_, err = l.Server.Read(make([]byte, 1))
		require.NoError(t, err)
		synctest.Wait()
		assert.True(t, written)
	})
	inLink(t, "a deadline ends reads in virtual time, and replaces an earlier one", func(t *testing.T, l *Link) {
		start := time.Now()
		require.NoError(t, l.Client.SetReadDeadline(start.Add(time.Second)))
		require.NoError(t, l.Client.SetDeadline(start.Add(time.Hour)))
		_, err := l.Client.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		assert.Equal(t, time.Hour, time.Since(start))
		require.NoError(t, l.Client.SetReadDeadline(time.Unix(0, 0)))
		_, err = l.Client.Read(make([]byte, 1))
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.NoError(t, l.Client.SetWriteDeadline(time.Unix(0, 0)))
		_, err = l.Client.Write([]byte("x"))
		assert.NoError(t, err)
	})
	inLink(t, "both ends have addresses", func(t *testing.T, l *Link) {
		assert.Equal(t, l.Client.LocalAddr(), l.Server.RemoteAddr())
		assert.Equal(t, l.Client.RemoteAddr(), l.Server.LocalAddr())
		assert.Equal(t, "fake", l.Client.LocalAddr().Network())
	})
}
