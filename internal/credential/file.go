package credential

import (
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

// ReadFile returns the key in a file. Its errors are *FileError.
func ReadFile(path string) (string, error) {
	key, err := readFile(path)
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err // without the path
	}
	if err != nil {
		return "", &FileError{err}
	}
	return key, nil
}

// readFile is ReadFile with any errors. O_NONBLOCK is for a named pipe, which would wait for a
// writer.
func readFile(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
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
