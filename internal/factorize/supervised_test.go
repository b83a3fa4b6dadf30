package factorize_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/factorize"
	"github.com/wardcast/wardcast/internal/table/matrixio"
	"github.com/wardcast/wardcast/solver/methods"
	"github.com/wardcast/wardcast/solver/smf"
)

// supervisedCase is n documents whose labels follow from the matrix and the auxiliary features.
type supervisedCase struct {
	x      *mat.Dense
	aux    *mat.Dense // nil for none
	labels []int
	kappa  int
}

func supervisedExample(n, kappa, q int, seed uint64) supervisedCase {
	random := rand.New(rand.NewPCG(seed, 2))
	c := supervisedCase{x: mat.NewDense(n, 6, nil), kappa: kappa, labels: make([]int, n)}
	if q > 0 {
		c.aux = mat.NewDense(n, q, nil)
	}
	for i := range n {
		c.labels[i] = i % (kappa + 1)
		for j := range 6 {
			c.x.Set(i, j, random.NormFloat64())
		}
		c.x.Set(i, c.labels[i], c.x.At(i, c.labels[i])+1.5)
		for j := range q {
			c.aux.Set(i, j, random.NormFloat64()+float64(c.labels[i])/2)
		}
	}
	return c
}

// column returns the labels as a matrix.
func (c supervisedCase) column() *mat.Dense {
	y := mat.NewDense(len(c.labels), 1, nil)
	for i, v := range c.labels {
		y.Set(i, 0, float64(v))
	}
	return y
}

// options returns those of a run on the case.
func (c supervisedCase) options(t *testing.T, method string) factorize.Options {
	t.Helper()
	o := factorize.Options{
		Method: method, Input: writeCSV(t, c.x), Rank: 2, MaxIter: 200, RelTol: 1e-9, Seed: 1, Out: t.TempDir(),
	}
	o.Labels, o.XiGiven, o.RidgeGiven = writeNPY(t, c.column()), "0.3", "0.7"
	if c.aux != nil {
		o.Aux = writeNPY(t, c.aux)
	}
	return o
}

// logOdds adds the part of auxiliary features and intercept to n×κ scores·coefficientsᵀ.
func (c supervisedCase) logOdds(scores mat.Matrix, factors map[string]*mat.Dense) *mat.Dense {
	var odds mat.Dense
	odds.Mul(scores, factors["coefficients"].T())
	if c.aux != nil {
		var part mat.Dense
		part.Mul(c.aux, factors["aux_coefficients"].T())
		odds.Add(&odds, &part)
	}
	odds.Apply(func(_, j int, v float64) float64 { return v + factors["intercept"].At(j, 0) }, &odds)
	return &odds
}

// objective returns (4) of the paper by its definition, and the accuracy of the most probable classes.
func (c supervisedCase) objective(o *factorize.Report, factors map[string]*mat.Dense) float64 {
	var product, a, filtered mat.Dense
	topics, scores := factors["topics"], factors["scores"]
	filtered.Mul(c.x, topics)
	var odds *mat.Dense
	if o.Method == string(smf.VariantW) {
		a.Mul(topics, factors["coefficients"].T())
		odds = c.logOdds(&filtered, factors)
	} else {
		a.Mul(scores, factors["coefficients"].T())
		odds = c.logOdds(scores, factors)
	}
	var label float64
	for i, y := range c.labels {
		sum := 1.0
		for _, v := range odds.RawRowView(i) {
			sum += math.Exp(v)
		}
		label += math.Log(sum)
		if y > 0 {
			label -= odds.At(i, y-1)
		}
	}
	product.Mul(scores, topics.T())
	product.Sub(c.x, &product)
	squares := func(m *mat.Dense) float64 {
		if m == nil {
			return 0
		}
		norm := mat.Norm(m, 2)
		return norm * norm
	}
	s := o.Settings.Supervised
	return s.Xi*squares(&product) + label +
		s.Ridge*(squares(&a)+squares(factors["aux_coefficients"])+squares(factors["intercept"]))
}

