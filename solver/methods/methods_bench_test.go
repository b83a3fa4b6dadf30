package methods_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
	"github.com/wardcast/wardcast/solver/methods"
)

// shape is a sparse 0/1 matrix of n documents with this many of p terms each, and a rank.
type shape struct{ n, p, perRow, k int }

func (s shape) String() string {
	return fmt.Sprintf("n=%d/p=%d/nnz=%d/k=%d", s.n, s.p, s.n*s.perRow, s.k)
}

// matrix draws one term of each of perRow ranges, so that all rows have the same length.
func (s shape) matrix(b *testing.B) *matrix.CSR {
	b.Helper()
	random := rand.New(rand.NewPCG(1, 0))
	indptr, indices, values := make([]int, s.n+1), make([]int32, 0, s.n*s.perRow), make([]float64, 0, s.n*s.perRow)
	for i := range s.n {
		for c := range s.perRow {
			indices = append(indices, int32(c*s.p/s.perRow+random.IntN(s.p/s.perRow)))
			values = append(values, 1)
		}
		indptr[i+1] = len(values)
	}
	x, err := matrix.NewCSR(s.n, s.p, indptr, indices, values)
	if err != nil {
		b.Fatal(err)
	}
	return x
}

// BenchmarkUpdate times one update of every method on one matrix, and of sonmf and sonmf-binary with one dimension of
// it changed at a time. GOMAXPROCS is the number of threads.
func BenchmarkUpdate(b *testing.B) {
	text := shape{n: 5000, p: 5000, perRow: 25, k: 50}
	shapes := map[string][]shape{}
	for _, name := range methods.Names() {
		shapes[name] = []shape{text}
	}
	delete(shapes, methods.SVD) // it makes no updates
	for _, name := range []string{methods.SONMF, methods.SONMFBinary} {
		for _, change := range []func(s *shape){
			func(s *shape) { s.k = 10 },
			func(s *shape) { s.k = 100 },
			func(s *shape) { s.k = 150 },
			func(s *shape) { s.n = 2500 },
			func(s *shape) { s.n = 10000 },
			func(s *shape) { s.p = 2500 },
			func(s *shape) { s.p = 10000 },
			func(s *shape) { s.perRow = 100 },
		} {
			s := text
			change(&s)
			shapes[name] = append(shapes[name], s)
		}
	}
	for _, name := range methods.Names() {
		for _, s := range shapes[name] {
			b.Run("method="+name+"/"+s.String(), func(b *testing.B) { update(b, name, s) })
		}
	}
}

func update(b *testing.B, name string, s shape) {
	method, _, err := methods.New(name, methods.Settings{})
	if err != nil {
		b.Fatal(err)
	}
	problem := &solver.Problem{
		X: linalg.OperatorOf(s.matrix(b), 0), Settings: solver.Settings{Rank: s.k, Init: solver.InitRandom},
	}
	start := func() solver.State {
		state, err := method.Start(b.Context(), problem)
		if err != nil {
			b.Fatal(err)
		}
		return state
	}
	state := start()
	state.Update() // allocates memory that is kept
	b.ReportAllocs()
	for b.Loop() {
		if state.Update() != solver.NotTerminated {
			b.StopTimer()
			state = start()
			b.StartTimer()
		}
	}
}
