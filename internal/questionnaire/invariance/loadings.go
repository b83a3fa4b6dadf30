package invariance

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver/align"
	"github.com/wardcast/wardcast/solver/factoranalysis"
)

// The second words of the generators' seeds, plus the number of the sample, set the samples apart from other uses of the same seed.
const (
	bootstrapStream   = 0x626f_6f74_0000_0000 // "boot"
	permutationStream = 0x7065_726d_0000_0000 // "perm"
)

// Configural tells whether the same factors are found in both groups.
type Configural struct {
	Factors []Factor `json:"factors"`
	// P is the share of random splits whose least congruence is at most the least of the groups.
	P float64 `json:"p"`
}

// Factor compares a factor of the first group with its match in the second. They have the number of the factor of both groups
// together that they are nearest to.
type Factor struct {
	Factor string `json:"factor"`
	// Numbers are those of the factor among the factors of each group, from 1 on, by size.
	Numbers [2]int `json:"numbers"`
	// Congruence is that of Tucker, φ = λ₁ᵀλ₂ / (‖λ₁‖·‖λ₂‖), in [−1, 1]; 0 for an empty factor.
	Congruence float64 `json:"congruence"`
	Interval
	// Reference is the 5 % quantile of the congruence of random splits, and P the share of them that are as low.
	Reference float64 `json:"reference"`
	P         float64 `json:"p"`
	// Reading is EqualFactor, FairFactor or OtherFactor.
	Reading string `json:"reading"`
	Empty   bool   `json:"empty"`
}

// The readings of a congruence, by Lorenzo-Seva and ten Berge (2006): from .95 on, from .85 on, and below.
const (
	EqualFactor = "equal"
	FairFactor  = "fair"
	OtherFactor = "not the same"
)

func reading(congruence float64) string {
	const equal, fair = .95, .85
	switch {
	case congruence >= equal:
		return EqualFactor
	case congruence >= fair:
		return FairFactor
	}
	return OtherFactor
}

// Metric tells whether the loadings are the same in both groups.
type Metric struct {
	// RMS is the root of the mean squared difference of loadings, Largest the largest one without its sign. The p values are the
	// shares of random splits with as large a figure.
	RMS      float64   `json:"rms"`
	RMSP     float64   `json:"rms_p"`
	Largest  float64   `json:"largest"`
	LargestP float64   `json:"largest_p"`
	Loadings []Loading `json:"loadings"` // item by item
}

// Loading compares a loading of an item in the groups.
type Loading struct {
	Item   string `json:"item"`
	Factor string `json:"factor"`
	// First and Second are in units of the item's standard deviation, for factors that are as long in both groups.
	First      float64 `json:"first"`
	Second     float64 `json:"second"`
	Difference float64 `json:"difference"`
	Interval
	// P is the share of random splits in which this loading differs as much. AdjustedP is the share in which any does.
	P         float64 `json:"p"`
	AdjustedP float64 `json:"adjusted_p"`
}

// pair holds the loadings of two groups, p×k. Column t of both is the same factor.
type pair struct {
	loadings [2]*mat.Dense
	columns  [2][]int // where the factors stood
}

// congruences returns Tucker's congruence of each factor; 0 if it is empty in a group.
func (p *pair) congruences() []float64 {
	_, k := p.loadings[0].Dims()
	all := make([]float64, k)
	for t := range all {
		a, b := p.loadings[0].ColView(t), p.loadings[1].ColView(t)
		if length := mat.Norm(a, 2) * mat.Norm(b, 2); length > 0 {
			all[t] = mat.Dot(a, b) / length
		}
	}
	return all
}

// equated returns the loadings for factors that are as long in both groups: of length √(‖λ₁‖·‖λ₂‖). The variance of a factor may
// differ between groups with the same loadings, and only the lengths depend on it.
func (p *pair) equated() (first, second *mat.Dense) {
	rows, k := p.loadings[0].Dims()
	first, second = mat.NewDense(rows, k, nil), mat.NewDense(rows, k, nil)
	for t := range k {
		a, b := mat.Norm(p.loadings[0].ColView(t), 2), mat.Norm(p.loadings[1].ColView(t), 2)
		ratio := 1.0
		if a > 0 && b > 0 {
			ratio = math.Sqrt(b / a)
		}
		for j := range rows {
			first.Set(j, t, p.loadings[0].At(j, t)*ratio)
			second.Set(j, t, p.loadings[1].At(j, t)/ratio)
		}
	}
	return first, second
}

