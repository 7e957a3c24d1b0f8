// The limiter for Redis is a module of its own: other users of petstore-go need no client of Redis.
// Only its tests import an internal package, so that the two modules may have different versions.
module github.com/petstore/petstore-go/petstoreredis

go 1.26.0

replace github.com/petstore/petstore-go => ../

require (
	github.com/alicebob/miniredis/v2 v2.40.0
	github.com/petstore/petstore-go v1.0.0
	github.com/redis/go-redis/v9 v9.23.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/hashicorp/go-retryablehttp v0.7.8 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.48.0 // indirect
)
