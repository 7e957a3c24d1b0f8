package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// server is a Redis for this example only.
type server struct {
	name, address string
	stop          func()
}

// startRedis starts a redis-server that writes nothing to disk or, without one, miniredis in this
// process.
func startRedis(ctx context.Context) (*server, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		mini, err := miniredis.Run()
		if err != nil {
			return nil, err
		}
		return &server{"miniredis (there is no redis-server on the path)", mini.Addr(), mini.Close}, nil
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "fleet")
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(address)
	arguments := []string{"--bind", "127.0.0.1", "--port", port, "--dir", folder, "--save", "", "--appendonly", "no"}
	cmd := exec.CommandContext(ctx, program, arguments...) //nolint:gosec // found on the path
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	s := &server{"redis-server", address, func() {
		_ = cmd.Process.Kill() // its data is not needed any more
		_ = cmd.Wait()
		_ = os.RemoveAll(folder)
	}}
	if err := s.wait(ctx); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// wait returns when the server responds.
func (s *server) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	options := redis.Options{Addr: s.address, DialerRetries: 100, DialerRetryTimeout: 50 * time.Millisecond}
	rdb := redis.NewClient(&options)
	defer func() { _ = rdb.Close() }()
	return rdb.Ping(ctx).Err()
}
