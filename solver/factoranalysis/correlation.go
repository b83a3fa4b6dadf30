package factoranalysis

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Kind is a kind of correlation.
type Kind string

// The kinds.
const (
	// Pearson is the product-moment correlation.
	Pearson Kind = "pearson"
	// Polychoric is the correlation of normal variables whose ordered categories are the answers.
	Polychoric Kind = "polychoric"
	// FullInformation is that of the normal distribution under which the given answers are most likely (FIML). Unlike
	// the others, it is not biased if answers are missing because of others that were given.
	FullInformation Kind = "full-information"
)

// Correlations are those of p items.
type Correlations struct {
	// R is p×p, positive definite.
	R *mat.SymDense
	// LeastEigenvalue is the least one before smoothing, or a lower bound if that is far above 1e-8. Below 1e-8, R was
	// smoothed, and users should be warned.
	LeastEigenvalue float64
	// Unknown lists the pairs without a correlation, in ascending order: no participant answered both items, or, but
	// for FullInformation, one of them does not vary among those who did. Before smoothing, R holds 0 for them in the
	// result of Correlate, and the correlations that the factors imply in a Model and after Fill.
	Unknown [][2]int
	// Fewest is the least number of participants who answered both items of a pair, for Pearson.
	Fewest int
	// Saturated is the distribution of FullInformation, otherwise nil.
	Saturated *Saturated
	// Raw are the correlations before smoothing, 0 for pairs without one.
	Raw *mat.SymDense

	// Of FullInformation, both of standardized answers.
	patterns     []Pattern
	standardized *Saturated
}

// Smoothed reports whether R was changed to be positive definite.
func (c *Correlations) Smoothed() bool { return c.LeastEigenvalue < leastEigenvalue }

// Extreme returns the pairs of items whose correlation is 1 or −1 but for the bound of Polychoric or rounding.
func Extreme(r mat.Symmetric) (pairs [][2]int) {
	const extreme = 0.999
	for j := range r.SymmetricDim() {
		for i := range j {
			if math.Abs(r.At(i, j)) >= extreme {
				pairs = append(pairs, [2]int{i, j})
			}
		}
	}
	return pairs
}

// leastDeviation is the least standard deviation whose square is not affected by the rounding of numbers near 5e-324.
const leastDeviation = 1e-150

// leastEigenvalue replaces smaller eigenvalues: far above rounding, far below anything visible in a correlation.
const leastEigenvalue = 1e-8

// Determined is the Reason of an item whose answers the confounds tell.
const Determined = "has only answers that the confounds determine"

// ItemError names the first item, counted from 0, that cannot be correlated, and says why.
type ItemError struct {
	Item   int
	Reason string
}

// Error returns the column and the reason.
func (e *ItemError) Error() string { return fmt.Sprintf("item in column %d %s", e.Item, e.Reason) }

// Correlate returns the correlations between the columns of x, n×p, each over the rows without NaN in either of them,
// or for FullInformation over all rows.
//
// Pairwise correlations need not be a correlation matrix. If their least eigenvalue is below 1e-8, the matrix is
// smoothed: smaller eigenvalues are raised to 1e-8, and rows and columns are scaled back to a diagonal of ones.
//
// It returns a *solver.NonFiniteError for an infinite answer, an *ItemError for an item with fewer than two different
// answers, one whose squares overflow or vanish and, for Polychoric, one with more than 30 answers, an error that wraps
// solver.ErrShape for fewer than two rows or columns and one that wraps solver.ErrSettings for an unknown kind or a
// negative number of threads. FullInformation adds one that is ErrSingular if no maximum of the likelihood is found:
// participants may be few, or an item the sum of others. When ctx ends during a search, its cause is returned.
//
// The cost is n·p² and p³; Polychoric adds about five evaluations of the likelihood for each pair, with as many
// bivariate normal probabilities as the inner corners of its table, and FullInformation one NormalScore for each
// iteration of Saturate.
func Correlate(ctx context.Context, x mat.Matrix, kind Kind, threads int) (*Correlations, error) {
	return correlate(ctx, x, nil, kind, threads)
}

// correlate is Correlate; confounds, n×c, shift the latent responses of Polychoric, unless they are nil.
func correlate(ctx context.Context, x mat.Matrix, confounds *mat.Dense, kind Kind, threads int) (*Correlations, error) {
	if err := cmp.Or(solver.CheckThreads(threads), check(x)); err != nil {
		return nil, err
	}
	c := &Correlations{}
	var err error
	switch kind {
	case Pearson:
		c.Raw, c.Unknown, c.Fewest = pearson(x, linalg.Threads(threads))
	case FullInformation:
		if err := c.full(ctx, x); err != nil {
			return nil, err
		}
	case Polychoric:
		items, err := Categories(x)
		if err != nil {
			return nil, err
		}
		of := make([]int, len(items[0].Codes))
		if confounds != nil {
			g, err := newGroups(confounds)
			if err != nil {
				return nil, err
			}
			for j := range items {
				if ctx.Err() != nil {
					return nil, context.Cause(ctx)
				}
				if !g.regress(&items[j]) {
					return nil, &ItemError{j, Determined}
				}
			}
			of = g.of
		}
		if c.Raw, c.Unknown, err = polychoric(ctx, items, of, linalg.Threads(threads)); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("%w: correlation %q is none of %s, %s, %s", solver.ErrSettings, kind, Pearson,
			Polychoric, FullInformation)
	}
	c.R, c.LeastEigenvalue, err = smoothed(c.Raw)
	return c, err
}

// unsettled is the error of a search that ended without a maximum after that many rounds; for callers, ErrSingular.
type unsettled int

func (u unsettled) Error() string {
	return fmt.Sprintf("the likelihood did not settle in %d rounds", u)
}

