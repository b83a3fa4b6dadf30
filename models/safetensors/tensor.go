package safetensors

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// DType is the type of a tensor's values.
type DType string

// The types that this package reads and writes.
const (
	F64 DType = "F64"
	F32 DType = "F32"
	I64 DType = "I64"
	I32 DType = "I32"
	U8  DType = "U8"
)

func (d DType) size() (int, bool) {
	switch d {
	case F64, I64:
		return 8, true
	case F32, I32:
		return 4, true
	case U8:
		return 1, true
	}
	return 0, false
}

// Tensor is a named array in row-major order. Data holds the values as []float64, []float32, []int64, []int32 or
// []uint8; a tensor without dimensions is a scalar and holds one.
type Tensor struct {
	Name  string
	Shape []int
	Data  any
}

// Float64 returns the values, which are not copied. It is an error if the shape
// is another (a dimension given as -1 may be any), or a value is not a finite
// float64.
func (t *Tensor) Float64(shape ...int) ([]float64, error) {
	v, ok := t.Data.([]float64)
	if !ok {
		return nil, fmt.Errorf("tensor %q: type %T, want float64", t.Name, t.Data)
	}
	if !slices.EqualFunc(t.Shape, shape, func(got, want int) bool { return got == want || want == -1 }) {
		return nil, fmt.Errorf("tensor %q: shape %v, want %v", t.Name, t.Shape, shape)
	}
	for i, f := range v {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("tensor %q: value %d is %v", t.Name, i, f)
		}
	}
	return v, nil
}

// ErrFormat is wrapped by every error about the contents of a file.
var ErrFormat = errors.New("malformed safetensors")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
}

// Len returns the number of values, and DType their type, by Data. They are 0 and "" for a Data of another type.
func (t *Tensor) Len() int { n, _ := t.measure(); return n }

// DType returns the type of the values in Data, "" for a Data of another type.
func (t *Tensor) DType() DType { _, d := t.measure(); return d }

func (t *Tensor) measure() (int, DType) {
	switch v := t.Data.(type) {
	case []float64:
		return len(v), F64
	case []float32:
		return len(v), F32
	case []int64:
		return len(v), I64
	case []int32:
		return len(v), I32
	case []uint8:
		return len(v), U8
	}
	return 0, ""
}

// count returns the product of the dimensions, false if one is negative or the product exceeds what limit allows.
func count(shape []int, limit uint64) (uint64, bool) {
	n, empty := uint64(1), false
	for _, d := range shape {
		if d < 0 {
			return 0, false
		}
		empty = empty || d == 0
	}
	if empty {
		return 0, true
	}
	for _, d := range shape {
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > limit {
			return 0, false
		}
		n = lo
	}
	return n, true
}
