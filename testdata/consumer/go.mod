// What users see: a module of somebody else's that requires this one. The step getmodules gives it a
// release from a clone, far away from it.
module consumer.example

go 1.26.0

require (
	github.com/stretchr/testify v1.12.1
	go.uber.org/mock v0.6.0
)
