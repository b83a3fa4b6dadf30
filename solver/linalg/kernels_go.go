//go:build !amd64 || purego

package linalg

// levels returns the kernels that this processor can run, the fastest first.
func levels() []*kernels { return []*kernels{{name: "go"}} }