func (unsettled) Is(target error) bool { return target == ErrSingular }

// full finds the correlations of FullInformation.
func (c *Correlations) full(ctx context.Context, x mat.Matrix) (err error) {
	_, p := x.Dims()
	means, deviations := linalg.SampleMoments(x)
	var z mat.Dense // in its units all numbers are near 1
	z.Apply(func(_, j int, v float64) float64 { return (v - means[j]) / deviations[j] }, x)
	c.patterns = Patterns(&z)
	if participants(c.patterns) <= p {
		return ErrSingular
	}
	if c.standardized, err = Saturate(ctx, c.patterns, p); err != nil {
		return err
	}
	if !c.standardized.Converged {
		return unsettled(c.standardized.Rounds)
	}
	c.Unknown, c.Raw = NeverTogether(c.patterns, p), c.standardized.correlations()
	for _, pair := range c.Unknown {
		c.Raw.SetSym(pair[0], pair[1], 0)
	}
	c.Saturated = c.standardized.rescaled(means, deviations)
	return nil
}

func check(x mat.Matrix) error {
	n, p := x.Dims()
	if n < 2 || p < 2 {
		return fmt.Errorf("%w: correlations need two items and two participants, not %d and %d", solver.ErrShape, p, n)
	}
	column := make([]float64, n)
	for j := range p {
		mat.Col(column, j, x)
		if i := slices.IndexFunc(column, func(v float64) bool { return math.IsInf(v, 0) }); i >= 0 {
			return &solver.NonFiniteError{Row: i, Col: j, Value: column[i]}
		}
		if least, greatest := linalg.Extremes(column); least >= greatest {
			return &ItemError{j, "has fewer than two different answers"}
		}
	}
	_, deviations := linalg.SampleMoments(x)
	for j, d := range deviations {
		if !(d >= leastDeviation && d <= math.MaxFloat64) {
			return &ItemError{j, "has answers whose squares overflow or vanish; change its unit"}
		}
	}
	return nil
}

// constantShare is a share of a sum of squares. A variance over the rows of a pair below it may be rounding.
const constantShare = 1e-12

// pearson returns the correlations over pairwise known rows. Let Z be the standardized columns, with 0 for unknown
// entries, and M be 1 for known entries and 0 for others. All sums over common rows are then entries of ZᵀZ, ZᵀM,
// (Z∘Z)ᵀM and MᵀM. fewest is the least number of rows of a pair.
func pearson(x mat.Matrix, threads linalg.Threads) (r *mat.SymDense, unknown [][2]int, fewest int) {
	n, p := x.Dims()
	means, deviations := linalg.SampleMoments(x)
	z, known, complete := mat.NewDense(n, p, nil), mat.NewDense(n, p, nil), true
	for i := range n {
		for j := range p {
			if v := x.At(i, j); math.IsNaN(v) {
				complete = false
			} else {
				z.Set(i, j, (v-means[j])/deviations[j])
				known.Set(i, j, 1)
			}
		}
	}
	products := threads.Gram(z)
	r = mat.NewSymDense(p, nil)
	if complete {
		for i := range p {
			r.SetSym(i, i, 1)
			for j := range i {
				r.SetSym(i, j, within1(products.At(i, j)/float64(n-1)))
			}
		}
		return r, nil, n
	}
	counts, sums, squares := threads.Gram(known), mat.NewDense(p, p, nil), mat.NewDense(p, p, nil)
	threads.InnerTo(sums, z, known)
	z.MulElem(z, z)
	threads.InnerTo(squares, z, known)
	for i := range p {
		r.SetSym(i, i, 1)
		for j := range i {
			count := counts.At(i, j)
			si, sj := sums.At(i, j), sums.At(j, i)
			vi, vj := squares.At(i, j)-si*si/count, squares.At(j, i)-sj*sj/count
			if count < 2 || vi <= constantShare*squares.At(i, j) || vj <= constantShare*squares.At(j, i) {
				unknown = append(unknown, [2]int{j, i})
				continue
			}
			r.SetSym(i, j, within1((products.At(i, j)-si*sj/count)/math.Sqrt(vi*vj)))
		}
	}
	return r, unknown, int(mat.Min(counts))
}

// within1 clips a correlation to [−1, 1], which rounding can leave.
func within1(r float64) float64 { return min(1, max(-1, r)) }

// smoothed returns the nearest correlation matrix with eigenvalues from about leastEigenvalue on, and LeastEigenvalue.
func smoothed(r *mat.SymDense) (*mat.SymDense, float64, error) {
	var factor mat.Cholesky
	if factor.Factorize(r) {
		// The greatest eigenvalue is at least 1, and the condition number in the 1-norm, estimated within a small
		// factor, at least the ratio of the two.
		if least := 1 / factor.Cond(); least >= 100*leastEigenvalue {
			return r, least, nil
		}
		values, err := linalg.Eigenvalues(r) // vectors are seldom needed
		if err != nil {
			return nil, 0, err
		}
		if values[0] >= leastEigenvalue {
			return r, values[0], nil
		}
	}
	values, vectors, ok := linalg.Eigen(r)
	if !ok {
		return nil, 0, linalg.ErrEigen
	}
	least := values[0]
	for i, v := range values {
		values[i] = math.Sqrt(max(v, leastEigenvalue))
	}
	p := len(values)
	root := mat.NewDense(p, p, nil)
	linalg.ScaleColumns(root, vectors, values)
	for i := range p {
		row := mat.NewVecDense(p, root.RawRowView(i))
		row.ScaleVec(1/mat.Norm(row, 2), row)
	}
	out := mat.NewSymDense(p, nil)
	out.SymOuterK(1, root)
	for i := range p {
		out.SetSym(i, i, 1)
	}
	return out, least, nil
}
