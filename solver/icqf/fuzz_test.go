package icqf

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// fitProperty fits small questionnaires of any answers on a scale, most cells missing in some: what every result
// promises holds, and each participant has the same scores alone and next to others.
func fitProperty(t *rapid.T) {
	n, p := rapid.IntRange(1, 140).Draw(t, "n"), rapid.IntRange(1, 12).Draw(t, "p")
	c := rapid.IntRange(0, 2).Draw(t, "c")
	draw := rapid.IntRange(-2, 4)
	data := Data{Answers: mat.NewDense(n, p, nil), Max: 4}
	data.Answers.Apply(func(_, _ int, _ float64) float64 {
		if v := draw.Draw(t, "answer"); v >= 0 {
			return float64(v)
		}
		return math.NaN()
	}, data.Answers)
	data.Answers.Set(0, 0, 1)
	if c > 0 {
		data.Confounds = mat.NewDense(n, c, nil)
		data.Confounds.Apply(func(i, j int, _ float64) float64 { return float64(i*(j+1)%3) / 2 }, data.Confounds)
	}
	s := Settings{
		Rank: rapid.IntRange(1, p).Draw(t, "rank"), L1: rapid.Float64Range(0, 2).Draw(t, "l1"),
		L2:         rapid.Float64Range(0, 2).Draw(t, "l2"),
		MaxLoading: rapid.SampledFrom([]float64{0, 0.7, 4}).Draw(t, "bound"),
		MaxIter:    rapid.IntRange(1, 30).Draw(t, "updates"),
		Inner:      rapid.SampledFrom([]Inner{CoordinateDescent, FISTA}).Draw(t, "inner"),
	}
	problem, err := Prepare(data, s)
	if err != nil {
		t.Fatal(err)
	}
	r, err := problem.Fit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	checkResult(t, data, s, r)
	scores, err := r.Score(data.Answers, data.Confounds)
	if err != nil {
		t.Fatal(err)
	}
	i := rapid.IntRange(0, n-1).Draw(t, "alone")
	var confounds *mat.Dense
	if c > 0 {
		confounds = data.Confounds.Slice(i, i+1, 0, c).(*mat.Dense)
	}
	alone, err := r.Score(data.Answers.Slice(i, i+1, 0, p).(*mat.Dense), confounds)
	if err != nil {
		t.Fatal(err)
	}
	if !mat.Equal(alone, scores.Slice(i, i+1, 0, s.Rank)) {
		t.Fatalf("row %d scores %v alone and %v beside others", i, alone.RawRowView(0), scores.RawRowView(i))
	}
	if mat.Min(scores) < 0 || mat.Max(scores) > 1 {
		t.Fatalf("scores from %v to %v", mat.Min(scores), mat.Max(scores))
	}
}

func TestFitProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, fitProperty)
}

func FuzzFit(f *testing.F) { f.Fuzz(rapid.MakeFuzz(fitProperty)) }
