package smf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
)

// ErrLabels is returned for labels that no model can be fitted to.
var ErrLabels = errors.New("unusable labels")

// Variant names how the label depends on the factors.
type Variant string

const (
	// VariantW predicts from the filtered document Topicsᵀx (filter-based, SMF-W).
	VariantW Variant = "smf-w"
	// VariantH predicts from the scores of the document (feature-based, SMF-H).
	VariantH Variant = "smf-h"
)

// Update names an algorithm.
type Update string

const (
	// UpdateProfiled is the default: a lifted projected gradient step in the metric in which the reconstruction is
	// exact, refined in a small subspace. The coefficients are fitted again after each step. See profiledState.
	UpdateProfiled Update = "profiled"
	// UpdateGradient is the lifted projected gradient descent of the paper (algorithm 1), by steps of a given length.
	UpdateGradient Update = "gradient"
)

// Data holds the labels and further features of the documents, whose rows of X are passed separately. It is not
// modified.
type Data struct {
	// Labels holds the class 0 … κ of each of the n documents.
	Labels []int
	// Classes is κ+1; 0 means the largest label plus one.
	Classes int
	// Aux holds q auxiliary features of each document, n×q, or is nil.
	Aux *mat.Dense
	// Weights holds the weight wᵢ ≥ 0 of each document in the label loss; nil means all 1.
	Weights []float64
}

// Settings chooses the problem and the algorithm.
type Settings struct {
	// Variant is VariantW or VariantH.
	Variant Variant
	// Xi is the weight ξ > 0 of the squared residual of X.
	Xi float64
	// Ridge is ν ≥ 0. If it is 0, the coefficients of separable data grow without bound.
	Ridge float64
	// Step is the step length τ of UpdateGradient for A and B; 0 chooses UpdateProfiled. StepAux is that for Γ; 0 means
	// Step, as in the paper.
	Step, StepAux float64
	// StartHead holds the coefficients of iteration 0; nil means zeros. They belong to the start topics and scores in
	// solver.Settings.
	StartHead *solver.Head
}

// Update returns the algorithm that the settings choose.
func (s *Settings) Update() Update {
	if s.Step > 0 {
		return UpdateGradient
	}
	return UpdateProfiled
}

// Method is the factorization as a solver.Method. It holds the labels, so it fits one set of documents only.
type Method struct {
	data     Data
	settings Settings
}

// New returns the method. It returns an error that wraps ErrLabels, solver.ErrSettings, solver.ErrShape or
// solver.ErrNonFinite for invalid data or settings. The error names the first invalid document, counted from 0.
func New(data Data, s Settings) (*Method, error) {
	if err := data.check(); err != nil {
		return nil, fmt.Errorf("reading the labels: %w", err)
	}
	if s.Variant != VariantW && s.Variant != VariantH {
		return nil, fmt.Errorf("%w: variant %q is not one of smf-w, smf-h", solver.ErrSettings, s.Variant)
	}
	if !(s.Xi > 0) || !(s.Ridge >= 0) || !(s.Step >= 0) || !(s.StepAux >= 0) ||
		math.IsInf(s.Xi+s.Ridge+s.Step+s.StepAux, 1) {
		return nil, fmt.Errorf("%w: xi %v, ridge %v, steps %v and %v", solver.ErrSettings, s.Xi, s.Ridge,
			s.Step, s.StepAux)
	}
	if s.StepAux > 0 && s.Step == 0 {
		return nil, fmt.Errorf("%w: a step %v of the auxiliary features alone", solver.ErrSettings, s.StepAux)
	}
	return &Method{data: data, settings: s}, nil
}

func (d *Data) check() error {
	if len(d.Labels) == 0 {
		return fmt.Errorf("%w: there are none", ErrLabels)
	}
	if i := slices.IndexFunc(d.Labels, func(y int) bool { return y < 0 }); i >= 0 {
		return fmt.Errorf("%w: label %d of document %d", ErrLabels, d.Labels[i], i)
	}
	largest := slices.Max(d.Labels)
	if d.Classes = cmp.Or(d.Classes, largest+1); d.Classes < 2 || largest >= d.Classes {
		return fmt.Errorf("%w: %d classes, largest label %d", ErrLabels, d.Classes, largest)
	}
	if d.Weights != nil && len(d.Weights) != len(d.Labels) {
		return fmt.Errorf("%w: %d weights for %d documents", solver.ErrShape, len(d.Weights), len(d.Labels))
	}
	for i, w := range d.Weights {
		if !(w >= 0) || math.IsInf(w, 1) {
			return fmt.Errorf("%w: weight %v of document %d", solver.ErrSettings, w, i)
		}
	}
	return checkAux(d.Aux, len(d.Labels))
}

// ClassWeights is the rule that gives a document its weight in the label loss by its class.
type ClassWeights string

const (
	// Unweighted counts every document as 1.
	Unweighted ClassWeights = "none"
	// Balanced gives each class the same total weight; the weights of all n documents sum to n.
	Balanced ClassWeights = "balanced"
)

// Known reports whether w is a value of this package; "" stands for Unweighted.
func (w ClassWeights) Known() bool { return w == "" || w == Unweighted || w == Balanced }