// differences returns the first less the second of equated, p×k.
func (p *pair) differences() *mat.Dense {
	first, second := p.equated()
	first.Sub(first, second)
	return first
}

// arrange puts factor t nearest to factor t of the reference, with its sign. It returns where the factors stood.
func arrange(loadings, reference *mat.Dense) (arranged *mat.Dense, from []int) {
	from, cosines := align.Unsigned(reference, loadings)
	arranged = linalg.SelectColumns(loadings, from)
	turn(arranged, cosines)
	return arranged, from
}

// turn changes the sign of the columns whose cosine is below 0.
func turn(loadings *mat.Dense, cosines []float64) {
	loadings.Apply(func(_, t int, v float64) float64 {
		if cosines[t] < 0 {
			return -v
		}
		return v
	}, loadings)
}

// match matches the factors of two groups one to one, with the largest sum of congruences, and orders them by the factors of both
// groups together.
func match(first, second, both *mat.Dense) *pair {
	second, at := arrange(second, first)
	middle := linalg.NewLike(first)
	_, k := first.Dims()
	for t := range k {
		for _, l := range []*mat.Dense{first, second} {
			if length := mat.Norm(l.ColView(t), 2); length > 0 {
				column := middle.ColView(t).(*mat.VecDense)
				column.AddScaledVec(column, 1/length, l.ColView(t))
			}
		}
	}
	order, cosines := align.Unsigned(both, middle)
	p := &pair{columns: [2][]int{order, make([]int, k)}}
	for t, c := range order {
		p.columns[1][t] = at[c]
	}
	for g, l := range []*mat.Dense{first, second} {
		p.loadings[g] = linalg.SelectColumns(l, order)
		turn(p.loadings[g], cosines)
	}
	return p
}

// learn returns what is learned from these rows, and its loadings on all items; an item that does not vary has none.
func (r *run) learn(ctx context.Context, rows []int, threads int) (*fit.Learnt, *mat.Dense, error) {
	o := r.o.Options
	o.Recorder, o.Threads = nil, threads
	l, err := o.Learn(ctx, r.study, rows, r.Candidate)
	if err != nil {
		return nil, nil, err
	}
	units, err := r.units(l)
	if err != nil {
		return nil, nil, err
	}
	all := mat.NewDense(len(r.study.Items), r.Factors, nil)
	for row, j := range l.Items {
		for t := range r.Factors {
			all.Set(j, t, l.Loadings.At(row, t)*units[row]/r.deviations[j])
		}
	}
	return l, all, nil
}

// units returns what makes the loadings on the items those of the answers: for factor analysis the standard deviation of the
// answers less what the confounds add. Polychoric loadings, which are of no answers, get that of both groups together.
func (r *run) units(l *fit.Learnt) ([]float64, error) {
	units := make([]float64, len(l.Items))
	fa, ok := l.Factors().(*model.FA)
	switch {
	case !ok:
		for row := range units {
			units[row] = 1
		}
	case r.o.Correlation == factoranalysis.Polychoric:
		for row, j := range l.Items {
			units[row] = r.deviations[j]
		}
	default:
		x, err := r.rest(l.Rows, l.Items, fa.ConfoundLoadings)
		if err != nil {
			return nil, err
		}
		_, units = moments(x)
	}
	return units, nil
}

// rest returns the answers of these rows less what the confounds add, by their effects if not nil.
func (r *run) rest(rows, items []int, effects *mat.Dense) (*mat.Dense, error) {
	x := r.study.AnswersOf(rows, items)
	if r.study.Known == nil {
		return x, nil
	}
	known := linalg.SelectRows(r.study.Known, rows)
	if effects == nil {
		var err error
		if effects, err = model.ConfoundEffects(x, known); err != nil {
			return nil, err
		}
	}
	added := &mat.Dense{}
	added.Mul(known, effects.T())
	x.Sub(x, added)
	return x, nil
}

