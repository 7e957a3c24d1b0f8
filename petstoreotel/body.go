package petstoreotel

import "io"

// body ends the attempt when a response has been read, or is not read any further.
type body struct {
	io.ReadCloser
	attempt *attempt
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch err {
	case nil:
	case io.EOF:
		b.attempt.end(nil)
	default:
		b.attempt.end(err)
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.attempt.end(nil)
	return err
}
