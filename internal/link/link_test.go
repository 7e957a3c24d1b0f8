package link_test

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

	"github.com/petstore/petstore-go/internal/link"
)

// conn runs a subtest with a connection, in a bubble, which fails if a goroutine does not end.
func conn(t *testing.T, name string, f func(t *testing.T, client, server *link.Conn)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			client, server := link.New()
			assert.Equal(t, client.LocalAddr(), server.RemoteAddr())
			f(t, client, server)
			_, _ = client.Close(), server.Close()
		})
	})
}

func TestConn(t *testing.T) {
	conn(t, "carries bytes to the other end, and then EOF", func(t *testing.T, client, server *link.Conn) {
		long := strings.Repeat("0123456789", 100_000)
		go func() {
			_, err := io.Copy(client, struct{ io.Reader }{strings.NewReader(long)}) // in parts
			assert.NoError(t, err)
			assert.NoError(t, client.Close())
		}()
		got, err := io.ReadAll(server)
		require.NoError(t, err)
		assert.Equal(t, long, string(got))
		_, err = server.Write([]byte("x"))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		_, err = client.Read(make([]byte, 1))
		assert.ErrorIs(t, err, net.ErrClosed)
	})
	conn(t, "a reset loses the bytes on their way", func(t *testing.T, client, server *link.Conn) {
		_, err := server.Write([]byte("lost"))
		require.NoError(t, err)
		require.NoError(t, server.SetLinger(0))
		_, err = client.Read(make([]byte, 9))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		assert.EqualError(t, err, "read fake fake-client->fake-server: read: connection reset by peer")
	})
	conn(t, "a write waits while 64 KiB are unread", func(t *testing.T, client, server *link.Conn) {
		written := 0
		go func() {
			for ; written <= 64; written++ {
				_, err := client.Write(make([]byte, 1<<10))
				assert.NoError(t, err)
			}
		}()
		synctest.Wait()
		assert.Equal(t, 64, written)
		_, err := server.Read(make([]byte, 1))
		require.NoError(t, err)
		synctest.Wait()
		assert.Equal(t, 65, written)
	})
	conn(t, "a deadline ends a read in virtual time", func(t *testing.T, client, _ *link.Conn) {
		start := time.Now()
		for _, after := range []time.Duration{time.Second, time.Hour, -time.Hour} {
			require.NoError(t, client.SetReadDeadline(start.Add(after))) // replaces an earlier one
			if after != time.Second {
				_, err := client.Read(make([]byte, 1))
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				assert.Equal(t, time.Hour, time.Since(start))
			}
		}
	})
}
