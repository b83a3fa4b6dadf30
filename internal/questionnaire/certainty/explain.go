package certainty

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver/linalg"
)

const (
	// mostFolds is the largest number of groups of participants, and of items, that a cross-validation holds out.
	mostFolds = 10

	foldStream = 0x666f_6c64
)

// Explain divides the variance about the items' means that a fit explains,
//
//	E = 1 − Σ (m − r)² / Σ (m − m̄)²,  r − m̄ = Σ_t z_t,
//
// among the players t: each factor with z = (w − w̄)·q, the confounds with z = (c − c̄)·Qcᵀ, and the items' means with
// the rest. The sums are over the observed answers, each with the weight of its item, and bars are means over
// participants. With the players in S active and the others at 0, the share is E(S) = (2Σ_S ⟨m − m̄, z_t⟩ − Σ_S Σ_S
// ⟨z_s, z_t⟩)/Σ (m − m̄)². So
//
//	alone  E({t})            = (2⟨m − m̄, z_t⟩ − ⟨z_t, z_t⟩) / Σ (m − m̄)²,
//	lost   E(all) − E(all∖t) = alone − 2 Σ_{s≠t} ⟨z_s, z_t⟩ / Σ (m − m̄)²,
//	share  (alone + lost)/2,
//
// where share is the mean contribution of t over all orders of the players (L. S. Shapley, 1953); shares add up to E.
// Alone and lost do not: they differ if factors correlate. Each of the three may be negative for a player that makes
// the prediction worse. The cost is n·p·k².
func Explain(of *fit.Outcome) (*model.ExplainedBy, error) {
	p, err := newPrediction(of.Study, of.Learnt, of.Scores)
	if err != nil {
		return nil, fmt.Errorf("dividing the explained variance: %w", err)
	}
	_, k := of.Scores.Dims()
	d := newDivision(k)
	if err := d.add(p, of.Rows, of.Scores, linalg.Indices(len(of.Items)), linalg.Indices(k)); err != nil {
		return nil, fmt.Errorf("dividing the explained variance: %w", err)
	}
	return d.shares(p.confounds != nil), nil
}

