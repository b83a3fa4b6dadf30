package smf

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/cmd/papers/internal/report"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/smf"
	"github.com/wardcast/wardcast/solver/svd"
)

// The two stages are what the joint problem becomes as the reconstruction outweighs the labels.
func TestTwoStagesAreTheLimit(t *testing.T) {
	t.Parallel()
	const n, p, k = 60, 12, 3
	random := rand.New(rand.NewPCG(1, 2))
	x := report.Drawn(n, p, random.NormFloat64)
	data := smf.Data{Labels: make([]int, n), Classes: 3, Aux: report.Drawn(n, 2, random.NormFloat64)}
	for i := range data.Labels {
		data.Labels[i] = random.IntN(3)
	}
	for t := range k { // so that k singular values are separated
		for i := range n {
			x.Set(i, t, float64(5-t)*x.At(i, t))
		}
	}
	two, err := twoStage{rank: k, ridge: 0.1}.fit(t.Context(), x, data)
	if err != nil {
		t.Fatal(err)
	}
	method, err := smf.New(data, smf.Settings{Variant: smf.VariantW, Xi: 1e7, Ridge: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	joint := factorized(t, x, method, solver.Settings{Rank: k, RelTol: 1e-15})
	want, err := method.Model(joint).Predict(x, data.Aux)
	if err != nil {
		t.Fatal(err)
	}
	got, err := two.Predict(x, data.Aux)
	if err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(got.LogOdds, want.LogOdds, 1e-4) {
		t.Errorf("log-odds %v, of the joint problem %v", mat.Formatted(got.LogOdds), mat.Formatted(want.LogOdds))
	}
	least := factorized(t, x, svd.Method{}, solver.Settings{Rank: k}).Objective
	if excess := solver.SquaredResidual(x, joint.Topics, joint.Scores)/least - 1; excess > 1e-8 {
		t.Errorf("squared residual is %g above the least of the rank", excess)
	}
	// A longer topic does not change what an unpenalized regression predicts.
	plain, scaled := twoStage{rank: k, ridge: 1e-9}, twoStage{rank: k, ridge: 1e-9, scaled: true}
	var odds [2]*mat.Dense
	for i, s := range []twoStage{plain, scaled} {
		m, err := s.fit(t.Context(), x, data)
		if err != nil {
			t.Fatal(err)
		}
		predicted, err := m.Predict(x, data.Aux)
		if err != nil {
			t.Fatal(err)
		}
		odds[i] = predicted.LogOdds
	}
	if !mat.EqualApprox(odds[0], odds[1], 1e-4) {
		t.Error("scaled topics predict otherwise without a ridge")
	}
	for _, bad := range []twoStage{{rank: 0}, {rank: p + 1}, {rank: 2, ridge: -1}} {
		if _, err := bad.fit(t.Context(), x, data); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

func factorized(t *testing.T, x mat.Matrix, method solver.Method, settings solver.Settings) *solver.Result {
	t.Helper()
	r, err := solver.Solve(t.Context(), x, settings, method)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Block coordinate descent has the objective of its definition at each end, and comes near the least one.
func TestBlockDescent(t *testing.T) {
	t.Parallel()
	p, err := jobPostings(t.Context(), 150, 140, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := solver.Settings{Rank: p.rank, MaxIter: 300, RelTol: -1}
	if s.StartTopics, s.StartScores, _, err = p.start(t.Context(), solver.InitSVD, 1); err != nil {
		t.Fatal(err)
	}
	for _, variant := range variants() {
		problem := smf.Settings{Variant: variant, Xi: 5, Ridge: paperRidge}
		found := map[string]*solver.Result{}
		for _, name := range []string{nameBCD, nameProfiled} {
			method, err := p.method(name, problem)
			if err != nil {
				t.Fatal(err)
			}
			found[name] = factorized(t, p.x, method, s)
		}
		blocks, least := found[nameBCD], found[nameProfiled].Objective
		start := 5*solver.SquaredResidual(p.x, s.StartTopics, s.StartScores) + float64(len(p.data.Labels))*math.Ln2
		if at := blocks.Trace[0].Objective; math.Abs(at/start-1) > 1e-10 {
			t.Errorf("%s: begins at %.12g, the start has %.12g", variant, at, start)
		}
		if excess := blocks.Objective/least - 1; excess < -1e-9 || excess > 1e-2 {
			t.Errorf("%s: ends at %.12g, %g above the least objective", variant, blocks.Objective, excess)
		}
	} // The objectives of another implementation of the same updates, from factors of U(0,1).
	var head *solver.Head
	s.MaxIter = 60
	if s.StartTopics, s.StartScores, head, err = p.start(t.Context(), StartUniform, 1); err != nil {
		t.Fatal(err)
	}
	for variant, want := range map[smf.Variant]float64{smf.VariantW: 503.22227885149, smf.VariantH: 515.49537579521} {
		method, err := p.method(nameBCD, smf.Settings{Variant: variant, Xi: 5, Ridge: paperRidge, StartHead: head})
		if err != nil {
			t.Fatal(err)
		}
		if got := factorized(t, p.x, method, s).Objective; math.Abs(got/want-1) > 1e-9 {
			t.Errorf("%s: at %.14g after 60 updates from a uniform start, want %.14g", variant, got, want)
		}
	}
}
