// What checks petstore-fake from the outside is a module of its own: the tools that the tests need
// must not come to users of petstore-go.
module github.com/petstore/petstore-go/cmd/petstore-fake/e2e

go 1.26.0

replace github.com/petstore/petstore-go => ../../..

require (
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.22.1
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/text v0.14.0 // indirect
)
