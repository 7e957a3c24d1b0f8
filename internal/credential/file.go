package credential

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// maxFile is the size of the longest key file in bytes. No key is that long; the limit is for a log
// file named by mistake.
const maxFile = 64 << 10

// File is a file with a key. It is safe for concurrent use. Its errors are *FileError.
type File struct {
	path string
	// reading has one element while a goroutine reads the file. It is no mutex, because a file system
	// may hang, and calls whose contexts end must not wait for it.
	reading chan struct{}
}

// NewFile returns the file with that name.
func NewFile(path string) *File { return &File{path, make(chan struct{}, 1)} }

// Key reads the key.
func (f *File) Key(ctx context.Context) (string, error) {
	select {
	case f.reading <- struct{}{}:
	case <-ctx.Done():
		return "", &FileError{context.Cause(ctx)}
	}
	done := make(chan struct{})
	var key string
	var err error
	go func() {
		defer close(done)
		key, err = readFile(f.path)
		<-f.reading
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return "", &FileError{context.Cause(ctx)}
	}
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err // without the path
	}
	if err != nil {
		return "", &FileError{err}
	}
	return key, nil
}

// readFile returns the key in a file. O_NONBLOCK is for a named pipe, which would wait for a writer.
func readFile(name string) (string, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && !info.Mode().IsRegular() {
		return "", errors.New("is not a regular file")
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	key := strings.TrimSpace(string(text))
	switch {
	case len(text) > maxFile:
		err = errors.New("has more than 64 KiB")
	case err == nil && key == "":
		err = errors.New("is empty")
	}
	return key, err
}