// CrossValidate is Explain for participants and answers that nothing was learned from. Participants are dealt to 10
// folds. The method learns from all but one fold, and the scores of those in it come from nine tenths of their answers
// to the items; the predictions of the other tenth are compared with the answers, for each tenth in turn. Means are
// those of the participants learned from, and the factors of each fold are matched with those of the fit, like in
// Bootstrap. Progress may be nil.
//
// A fold without which the method cannot learn is not predicted: failed counts these. If all fail it returns the first
// error of (*fit.Options).Learn. It returns the cause of ctx if that ends first. The cost is that of ten fits.
func CrossValidate(ctx context.Context, o *fit.Options, of *fit.Outcome,
	progress func(done, total int),
) (by *model.ExplainedBy, failed int, err error) {
	order := slices.Clone(of.Study.Order)
	random := rand.New(rand.NewPCG(o.Seed, foldStream))
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	items := random.Perm(len(of.Study.Items))
	groups := min(mostFolds, len(order))
	divisions := make([]*division, groups)
	errs, err := o.Each(ctx, groups, progress, func(ctx context.Context, alone *fit.Options, fold int) error {
		train, held := folds.Split(lists.Make(len(order), func(at int) int { return at % groups }), fold)
		l, err := alone.Learn(ctx, of.Study, lists.Take(order, train), of.Candidate)
		if err == nil {
			divisions[fold], err = heldOut(of, l, lists.Take(order, held), items)
		}
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	total := newDivision(of.Candidate.Factors)
	for fold, d := range divisions {
		if errs[fold] == nil {
			total.merge(d)
		} else {
			failed++
		}
	}
	if failed == groups {
		return nil, failed, fmt.Errorf("fold 1 of the cross-validation: %w", errs[0])
	}
	return total.shares(partsOf(of.Learnt).confounds != nil), failed, nil
}

// heldOut divides what a fit explains of participants that it has not learned from. The items are dealt in this order.
func heldOut(of *fit.Outcome, l *fit.Learnt, held, items []int) (*division, error) {
	scores, err := l.Score(l.Rows)
	if err != nil {
		return nil, err
	}
	p, err := newPrediction(of.Study, l, scores)
	if err != nil {
		return nil, err
	}
	places, _ := partsOf(of.Learnt).places(p.parts)
	d := newDivision(len(places))
	groups := min(mostFolds, len(l.Items))
	for g := range groups {
		hidden := lists.Where(len(l.Items), func(at int) bool { return slices.Index(items, l.Items[at])%groups == g })
		x := of.Study.AnswersOf(held, l.Items)
		n, _ := x.Dims()
		for i := range n {
			for _, j := range hidden {
				x.Set(i, j, math.NaN())
			}
		}
		scores, err := l.Factors().Score(x, p.Known(held))
		if err != nil {
			return nil, err
		}
		for i := range n {
			if !slices.ContainsFunc(x.RawRowView(i), func(v float64) bool { return v == v }) {
				copy(scores.RawRowView(i), p.scores) // the mean, for a participant without other answers
			}
		}
		if err := d.add(p, held, scores, hidden, places); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// prediction predicts answers from scores and confounds: base + Σ_t w_t·q_t + the effect of the confounds.
type prediction struct {
	parts
	study *fit.Study
	// base is the prediction for each item if all scores are 0, and loadings, k×p, what a score of 1 adds to it.
	base     []float64
	loadings *mat.Dense
	// Means over the training participants: of the answers to each item, of the scores, and of the confounds' effects.
	answers, scores, added []float64
	regression             *mat.Dense // coefficients of the answers on the confounds alone, p×c; nil without confounds
}

// newPrediction returns the prediction of a fit with these scores, a row for each of its Rows.
func newPrediction(s *fit.Study, l *fit.Learnt, scores *mat.Dense) (*prediction, error) {
	_, k := scores.Dims()
	given := s.AnswersOf(l.Rows, l.Items)
	p := &prediction{
		study: s, parts: partsOf(l), answers: linalg.ColumnMeans(given), scores: linalg.ColumnMeans(scores),
	}
	units, none := mat.NewDense(k+1, k, nil), (*mat.Dense)(nil) // the first row stays 0
	units.Slice(1, k+1, 0, k).(*mat.Dense).Copy(linalg.Identity(k))
	if p.confounds != nil {
		_, c := p.confounds.Dims()
		none = mat.NewDense(k+1, c, nil)
	}
	made, err := p.Factors().Reconstruct(units, none)
	if err != nil {
		return nil, err
	}
	p.base, p.loadings = mat.Row(nil, 0, made), mat.NewDense(k, len(l.Items), nil)
	p.loadings.Apply(func(t, j int, _ float64) float64 { return made.At(t+1, j) - p.base[j] }, p.loadings)
	added, err := p.addedTo(l.Rows)
	if err != nil {
		return nil, err
	}
	p.added = linalg.ColumnMeans(added)
	_, p.regression, err = fit.WithoutConfounds(given, p.Known(l.Rows))
	return p, err
}

func (p *prediction) addedTo(rows []int) (*mat.Dense, error) {
	k, _ := p.loadings.Dims()
	added, err := p.Factors().Reconstruct(mat.NewDense(len(rows), k, nil), p.Known(rows))
	if err == nil {
		added.Apply(func(_, j int, v float64) float64 { return v - p.base[j] }, added)
	}
	return added, err
}

// division holds the sums for each player: the k factors, then the confounds, then the items' means.
type division struct {
	variance float64 // Σ (m − m̄)²
	left     float64 // residual squares of the regression on the confounds alone
	with     *mat.VecDense
	between  *mat.SymDense
}

func newDivision(k int) *division {
	return &division{with: mat.NewVecDense(k+2, nil), between: mat.NewSymDense(k+2, nil)}
}

func (d *division) merge(other *division) {
	d.variance, d.left = d.variance+other.variance, d.left+other.left
	d.with.AddVec(d.with, other.with)
	d.between.AddSym(d.between, other.between)
}

// add adds the observed answers of these participants to these items. The factor places[t] is the player t.
func (d *division) add(p *prediction, rows []int, scores *mat.Dense, items, places []int) error {
	added, err := p.addedTo(rows)
	if err != nil {
		return err
	}
	k := len(places)
	z := mat.NewVecDense(k+2, nil)
	for i, row := range rows {
		for _, j := range items {
			v := p.study.Answers.At(row, p.Items[j])
			if v != v {
				continue
			}
			above := p.base[j] + p.added[j] - p.answers[j]
			for t, c := range places {
				q := p.loadings.At(c, j)
				above += p.scores[c] * q
				if w := scores.At(i, c); w == w {
					z.SetVec(t, (w-p.scores[c])*q)
				} else { // a participant without answers
					z.SetVec(t, 0)
				}
			}
			z.SetVec(k, added.At(i, j)-p.added[j])
			z.SetVec(k+1, above)
			weight := 1.
			if p.weights != nil {
				weight = p.weights[j]
			}
			y := v - p.answers[j]
			d.variance += weight * y * y
			d.with.AddScaledVec(d.with, weight*y, z)
			d.between.SymRankOne(d.between, weight, z)
			if p.regression != nil {
				y = v - mat.Dot(p.study.Known.RowView(row), p.regression.RowView(j))
			}
			d.left += weight * y * y
		}
	}
	return nil
}

func (d *division) shares(confounds bool) *model.ExplainedBy {
	players := d.with.Len()
	share := func(t int) model.Share {
		own := d.between.At(t, t)
		alone := 2*d.with.AtVec(t) - own
		lost := alone + 2*own
		for s := range players {
			lost -= 2 * d.between.At(s, t)
		}
		return model.Share{Share: ratio((alone+lost)/2, d.variance), Alone: ratio(alone, d.variance), Lost: ratio(lost,
			d.variance)}
	}
	e := &model.ExplainedBy{
		Factors: lists.Make(players-2, share), Means: share(players - 1).Share,
		ConfoundsAlone: ratio(d.variance-d.left, d.variance),
	}
	if confounds {
		of := share(players - 2)
		e.Confounds = &of
	}
	e.Explained = ratio(2*mat.Sum(d.with)-mat.Sum(d.between), d.variance)
	e.AddedByFactors = e.Explained - e.ConfoundsAlone
	return e
}

// ratio returns a/b, 0 if that is not finite.
func ratio(a, b float64) float64 {
	if r := a / b; r-r == 0 {
		return r
	}
	return 0
}
