// The simulations are a module of their own because one of the clients they compare needs
// golang.org/x/time, which users of petstore-go must not inherit.
module github.com/petstore/petstore-go/internal/sim

go 1.26.0

replace github.com/petstore/petstore-go => ../..

require (
	github.com/hashicorp/go-retryablehttp v0.7.8
	github.com/petstore/petstore-go v0.2.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
	golang.org/x/time v0.16.0
)

require (
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)
