package main

import "github.com/hashicorp/go-retryablehttp"

func main() {
	if resp, err := retryablehttp.Get("http://127.0.0.1:1/"); err == nil {
		_ = resp.Body.Close()
	}
}
