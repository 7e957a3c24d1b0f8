// Package vacuum pins the linter of openapi.yaml. From the root of the repository:
//
//	go -C openapi/vacuum tool vacuum lint --details ../../cmd/petstore-fake/openapi.yaml
package vacuum
