package safetensors

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// float64Type is the only type of the format that this package accepts; its values have float64Size bytes.
const (
	float64Type = "F64"
	float64Size = 8
)

// Tensors maps names to arrays.
type Tensors map[string]Tensor

// Tensor is an array in row-major order. One without dimensions is a scalar and holds one value.
type Tensor struct {
	Shape []int
	Data  []float64
}

// Float64 returns the values of the named tensor, which are not copied. It is an error if the tensor is missing, has
// another shape (-1 stands for any size), or holds a value that is not finite.
func (t Tensors) Float64(name string, shape ...int) ([]float64, error) {
	x, ok := t[name]
	if !ok {
		return nil, fmt.Errorf("tensor %q: not found", name)
	}
	if !slices.EqualFunc(x.Shape, shape, func(got, want int) bool { return got == want || want == -1 }) {
		return nil, fmt.Errorf("tensor %q: shape %v, want %v", name, x.Shape, shape)
	}
	for i, v := range x.Data {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("tensor %q: value %d is %v", name, i, v)
		}
	}
	return x.Data, nil
}

// ErrFormat is wrapped by every error about the contents of a file.
var ErrFormat = errors.New("malformed safetensors")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
}

// count returns the product of the dimensions, false if one is negative or the product exceeds limit.
func count(shape []int, limit uint64) (uint64, bool) {
	if slices.ContainsFunc(shape, func(d int) bool { return d < 0 }) {
		return 0, false
	}
	if slices.Contains(shape, 0) {
		return 0, true
	}
	n := uint64(1)
	for _, d := range shape {
		if n > limit/uint64(d) {
			return 0, false
		}
		n *= uint64(d)
	}
	return n, true
}
