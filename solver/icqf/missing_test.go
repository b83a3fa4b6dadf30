package icqf

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/solver"
)

// TestMissingCellsCountForNothing changes what can stand at missing cells: the bits of a NaN, the sign and the
// signalling one among them, and, after the start, what the cells were filled with for its singular vectors. For scores
// it takes the items away.
func TestMissingCellsCountForNothing(t *testing.T) {
	t.Parallel()
	data, _, _ := questionnaire(9, 150, 20, 3)
	other := data
	other.Answers = mat.DenseCopyOf(data.Answers)
	other.Answers.Apply(func(i, j int, v float64) float64 {
		if v != v {
			return math.Float64frombits(0x7ff0_0000_0000_0001 + uint64(i*j)<<3 + uint64(i%2)<<63)
		}
		return v
	}, other.Answers)
	before := slices.Clone(other.Answers.RawMatrix().Data)
	confounds := mat.DenseCopyOf(data.Confounds)
	for _, inner := range []Inner{CoordinateDescent, FISTA} {
		s := Settings{Rank: 3, L1: 0.1, RelTol: 1e-6, Inner: inner}
		want := fit(t, data, s)
		if want.Status != solver.Converged {
			t.Fatalf("%s: ended by %v", inner, want.Status)
		}
		if !sameBits(want, fit(t, other, s)) {
			t.Errorf("%s: other bits where missing cells hold other NaNs", inner)
		}
		p, err := Prepare(data, s)
		if err != nil {
			t.Fatal(err)
		}
		means := make([]float64, 20)
		for j := range means {
			var known []float64
			for _, v := range mat.Col(nil, j, data.Answers) {
				if v == v {
					known = append(known, v)
				}
			}
			means[j] = stat.Mean(known, nil)
		}
		p.filled.Apply(func(i, j int, v float64) float64 {
			if m := data.Answers.At(i, j); m == m {
				return v
			}
			if math.Abs(v-means[j]) > 1e-14 {
				t.Fatalf("cell (%d, %d) is filled with %v, want the mean %v of the item", i, j, v, means[j])
			}
			return 1e6 * float64(i-j)
		}, p.filled)
		got, err := p.Fit(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if !sameBits(want, got) {
			t.Errorf("%s: other bits after what missing cells are filled with has changed", inner)
		}
		sameScores(t, &want.Model, data, other)
	}
	for i, v := range before {
		if math.Float64bits(v) != math.Float64bits(other.Answers.RawMatrix().Data[i]) {
			t.Fatal("the caller's answers are modified")
		}
	}
	if !mat.Equal(confounds, data.Confounds) {
		t.Fatal("the caller's confounds are modified")
	}
}

// sameScores holds that scores are the same with other NaNs, and of a model that does not have the missing items.
func sameScores(t *testing.T, m *Model, data, other Data) {
	t.Helper()
	want, err := m.Score(data.Answers, data.Confounds)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.Score(other.Answers, data.Confounds); err != nil || !mat.Equal(got, want) {
		t.Errorf("other scores where missing cells hold other NaNs, error %v", err)
	}
	n, _ := data.Answers.Dims()
	_, k := m.Loadings.Dims()
	_, c := m.ConfoundLoadings.Dims()
	for i := range n {
		var known, loadings, shifts []float64
		for j, v := range data.Answers.RawRowView(i) {
			if v == v {
				known = append(known, v)
				loadings, shifts = append(loadings, m.Loadings.RawRowView(j)...),
					append(shifts, m.ConfoundLoadings.RawRowView(j)...)
			}
		}
		p := len(known)
		less := Model{
			Loadings: mat.NewDense(p, k, loadings), ConfoundLoadings: mat.NewDense(p, c, shifts), L1: m.L1, L2: m.L2,
		}
		got, err := less.Score(mat.NewDense(1, p, known), data.Confounds.Slice(i, i+1, 0, c).(*mat.Dense))
		if err != nil || !slices.Equal(got.RawRowView(0), want.RawRowView(i)) {
			t.Fatalf("row %d: other scores without the missing items, error %v", i, err)
		}
	}
}
