package linalg

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"
)

// denseShapes are the products of the factorizations; n and p are sizes of a, k is the number of columns of b.
var denseShapes = func() (shapes []denseShape) {
	for _, size := range []int{500, 5000} {
		for _, k := range []int{10, 30, 50, 150} {
			shapes = append(
				shapes,
				denseShape{op: "mul", n: size, p: k, k: k},      // tall times small
				denseShape{op: "gram", n: size, p: k, k: k},     // AᵀA
				denseShape{op: "inner", n: size, p: k, k: k},    // AᵀB
				denseShape{op: "mul", n: size, p: size, k: k},   // dense X·F
				denseShape{op: "inner", n: size, p: size, k: k}, // dense Xᵀ·G
				denseShape{op: "mul", n: 64, p: k, k: size},     // a block of S·Fᵀ
			)
		}
	}
	return shapes
}()

type denseShape struct {
	op      string
	n, p, k int
}

func (s denseShape) String() string { return fmt.Sprintf("%s/n=%d/p=%d/k=%d", s.op, s.n, s.p, s.k) }

// flops are the operations of the product; half of a Gram matrix is enough, but numpy's figure also counts all of it.
func (s denseShape) flops() float64 { return 2 * float64(s.n) * float64(s.p) * float64(s.k) }

// run returns the product as a function.
func (s denseShape) run(l *kernels) func() {
	a := normal(1, s.n, s.p)
	switch s.op {
	case "mul":
		b, dst := normal(2, s.p, s.k), mat.NewDense(s.n, s.k, nil)
		return func() { l.mulTo(0, dst, rowMajor(a.RawMatrix()), a, b, s.p, false) }
	case "gram":
		dst := mat.NewDense(s.p, s.p, nil)
		return func() { l.innerTo(0, dst, a, a, true) }
	}
	b, dst := normal(2, s.n, s.k), mat.NewDense(s.p, s.k, nil)
	if s.p > s.k {
		return func() { l.mulTo(0, dst, transposed(a.RawMatrix()), a, b, s.n, false) }
	}
	return func() { l.innerTo(0, dst, a, b, false) }
}

// BenchmarkDense times the dense products by each level; GFLOP/s and the ratio are measured on the fastest run. With
// OPENBLAS_PYTHON naming a Python that has numpy it adds the time of OpenBLAS on one thread over that of the kernel.
func BenchmarkDense(b *testing.B) {
	reference := openBLAS(b, denseShapes)
	for _, l := range levels() {
		for _, shape := range denseShapes {
			b.Run(fmt.Sprintf("%s/%s", l.name, shape), func(b *testing.B) {
				run := shape.run(l)
				b.ReportAllocs()
				least := math.Inf(1)
				for b.Loop() {
					start := time.Now()
					run()
					least = min(least, time.Since(start).Seconds())
				}
				b.ReportMetric(shape.flops()/least/1e9, "GFLOP/s")
				if seconds, ok := reference[shape.String()]; ok {
					b.ReportMetric(seconds/least, "×OpenBLAS")
				}
			})
		}
	}
}

// openBLAS returns the seconds that numpy needs for each shape.
func openBLAS(b *testing.B, shapes []denseShape) map[string]float64 {
	python := os.Getenv("OPENBLAS_PYTHON")
	if python == "" {
		return nil
	}
	var input strings.Builder
	for _, s := range shapes {
		fmt.Fprintf(&input, "%s %s %d %d %d\n", s, s.op, s.n, s.p, s.k)
	}
	command := exec.CommandContext(b.Context(), python, "testdata/openblas.py")
	command.Env = append(os.Environ(), "OPENBLAS_NUM_THREADS=1")
	command.Stdin = strings.NewReader(input.String())
	output, err := command.Output()
	if err != nil {
		b.Fatalf("timing numpy: %v", err)
	}
	seconds := map[string]float64{}
	for lines := bufio.NewScanner(strings.NewReader(string(output))); lines.Scan(); {
		var name string
		var s float64
		if _, err := fmt.Sscan(lines.Text(), &name, &s); err != nil {
			b.Fatalf("reading the times of numpy: %v", err)
		}
		seconds[name] = s
	}
	return seconds
}

func BenchmarkLogistic(b *testing.B) {
	m, dst := normal(1, 1, 5000).RawRowView(0), make([]float64, 5000)
	for i := range m {
		m[i] *= 5
	}
	for _, l := range levels() {
		b.Run(l.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.logisticTo(dst, m)
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(len(m)), "ns/element")
		})
	}
}
