package elasticnet

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Status tells why a path ended.
type Status int

// The ways for a path to end.
const (
	// Complete paths hold every λ of the sequence.
	Complete Status = iota
	// Flat paths ended when a λ added less than 1e-5 to the share of the null deviance that is explained, and no more than
	// the λ before it. (The first λ of ridge add little, but more each time.)
	Flat
	// Saturated paths ended when more than 0.999 of the null deviance was explained.
	Saturated
	// Unconverged paths ended before a λ that the passes did not suffice for; it is not in the path.
	Unconverged
	// Diverged paths ended before a λ whose descent left the finite numbers or could not lower the objective; it is
	// not in the path.
	Diverged
)

// String returns the status in lower case.
func (s Status) String() string {
	switch s {
	case Complete:
		return "complete"
	case Flat:
		return "flat"
	case Saturated:
		return "saturated"
	case Unconverged:
		return "unconverged"
	case Diverged:
		return "diverged"
	}
	return fmt.Sprintf("status(%d)", int(s))
}

// Early reports whether a path with this status may hold fewer λ than the sequence.
func (s Status) Early() bool { return s != Complete }

// Err returns an error that wraps ErrNotConverged if a λ was left out because it was not solved, else nil.
func (s Status) Err() error {
	if s == Unconverged || s == Diverged {
		return fmt.Errorf("%w: path %v", ErrNotConverged, s)
	}
	return nil
}

// Path holds the models of a falling sequence of λ; index l stands for Lambda[l] in every slice.
type Path struct {
	Lambda        []float64
	Intercept     []float64
	Coefficients  []Coefficients
	DevianceRatio []float64 // share of NullDeviance that the model explains
	NullDeviance  float64   // −2 Σ w ln(likelihood) of the intercept alone, with the weights as given
	Status        Status    // why the path ended
	Passes        int       // passes over columns, summed over the path
	Columns       int       // p, the width of the design
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

// LinearPredictor returns η = β₀ + Xβ, the log-odds, at index l for every row of a design that has the
// columns of the one fitted. The cost is that of the columns in the model. It panics if the widths differ.
func (p *Path) LinearPredictor(x *Design, l int) []float64 {
	if len(x.columns) != p.Columns {
		panic(errWidth)
	}
	eta := make([]float64, x.n)
	for i := range eta {
		eta[i] = p.Intercept[l]
	}
	for c, j := range p.Coefficients[l].Columns {
		x.columns[j].addTo(eta, p.Coefficients[l].Values[c])
	}
	return eta
}

const errWidth = "elasticnet: design has another number of columns than the path"

// Fit computes the path of a problem.
//
// A computed sequence (Settings.Lambda nil) may end early, after at least five λ: see Flat and Saturated. If
// nothing is left to penalize, because all penalty factors are 0 or no penalized column varies with the labels,
// the computed sequence is the one λ = 0.
//
// It returns an error for input outside the ranges that Problem and Settings state, for labels of one class, and
// if not even the first λ was solved. When ctx ends it returns its error. A later λ that is not solved ends the
// path, and Status says so.
//
// The cost is O(p·n) per λ for the conditions of the columns left out, and O(columns in play · n) for every
// pass, with n the number of entries for a sparse column. It keeps one copy of the dense columns and one scaled
// copy of every column that came into play.
func Fit(ctx context.Context, p Problem, s Settings) (*Path, error) {
	s, err := prepare(p, s)
	if err != nil {
		return nil, err
	}
	return fitRows(ctx, p, s, allRows)
}

// prepare checks the input and returns the settings with their defaults.
func prepare(p Problem, s Settings) (Settings, error) {
	if err := p.check(); err != nil {
		return s, err
	}
	s = s.withDefaults(p.Design.Dims())
	return s, s.check(len(p.Design.columns))
}

// subset is the part of a problem that a path is fitted on.
type subset struct {
	keep   func(row int) bool
	lambda []float64 // a sequence computed for all rows; nil computes it for these
}

var allRows = subset{keep: func(int) bool { return true }}

// fitRows computes the path on some rows.
func fitRows(ctx context.Context, p Problem, s Settings, rows subset) (*Path, error) {
	d, err := newDescent(p, s, rows.keep)
	if err != nil {
		return nil, err
	}
	path := &Path{NullDeviance: 2 * d.nullLoss * d.totalWeight, Columns: len(p.Design.columns)}
	largest, err := d.start(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("fitting the unpenalized columns: %w", statusOf(err).Err())
	}
	lambda := s.Lambda
	if lambda == nil {
		lambda = rows.lambda
	}
	if lambda == nil {
		lambda = sequence(largest, s)
	}
	last := largest
	for _, l := range lambda {
		if err := d.solve(ctx, l, last); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			path.Status = statusOf(err)
			break
		}
		last = l
		path.add(d, l)
		if s.Lambda == nil && path.ended() {
			break
		}
	}
	path.Passes = d.passes
	if len(path.Lambda) == 0 {
		return nil, fmt.Errorf("fitting lambda %v: %w", lambda[0], path.Status.Err())
	}
	return path, nil
}

// sequence returns the computed λ.
func sequence(largest float64, s Settings) []float64 {
	if largest == 0 {
		return []float64{0}
	}
	lambda := make([]float64, s.NLambda)
	for l := range lambda {
		lambda[l] = largest
		if l > 0 {
			lambda[l] *= math.Pow(s.LambdaMinRatio, float64(l)/float64(s.NLambda-1))
		}
	}
	return lambda
}

// add appends the current estimate.
func (p *Path) add(d *descent, lambda float64) {
	intercept, coefficients := d.original()
	p.Lambda = append(p.Lambda, lambda)
	p.Intercept = append(p.Intercept, intercept)
	p.Coefficients = append(p.Coefficients, coefficients)
	p.DevianceRatio = append(p.DevianceRatio, 1-d.loss(d.eta)/d.nullLoss)
}

// ended applies the rules that end a path early and sets the status.
func (p *Path) ended() bool {
	l := len(p.Lambda) - 1
	if l+1 < minPathLength || p.DF(l) == 0 {
		return false
	}
	switch {
	case p.DevianceRatio[l] > maxDevianceRatio:
		p.Status = Saturated
	case p.gain(l) < minDevianceGain && p.gain(l) <= p.gain(l-1):
		p.Status = Flat
	default:
		return false
	}
	return true
}

// gain is the deviance ratio of λ number l minus that of the one before.
func (p *Path) gain(l int) float64 { return p.DevianceRatio[l] - p.DevianceRatio[l-1] }

var (
	errPasses   = errors.New("passes used up")
	errDiverged = errors.New("objective does not fall")
)

func statusOf(err error) Status {
	if errors.Is(err, errPasses) {
		return Unconverged
	}
	return Diverged
}
