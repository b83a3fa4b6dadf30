package elasticnet

import (
	"context"
	"fmt"
	"math"
)

// Status is why a path ended.
type Status int

// The ways for a path to end. A path that is Unconverged or Diverged lacks the λ that was not solved.
const (
	Complete Status = iota // every λ of the sequence is fitted
	// a λ explained less than 1e-5 more of the null deviance, and no more than the λ before it gained.
	Flat
	Saturated   // more than 0.999 of the null deviance is explained
	Unconverged // MaxPasses is used up
	Diverged    // the descent left the finite numbers, or could not lower the objective
)

// String returns the status in lower case.
func (s Status) String() string {
	return [...]string{"complete", "flat", "saturated", "unconverged", "diverged"}[s]
}

// Err returns an error that wraps ErrNotConverged if a λ was not solved, else nil.
func (s Status) Err() error {
	if s == Unconverged || s == Diverged {
		return fmt.Errorf("%w: path %v", ErrNotConverged, s)
	}
	return nil
}

// Path holds the models of a falling sequence of λ; index l stands for Lambda[l] in every slice.
type Path struct {
	Lambda       []float64
	Intercept    []float64
	Coefficients []Coefficients
	// DevianceRatio is the share that the model explains of −2 Σ w ln(likelihood) of the intercept alone.
	DevianceRatio []float64
	Status        Status
	Columns       int // p, the width of the design
}

// Coefficients are those that are not zero at one λ, for the columns as they were given, columns ascending.
type Coefficients struct {
	Columns []int
	Values  []float64
}

// DF returns the number of coefficients at index l that are not zero.
func (p *Path) DF(l int) int { return len(p.Coefficients[l].Columns) }

// Dense returns the p coefficients at index l.
func (p *Path) Dense(l int) []float64 {
	beta := make([]float64, p.Columns)
	for c, j := range p.Coefficients[l].Columns {
		beta[j] = p.Coefficients[l].Values[c]
	}
	return beta
}

// LinearPredictor returns the log-odds η = β₀ + Xβ, without any offset, at index l for every row of a design. It panics
// if the design has another number of columns than the one fitted.
func (p *Path) LinearPredictor(x *Design, l int) []float64 {
	if len(x.columns) != p.Columns {
		panic("elasticnet: design has another number of columns than the path")
	}
	eta := make([]float64, x.n)
	for i := range eta {
		eta[i] = p.Intercept[l]
	}
	for at, j := range p.Coefficients[l].Columns {
		c, beta := x.columns[j], p.Coefficients[l].Values[at]
		for e, v := range c.values {
			eta[c.row(e)] += beta * v
		}
	}
	return eta
}

// Fit computes the path of a problem.
//
// A computed sequence (Settings.Lambda nil) may end after five λ: see Flat and Saturated. It is the one λ = 0 if
// nothing is left to penalize, because all penalty factors are 0 or no penalized column varies with the labels.
//
// It returns an error for input out of range, for labels of one class, if not even the first λ was solved, and when ctx
// ends. A later λ that is not solved ends the path, and Status says so.
//
// With n the number of entries of a column, the cost is O(p·n) per λ for the conditions of the columns left out, and
// O(columns in play · n) per pass. It keeps a copy of the dense columns and a scaled copy of every column in play.
func Fit(ctx context.Context, p Problem, s Settings) (*Path, error) {
	s, err := prepare(p, s)
	if err != nil {
		return nil, err
	}
	f, err := newFitter(ctx, p, s, everyRow)
	if err != nil {
		return nil, err
	}
	if err := f.extend(ctx, sequence(f.last, s)); err != nil {
		return nil, err
	}
	return f.Path, nil
}

func prepare(p Problem, s Settings) (Settings, error) {
	if err := p.check(); err != nil {
		return s, err
	}
	s = s.withDefaults(p.Design.Dims())
	return s, s.check(len(p.Design.columns))
}

func everyRow(int) bool { return true }

type fitter struct {
	*Path
	descent  *descent
	settings Settings
	last     float64 // λ of the current estimate
	ended    bool
}

// newFitter prepares the path on some rows. Its last is the largest λ of a computed sequence.
func newFitter(ctx context.Context, p Problem, s Settings, keep func(row int) bool) (*fitter, error) {
	d, err := newDescent(p, s, keep)
	if err != nil {
		return nil, err
	}
	path := &Path{Columns: len(p.Design.columns)}
	largest, status := d.start(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if status != Complete {
		return nil, fmt.Errorf("fitting the unpenalized columns: %w", status.Err())
	}
	return &fitter{Path: path, descent: d, settings: s, last: largest}, nil
}

// extend adds estimates for falling λ, unless the path has ended. It fails if the context ends or the first λ is not
// solved.
func (f *fitter) extend(ctx context.Context, lambda []float64) error {
	for _, l := range lambda {
		if f.ended {
			break
		}
		f.Status = f.descent.solve(ctx, l, f.last)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if f.ended = f.Status != Complete; f.ended {
			break
		}
		f.last = l
		f.add(f.descent, l)
		f.ended = f.settings.Lambda == nil && f.endsEarly()
	}
	if len(f.Lambda) == 0 {
		return fmt.Errorf("fitting lambda %v: %w", lambda[0], f.Status.Err())
	}
	return nil
}

// sequence returns the λ to fit: those given, or computed ones from the largest on.
func sequence(largest float64, s Settings) []float64 {
	if s.Lambda != nil {
		return s.Lambda
	}
	if largest == 0 {
		return []float64{0}
	}
	n := s.NLambda
	if s.Turn {
		n = 1 + int(float64(n-1)*math.Log(turnRatio)/math.Log(s.LambdaMinRatio))
	}
	lambda := make([]float64, n)
	for l := range lambda {
		lambda[l] = largest
		if l > 0 {
			lambda[l] *= math.Pow(s.LambdaMinRatio, float64(l)/float64(s.NLambda-1))
		}
	}
	return lambda
}

// add appends the current estimate, for the columns as they were given.
func (p *Path) add(d *descent, lambda float64) {
	intercept := d.intercept
	var coefficients Coefficients
	for j := range d.columns {
		c := &d.columns[j]
		if c.beta == 0 {
			continue
		}
		beta := c.beta / c.spread
		intercept -= beta * c.center
		coefficients.Columns = append(coefficients.Columns, j)
		coefficients.Values = append(coefficients.Values, beta)
	}
	p.Lambda = append(p.Lambda, lambda)
	p.Intercept = append(p.Intercept, intercept)
	p.Coefficients = append(p.Coefficients, coefficients)
	p.DevianceRatio = append(p.DevianceRatio, 1-d.loss(d.eta)/d.nullLoss)
}

// endsEarly applies the rules that end a path early and sets the status.
func (p *Path) endsEarly() bool {
	l := len(p.Lambda) - 1
	if l+1 < minPathLength || p.DF(l) == 0 {
		return false
	}
	gain := func(l int) float64 { return p.DevianceRatio[l] - p.DevianceRatio[l-1] }
	switch {
	case p.DevianceRatio[l] > maxDevianceRatio:
		p.Status = Saturated
	case gain(l) < minDevianceGain && gain(l) <= gain(l-1):
		p.Status = Flat
	}
	return p.Status != Complete
}
