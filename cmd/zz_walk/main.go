package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/coverage"
	"strconv"
	"time"

	"github.com/petstore/petstore-go"
)

func main() {
	n := 0
	var fail bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		h := w.Header()
		h.Set("X-RateLimit-Limit", "1000")
		h.Set("X-RateLimit-Remaining", strconv.Itoa(1000-n))
		h.Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Unix()+50, 10))
		h.Set("Content-Type", "application/json")
		if fail {
			fail = false
			h.Set("X-RateLimit-Remaining", "0")
			h.Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Unix()+1, 10))
			h.Set("Retry-After", "1")
			w.WriteHeader(429)
			fmt.Fprint(w, `{"code":"rate_limited","message":"x","status":429}`)
			return
		}
		if r.Method == "POST" {
			w.WriteHeader(201)
			fmt.Fprint(w, `{"id":1,"name":"a","categoryId":1,"status":"sold"}`)
			return
		}
		fmt.Fprint(w, `[{"id":1,"name":"a","categoryId":1,"status":"sold"}]`)
	}))
	defer s.Close()
	c, err := petstore.NewClient(s.URL+"/v1", "k-1234567")
	if err != nil {
		panic(err)
	}
	call := func() {
		if os.Args[1] == "list" {
			_, err = c.ListPets(context.Background(), petstore.ListPetsParams{Limit: 3, Status: "sold"})
		} else {
			fail = os.Args[1] == "429"
			_, err = c.CreatePet(context.Background(), petstore.NewPet{Name: "a", Status: "sold"})
		}
		if err != nil {
			panic(err)
		}
	}
	if len(os.Args) > 3 {
		_, _ = c.ListPets(context.Background(), petstore.ListPetsParams{})
	}
	if err := coverage.ClearCounters(); err != nil {
		panic(err)
	}
	call()
	os.MkdirAll(os.Args[2], 0o755)
	if err := coverage.WriteMetaDir(os.Args[2]); err != nil {
		panic(err)
	}
	if err := coverage.WriteCountersDir(os.Args[2]); err != nil {
		panic(err)
	}
}