// compare learns the factors and fills in the result.
func (r *run) compare(ctx context.Context) error {
	both, reference, err := r.learn(ctx, r.both, r.o.Threads)
	if err != nil {
		return fmt.Errorf("learning from both groups: %w", err)
	}
	count := func(l *fit.Learnt) {
		if r.Fits++; l.Status.Early() {
			r.Unconverged++
		}
	}
	count(both)
	var loadings [2]*mat.Dense
	for g := range loadings {
		l, q, err := r.learn(ctx, r.groups[g], r.o.Threads)
		if err != nil {
			return fmt.Errorf("learning from group %q: %w", r.Groups[g].Value, err)
		}
		count(l)
		loadings[g] = q
	}
	seen := match(loadings[0], loadings[1], reference)
	samples, splits, err := r.resample(ctx, seen, reference)
	if err != nil {
		return err
	}
	r.configural(seen, samples, splits)
	r.metric(seen, samples, splits)
	return r.dif(ctx, both)
}

// resample returns the loadings of bootstrap samples, with the factors of each group as they are seen, and those of random splits.
// Samples that cannot be learned from are left out.
func (r *run) resample(ctx context.Context, seen *pair, reference *mat.Dense) (samples, splits []*pair, err error) {
	total := r.Bootstrap + r.Permutations
	all, errs := make([]*pair, total), make([]error, total)
	var mu sync.Mutex
	done := 0
	work := func(b int) (*pair, error) {
		var rows [2][]int
		if b < r.Bootstrap {
			rows = r.bootstrap(rand.New(rand.NewPCG(r.o.Seed, bootstrapStream+uint64(b))))
		} else {
			rows = r.split(rand.New(rand.NewPCG(r.o.Seed, permutationStream+uint64(b-r.Bootstrap))))
		}
		var loadings [2]*mat.Dense
		early := 0
		for g := range loadings {
			l, q, err := r.learn(ctx, rows[g], 1)
			if err != nil {
				return nil, err
			}
			if loadings[g] = q; l.Status.Early() {
				early++
			}
		}
		mu.Lock()
		r.Fits, r.Unconverged = r.Fits+2, r.Unconverged+early
		mu.Unlock()
		if b >= r.Bootstrap {
			return match(loadings[0], loadings[1], reference), nil
		}
		for g := range loadings {
			loadings[g], _ = arrange(loadings[g], seen.loadings[g])
		}
		return &pair{loadings: loadings}, nil
	}
	linalg.Threads(r.o.Threads).Parallel(total, math.MaxInt, func(from, to int) {
		for b := from; b < to && ctx.Err() == nil; b++ {
			all[b], errs[b] = work(b)
			mu.Lock()
			if done++; r.o.Progress != nil {
				r.o.Progress(done, total)
			}
			mu.Unlock()
		}
	})
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	learned := func(from, to int, what string) ([]*pair, error) {
		kept := slices.DeleteFunc(slices.Clone(all[from:to]), func(p *pair) bool { return p == nil })
		r.Failed += to - from - len(kept)
		if len(kept) < LeastReplicates {
			for _, err := range errs[from:to] {
				if err != nil {
					return nil, fmt.Errorf("learning from %s: %w", what, err)
				}
			}
		}
		return kept, nil
	}
	if samples, err = learned(0, r.Bootstrap, "bootstrap samples"); err != nil {
		return nil, nil, err
	}
	splits, err = learned(r.Bootstrap, total, "random splits")
	return samples, splits, err
}

// bootstrap draws as many participants of each group as there are, with replacement.
func (r *run) bootstrap(random *rand.Rand) (rows [2][]int) {
	for g, all := range r.groups {
		at := make([]int, len(all))
		for i := range at {
			at[i] = random.IntN(len(all))
		}
		slices.Sort(at)
		for _, i := range at {
			rows[g] = append(rows[g], all[i])
		}
	}
	return rows
}

// split deals all participants into two groups of the same sizes.
func (r *run) split(random *rand.Rand) (rows [2][]int) {
	first := make([]bool, len(r.both))
	for _, at := range random.Perm(len(r.both))[:len(r.groups[0])] {
		first[at] = true
	}
	for at, i := range r.both {
		if first[at] {
			rows[0] = append(rows[0], i)
		} else {
			rows[1] = append(rows[1], i)
		}
	}
	return rows
}