// Weights returns Data.Weights for documents with these labels, nil unless w is Balanced.
func (w ClassWeights) Weights(labels []int) []float64 {
	if w != Balanced {
		return nil
	}
	counts := map[int]float64{}
	for _, y := range labels {
		counts[y]++
	}
	return lists.Map(labels, func(y int) float64 { return float64(len(labels)) / (float64(len(counts)) * counts[y]) })
}

// checkAux returns an error unless aux is nil or has a finite row for each of n documents.
func checkAux(aux *mat.Dense, n int) error {
	if aux == nil {
		return nil
	}
	rows, _ := aux.Dims()
	if rows != n {
		return fmt.Errorf("%w: auxiliary features for %d documents, must be %d", solver.ErrShape, rows, n)
	}
	if err := solver.CheckFinite(aux); err != nil {
		return fmt.Errorf("reading the auxiliary features: %w", err)
	}
	return nil
}

// Name returns "smf-w" or "smf-h".
func (m *Method) Name() string { return string(m.settings.Variant) }

// Start returns the state at iteration 0: the given start factors, or otherwise the topics that Init names with their
// least squares scores X·Topics. UpdateProfiled fits the other unknowns to the span of the start: in its first update
// if topics and scores are given, and before iteration 0 otherwise.
func (m *Method) Start(ctx context.Context, p *solver.Problem) (solver.State, error) {
	t, err := m.newTask(p)
	if err != nil {
		return nil, err
	}
	topics, scores := p.Settings.StartTopics, p.Settings.StartScores
	if !t.given {
		if topics, err = p.OrthonormalTopics(ctx); err != nil {
			return nil, err
		}
		scores = mat.NewDense(t.n, t.k, nil)
		p.X.MulTo(scores, topics)
	}
	if m.settings.Update() == UpdateGradient {
		return newGradient(t, topics, scores)
	}
	return newProfiled(t, topics, scores)
}

// task is a problem in the form that both variants share (see the package comment).
type task struct {
	Settings
	threads  linalg.Threads
	x        matrix.Operator // X, n×p
	side     matrix.Products // X̂, d×e
	n, d, e  int
	k, rank  int        // k is the rank in the settings, rank is min(k, d): the largest width of a basis
	kappa    int        // κ
	labels   labels     // of the documents
	z        *mat.Dense // n×(1+q)
	aux      int        // 1+q
	given    bool       // the start is given
	squared  float64    // ‖X‖²
	rounding float64    // smaller changes of the objective count as rounding
}

// noise is the share of the objective that counts as rounding.
const noise = 1e-15

func (m *Method) newTask(p *solver.Problem) (*task, error) {
	n, _ := p.X.Dims()
	if len(m.data.Labels) != n {
		return nil, fmt.Errorf("%w: %d labels for %d documents", solver.ErrShape, len(m.data.Labels), n)
	}
	t := &task{
		Settings: m.settings, threads: linalg.ThreadsOf(p.X), x: p.X, side: p.X, n: n, k: p.Settings.Rank,
		kappa: m.data.Classes - 1, squared: p.X.NormSquared(),
	}
	t.given = p.Settings.StartTopics != nil && p.Settings.StartScores != nil
	if t.Variant == VariantW {
		t.side = transposed{p.X}
	}
	t.d, t.e = t.side.Dims()
	t.rank = min(t.k, t.d)
	t.labels = labels{class: m.data.Labels, weights: m.data.Weights}
	t.z = mat.NewDense(n, 1, slices.Repeat([]float64{1}, n))
	if aux, ones := m.data.Aux, t.z; aux != nil {
		t.z = new(mat.Dense)
		t.z.Augment(ones, aux)
	}
	_, t.aux = t.z.Dims()
	t.rounding = noise * (t.Xi*t.squared + float64(n))
	return t, t.checkHead()
}

// checkHead returns an error if the shape of the start head does not fit.
func (t *task) checkHead() error {
	h := t.StartHead
	if h == nil {
		return nil
	}
	r, c := shape(h.Coefficients)
	auxRows, q := shape(h.AuxCoefficients)
	if r != t.kappa || c != t.k || len(h.Intercept) != t.kappa || q != t.aux-1 || q > 0 && auxRows != t.kappa {
		return fmt.Errorf("reading the start coefficients: %w: %d×%d, %d intercepts and %d×%d of auxiliary features "+
			"for %d classes, %d topics and %d auxiliary features",
			solver.ErrShape, r, c, len(h.Intercept), auxRows, q, t.kappa+1, t.k, t.aux-1)
	}
	return nil
}

// shape returns the shape of a matrix, 0×0 for nil.
func shape(a *mat.Dense) (rows, columns int) {
	if a == nil {
		return 0, 0
	}
	return a.Dims()
}

type transposed struct{ matrix.Products }

func (x transposed) Dims() (p, n int) {
	n, p = x.Products.Dims()
	return p, n
}

func (x transposed) MulTo(dst, d *mat.Dense) { x.Products.MulTransTo(dst, d) }

func (x transposed) MulTransTo(dst, d *mat.Dense) { x.Products.MulTo(dst, d) }
