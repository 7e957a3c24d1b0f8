package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/petstore/petstore-go/bench/internal/canned"
)

const mebibyte = 1 << 20

// bound is how long a body our client reads by default.
const bound = 10 * mebibyte

// largeBody is an answer, ready to be written to a connection.
type largeBody struct {
	name      string
	header    string
	body      []byte
	reference int64
	endless   bool // body is repeated for ever, or longer than any bound
}

func largeBodies() []largeBody {
	list := longList(bound)
	chunk := append([]byte("10000\r\n"), bytes.Repeat([]byte{' '}, 0x10000)...)
	chunk = append(chunk, "\r\n"...)
	bomb := compressed(128 * mebibyte)
	length := func(b []byte) string { return fmt.Sprintf("Content-Length: %d\r\n", len(b)) }
	const chunked = "Transfer-Encoding: chunked\r\n"
	return []largeBody{
		{"10 MiB, length known", length(list), list, int64(len(list)), false},
		{"10 MiB, chunked", chunked, inOneChunk(list), int64(len(list)), false},
		{"no end", chunked, chunk, bound, true},
		{"128 MiB in gzip", "Content-Encoding: gzip\r\n" + length(bomb), bomb, bound, true},
	}
}

// longList is a list of 100 animals with long names, just within size.
func longList(size int) []byte {
	pets := canned.Pets(100)
	for i := range pets {
		pets[i].Name = strings.Repeat("x", size/len(pets)-100)
	}
	text, err := json.Marshal(pets)
	if err != nil {
		panic(err) // nothing in it can fail
	}
	return text
}

func inOneChunk(text []byte) []byte {
	out := fmt.Appendf(nil, "%x\r\n", len(text))
	return append(append(out, text...), "\r\n0\r\n\r\n"...)
}

func compressed(size int) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	blanks := bytes.Repeat([]byte{' '}, mebibyte)
	for range size / mebibyte {
		_, _ = w.Write(blanks) // into memory
	}
	_ = w.Close()
	return out.Bytes()
}

// transport is net/http's, on connections in memory whose other end gives the answer and allocates next
// to nothing.
func (b largeBody) transport() http.RoundTripper {
	return &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go b.answer(far)
			return near, nil
		},
	}
}

func (b largeBody) answer(conn net.Conn) {
	defer conn.Close()
	request := bufio.NewReader(conn)
	for line := "-"; line != "\r\n"; {
		var err error
		if line, err = request.ReadString('\n'); err != nil {
			return
		}
	}
	head := canned.AnswerTo(canned.List100).Header
	head.Del("Content-Length")
	var text strings.Builder
	text.WriteString("HTTP/1.1 200 OK\r\n" + b.header)
	_ = head.Write(&text)
	_, err := io.WriteString(conn, text.String()+"\r\n")
	for err == nil {
		_, err = conn.Write(b.body)
		if !b.endless || strings.Contains(b.header, "Length") {
			return
		}
	}
}