// predicted returns the log-odds of documents by what predictions know of them: the row of X and the topics.
func (c supervisedCase) predicted(t *testing.T, method string, factors map[string]*mat.Dense) *mat.Dense {
	t.Helper()
	topics := factors["topics"]
	var codes mat.Dense
	if method == string(smf.VariantW) {
		codes.Mul(c.x, topics)
	} else {
		var transposed mat.Dense
		if err := transposed.Solve(topics, c.x.T()); err != nil { // least squares
			t.Fatal(err)
		}
		codes.CloneFrom(transposed.T())
	}
	return c.logOdds(&codes, factors)
}

// accuracy returns the share of documents whose class is the most probable one by the log-odds.
func (c supervisedCase) accuracy(odds *mat.Dense) float64 {
	right := 0
	for i, y := range c.labels {
		all := append([]float64{0}, odds.RawRowView(i)...)
		if slices.Index(all, slices.Max(all)) == y {
			right++
		}
	}
	return float64(right) / float64(len(c.labels))
}

// auroc counts the pairs of documents in the right order.
func (c supervisedCase) auroc(odds *mat.Dense) float64 {
	var right, pairs float64
	for i, y := range c.labels {
		for j, other := range c.labels {
			if y != 1 || other != 0 {
				continue
			}
			pairs++
			if odds.At(i, 0) > odds.At(j, 0) {
				right++
			}
		}
	}
	return right / pairs
}

// The report holds for the tensors, for each variant, number of classes and number of auxiliary features.
func TestSupervised(t *testing.T) {
	t.Parallel()
	for _, method := range methods.Supervised() {
		for _, size := range []struct{ kappa, q int }{{1, 0}, {1, 2}, {2, 0}, {2, 1}} {
			train, test := supervisedExample(30, size.kappa, size.q, 1), supervisedExample(20, size.kappa, size.q, 2)
			o := train.options(t, method)
			o.TestInput, o.TestLabels = writeCSV(t, test.x), writeNPY(t, test.column())
			if test.aux != nil {
				o.TestAux = writeNPY(t, test.aux)
			}
			o.Trace = true
			returned, err := factorize.Run(t.Context(), o, nil)
			if err != nil {
				t.Fatal(err)
			}
			r, factors := outputs(t, o.Out)
			if diff := cmp.Diff(*returned, r, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s, %+v: the file differs from the returned report: %s", method, size, diff)
			}
			shapes := map[string][2]int{
				"topics": {6, 2}, "scores": {30, 2}, "coefficients": {size.kappa, 2},
				"intercept": {size.kappa, 1}, "aux_coefficients": {size.kappa, size.q},
			}
			for name, m := range factors {
				if m == nil { // without auxiliary features
					continue
				}
				if rows, cols := m.Dims(); shapes[name] != [2]int{rows, cols} {
					t.Errorf("%s, %+v: %s is %d×%d, want %v", method, size, name, rows, cols, shapes[name])
				}
			}
			if _, ok := factors["aux_coefficients"]; !ok || len(factors) != len(shapes) ||
				(size.q > 0) != (factors["aux_coefficients"] != nil) {
				t.Fatalf("%s, %+v: %d tensors, want %d", method, size, len(factors), len(shapes))
			}
			if want := train.objective(&r, factors); math.Abs(r.Objective-want) > 1e-10*want {
				t.Errorf("%s, %+v: objective %v, of the tensors %v", method, size, r.Objective, want)
			}
			if r.Status != "converged" || len(r.Trace) != r.Iterations+1 {
				t.Errorf("%s, %+v: %s with %d points of %d updates", method, size, r.Status, len(r.Trace), r.Iterations)
			}
			if want := train.accuracy(train.predicted(t, method, factors)); *r.TrainAccuracy != want || want < 0.5 {
				t.Errorf("%s, %+v: training accuracy %v, of the tensors %v", method, size, *r.TrainAccuracy, want)
			}
			odds := test.predicted(t, method, factors)
			if want := test.accuracy(odds); *r.TestAccuracy != want {
				t.Errorf("%s, %+v: test accuracy %v, of the tensors %v", method, size, *r.TestAccuracy, want)
			}
			if (r.TestAUROC != nil) != (size.kappa == 1) {
				t.Errorf("%s, %+v: AUROC %v", method, size, r.TestAUROC)
			} else if r.TestAUROC != nil && math.Abs(*r.TestAUROC-test.auroc(odds)) > 1e-12 {
				t.Errorf("%s, %+v: AUROC %v, of the tensors %v", method, size, *r.TestAUROC, test.auroc(odds))
			}
		}
	}
}

// Labels and auxiliary features are the same in every form of file.
func TestSupervisedForms(t *testing.T) {
	t.Parallel()
	c := supervisedExample(24, 2, 2, 1)
	direct := c.options(t, "smf-w")
	turned := direct
	turned.Orientation, turned.Input, turned.Aux = factorize.TermsByDocuments, writeCSV(t, c.x.T()),
		writeCSV(t, c.aux.T())
	line, sparse, header, withMark := direct, turned, direct, direct
	line.Labels = writeFile(t, "y.csv", join(c.labels, ","))
	sparse.Labels, sparse.Aux = writeMTX(t, c.column().T()), writeMTX(t, c.aux.T())
	header.Labels = writeFile(t, "y.csv", "admitted\n"+join(c.labels, "\r\n"))
	withMark.Labels = writeFile(t, "y.csv", "\ufeff"+join(c.labels, "\n")+"\n\n")
	first := 0.
	for name, o := range map[string]factorize.Options{
		"columns": direct, "turned": turned, "line": line,
		"sparse": sparse, "header": header, "byte order mark": withMark,
	} {
		o.Out = t.TempDir()
		r, err := factorize.Run(t.Context(), o, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if first == 0 {
			first = r.Objective
		}
		if math.Abs(r.Objective-first) > 1e-9*first {
			t.Errorf("%s: objective %.15g, was %.15g in another form", name, r.Objective, first)
		}
	}
}

func join(labels []int, between string) string {
	var b []string
	for _, y := range labels {
		b = append(b, strconv.Itoa(y))
	}
	return strings.Join(b, between)
}

// Weights that are left open are those of the candidate of least log loss; the report says so.
func TestSupervisedAuto(t *testing.T) {
	t.Parallel()
	c := supervisedExample(30, 1, 0, 1)
	for name, want := range map[string]struct {
		xi, ridge string
		chosen    []string
		runs      int
	}{
		"both":  {"", factorize.Auto, []string{"xi", "ridge"}, 30},
		"xi":    {factorize.Auto, "0.7", []string{"xi"}, 5},
		"ridge": {"0.3", "", []string{"ridge"}, 6},
		"none":  {"0.3", "0", nil, 0},
	} {
		o := c.options(t, "smf-h")
		o.XiGiven, o.RidgeGiven, o.MaxIter = want.xi, want.ridge, 20
		r, err := factorize.Run(t.Context(), o, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s := r.Settings.Supervised
		if want.chosen == nil {
			if s.CrossValidation != nil || s.Xi != 0.3 || s.Ridge != 0 {
				t.Errorf("%s: %+v", name, s)
			}
			continue
		}
		v := s.CrossValidation
		// paths end early
		if diff := cmp.Diff(want.chosen, v.Chosen); diff != "" || v.Folds != 5 || len(v.Candidates) > want.runs ||
			2*len(v.Candidates) < want.runs {
			t.Errorf("%s: %d folds of %d candidates; %s", name, v.Folds, len(v.Candidates), diff)
		}
		best := slices.MinFunc(v.Candidates, func(a, b smf.Candidate) int {
			if a.LogLoss < b.LogLoss {
				return -1
			}
			return 1
		})
		if s.Xi != best.Xi || s.Ridge != best.Ridge {
			t.Errorf("%s: ξ %v and ν %v, best are %v and %v", name, s.Xi, s.Ridge, best.Xi, best.Ridge)
		}
	}
}

// Iteration 0 is the given start, and the run after with a step is the paper's algorithm.
func TestSupervisedStart(t *testing.T) {
	t.Parallel()
	for _, method := range methods.Supervised() {
		for _, kappa := range []int{1, 2} {
			c := supervisedExample(24, kappa, 1, 3)
			o := c.options(t, method)
			o.MaxIter, o.Trace, o.RelTol = 3, true, 0
			random := rand.New(rand.NewPCG(5, 5))
			draw := func(rows, cols int) *mat.Dense {
				m := mat.NewDense(rows, cols, nil)
				m.Apply(func(_, _ int, _ float64) float64 { return random.NormFloat64() }, m)
				return m
			}
			beta, gamma := draw(o.Rank, kappa), draw(2, kappa)
			start := map[string]*mat.Dense{
				"topics": draw(6, o.Rank), "scores": draw(24, o.Rank), "coefficients": mat.DenseCopyOf(beta.T()),
				"intercept":        mat.DenseCopyOf(gamma.Slice(0, 1, 0, kappa).T()),
				"aux_coefficients": mat.DenseCopyOf(gamma.Slice(1, 2, 0, kappa).T()),
			}
			o.StartTopics, o.StartScores = writeNPY(t, start["topics"]), writeNPY(t, start["scores"])
			o.StartCoefficients, o.StartAux = writeNPY(t, beta), writeCSV(t, gamma)
			if kappa == 1 { // a line will do
				o.StartCoefficients = writeCSV(t, beta.T())
			}
			for step, update := range map[string]smf.Update{"0.003": smf.UpdateGradient, "": smf.UpdateProfiled} {
				o.Step = step
				r, err := factorize.Run(t.Context(), o, nil)
				if err != nil {
					t.Fatal(err)
				}
				if want := c.objective(r, start); math.Abs(r.Trace[0].Objective-want) > 1e-12*want {
					t.Errorf("%s, κ = %d, step %q: starts at %v, the given factors have %v", method, kappa, step,
						r.Trace[0].Objective, want)
				}
				if r.Iterations != 3 || r.Settings.Step != step || r.Settings.Update != update ||
					r.Trace[1].Objective >= r.Trace[0].Objective {
					t.Errorf("%s, κ = %d: %+v", method, kappa, r)
				}
			}
		}
	}
}

// The updates of a given step are those of an independent implementation.
func TestSupervisedGolden(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("WARDCAST_SHARED")
	if shared == "" {
		t.Skip("WARDCAST_SHARED is not set: no cases of the authors' program")
	}
	path := func(name string) string { return filepath.Join(shared, "cases", "smf", "d_tiny", name) }
	data, err := os.ReadFile(path("golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden map[string]struct {
		Xi, Nu, Tau float64
		Traj        []struct{ Total float64 }
		Pred        []int `json:"test_pred"`
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	h0, err := matrixio.Read(path("H0.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	scores := mat.DenseCopyOf(h0.T())
	text := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for name, g := range golden {
		o := factorize.Options{
			Method: "smf-" + strings.ToLower(name[:1]), Input: path("X.csv.gz"),
			Orientation: factorize.TermsByDocuments, Rank: 3, MaxIter: len(g.Traj) - 1, Trace: true, Out: t.TempDir(),
			StartTopics: path("W0.csv.gz"), StartScores: writeNPY(t, scores), Step: text(g.Tau),
			Supervised: factorize.Supervised{
				Labels: path("y.csv.gz"), Aux: path("X_aux.csv.gz"), XiGiven: text(g.Xi), RidgeGiven: text(g.Nu),
				StartCoefficients: path("beta0.csv.gz"), StartAux: path("G0.csv.gz"),
				TestInput: path("X_test.csv.gz"), TestAux: path("X_aux_test.csv.gz"),
				// so that the accuracy is the share of equal predictions
				TestLabels: writeFile(t, "y.csv", join(g.Pred, "\n")),
			},
		}
		r, err := factorize.Run(t.Context(), o, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(r.Trace) != len(g.Traj) {
			t.Fatalf("%s: %d iterates, want %d", name, len(r.Trace), len(g.Traj))
		}
		for i, want := range g.Traj {
			if got := r.Trace[i].Objective; math.Abs(got-want.Total) > 1e-10*want.Total {
				t.Fatalf("%s: objective %v of iterate %d, want %v", name, got, i, want.Total)
			}
		}
		if *r.TestAccuracy != 1 {
			t.Errorf("%s: %v of the predictions are the same", name, *r.TestAccuracy)
		}
	}
}

func TestSupervisedRefuses(t *testing.T) {
	t.Parallel()
	c := supervisedExample(6, 1, 1, 1) // labels 0, 1, 0, 1, 0, 1
	labels := func(text string) func(*factorize.Options) {
		path := writeFile(t, "y.csv", text)
		return func(o *factorize.Options) { o.Labels = path }
	}
	test := func(x, y, aux string) func(*factorize.Options) {
		return func(o *factorize.Options) { o.TestInput, o.TestLabels, o.TestAux = x, y, aux }
	}
	x, y, aux, fewer, lone := writeCSV(t, c.x), writeNPY(t, c.column()), writeNPY(t, c.aux),
		writeNPY(t, mat.NewDense(5, 1, nil)), writeFile(t, "y.csv", "0\n0\n0\n0\n0\n1\n")
	for name, refused := range map[string]struct {
		change  func(*factorize.Options)
		options bool // whether it is the options that are wrong, not a file
		want    string
	}{
		"negative": {
			labels("0\n1\n0\n-1\n0\n1\n"), false, `y.csv, line 4: unusable labels: document 4: label -1 is negative`,
		},
		"after a header": {labels("admitted\n0\n1\n\n0\n1\n0\n1.5\n"), false, `y.csv, line 8: unusable labels: ` +
			`document 6: label 1.5 is not an integer`},
		"in a line": {labels("0,1,0,1,0.5,1\n"), false, `y.csv, line 1, column "5": unusable labels: ` +
			`document 5: label 0.5 is not an integer`},
		"huge": {labels("0\n1\n1e300\n0\n0\n0\n"), false, "line 3: unusable labels: document 3: label " +
			"1e+300 is above"},
		"missing class": {labels("0\n2\n0\n2\n0\n2\n"), false, "no document of class 1, the largest label is 2"},
		"from 1":        {labels("1\n2\n1\n2\n1\n2\n"), false, "no document of class 0, the largest label is 2"},
		"one class":     {labels("0\n0\n0\n0\n0\n0\n"), false, "every document has class 0"},
		"too few":       {labels("0\n1\n0\n"), false, "3 labels,"},
		"words":         {labels("admitted\nyes\n"), false, `y.csv, line 2, column "admitted"`},
		"table":         {labels("0,1\n0,1\n0,1\n"), false, "one line or one column, not 3×2"},
		"no labels":     {func(o *factorize.Options) { o.Labels = "" }, true, "smf-w needs labels"},
		"no file":       {func(o *factorize.Options) { o.Labels += ".gz" }, false, "no such file"},
		"fewer aux": {func(o *factorize.Options) { o.Aux = fewer }, false, "auxiliary features of 5 " +
			"documents (documents-by-terms)"},
		"no xi":          {func(o *factorize.Options) { o.XiGiven = "0" }, true, "xi is 0"},
		"negative xi":    {func(o *factorize.Options) { o.XiGiven = "-1" }, true, `xi "-1" is neither`},
		"ridge":          {func(o *factorize.Options) { o.RidgeGiven = "much" }, true, `ridge "much" is neither`},
		"infinite ridge": {func(o *factorize.Options) { o.RidgeGiven = "inf" }, true, `ridge "inf" is neither`},
		"named step": {
			func(o *factorize.Options) { o.Step = "exact" }, true, `step "exact" of smf-w is not a positive number`,
		},
		"backwards": {func(o *factorize.Options) { o.Step = "-0.1" }, true, `step "-0.1" of smf-w`},
		"penalty":   {func(o *factorize.Options) { o.L1Topics = new(float64) }, true, "no ℓ1 penalties"},
		"one of a class": {
			func(o *factorize.Options) { o.Labels, o.XiGiven = lone, factorize.Auto }, false,
			"choosing xi by " + strconv.Quote(lone) +
				": cross-validating: unusable labels: class 1 occurs in one fold only, with 1 documents",
		},
		"diverging": {
			func(o *factorize.Options) { o.Step, o.XiGiven = "1e9", "" }, false, "objective is not finite",
		},
		"no test labels": {test(x, "", ""), true, "test documents need both an input and labels"},
		"no test input":  {test("", y, ""), true, "test documents need both an input and labels"},
		"no test aux":    {test(x, y, ""), true, "for training or for test documents only"},
		"test aux alone": {test("", "", aux), true, "auxiliary features without test documents"},
		"test terms":     {test(aux, y, aux), false, "1 terms"},
		"test class": {
			test(x, writeFile(t, "y.csv", "0\n1\n2\n0\n0\n0\n"), aux), false,
			`line 3: unusable labels: document 3: label 2, the largest of training is 1`,
		},
		"test count":    {test(x, writeFile(t, "y.csv", "0\n1\n"), aux), false, "2 labels"},
		"test features": {test(x, y, x), false, "6 auxiliary features"},
		"start coefficients": {
			func(o *factorize.Options) { o.StartCoefficients = aux }, true, "need the start topics and start scores",
		},
		"shape of start aux": {func(o *factorize.Options) { o.StartAux = aux }, true, "6×1, must be 2×1"},
		"restarts of its own": {
			func(o *factorize.Options) { o.Restarts = 2 }, true, "choose the start random or kmeans",
		},
		"rank": {func(o *factorize.Options) { o.Rank = 7 }, true, "rank out of range"},
		"labels of sonmf": {func(o *factorize.Options) {
			*o = factorize.Options{Method: "sonmf", Input: x, Rank: 1, Supervised: factorize.Supervised{Labels: y}}
		}, true, `labels: method "sonmf" does not use labels`},
		"xi of svd": {func(o *factorize.Options) {
			*o = factorize.Options{
				Method: "svd", Input: x, Rank: 1, Supervised: factorize.Supervised{XiGiven: factorize.Auto},
			}
		}, true, `xi: method "svd" does not use labels`},
		"start aux of the nmf": {func(o *factorize.Options) {
			*o = factorize.Options{Method: "semi-nmf", Input: x, Rank: 1, Supervised: factorize.Supervised{StartAux: y}}
		}, true, `start auxiliary coefficients: method "semi-nmf" does not use labels`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := c.options(t, "smf-w")
			refused.change(&o)
			o.Out = t.TempDir()
			_, err := factorize.Run(t.Context(), o, nil)
			if err == nil || !strings.Contains(err.Error(), refused.want) ||
				errors.Is(err, factorize.ErrOptions) != refused.options {
				t.Errorf("error %v, want one with %q, of the options: %v", err, refused.want, refused.options)
			}
			if entries, _ := os.ReadDir(o.Out); len(entries) != 0 {
				t.Errorf("%d files were written", len(entries))
			}
		})
	}
}

// Test documents of one class have an accuracy and no AUROC.
func TestSupervisedTestOfOneClass(t *testing.T) {
	t.Parallel()
	c := supervisedExample(20, 1, 0, 1)
	o := c.options(t, "smf-w")
	o.TestInput, o.TestLabels = o.Input, writeNPY(t, mat.NewDense(20, 1, nil))
	r, err := factorize.Run(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.TestAccuracy == nil || r.TestAUROC != nil {
		t.Errorf("accuracy %v, AUROC %v", r.TestAccuracy, r.TestAUROC)
	}
}
