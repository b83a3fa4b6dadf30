package train

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/elasticnet"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver/linalg"
)

// correct fits the model of one complaint as a correction of the model of all: with ℓ its log-odds, calibrated if its
// map is Platt's,
//
//	η = ℓ + γ₀ + xδ
//
// where x are the features of the model of all complaints, its topics among them, and δ is penalized like a head. If
// the complaint has no signal of its own, δ is 0, so a complaint with few notes has little to lose. The sum is one
// linear function of x again. δ is that of all features or of the recorded fields alone, such as age, whichever
// cross-validation prefers: fields differ in a handful of coefficients, which one penalty with thousands of words would
// hide. logOdds are ℓ of the notes out of fold: a model that had seen them would leave nothing to
// correct. ℓ has no coefficient: out of fold it is higher the fewer others were admitted, and a negative coefficient
// would find that in noise.
//
// Coefficients of a group on top of those that all groups share are the data-shared lasso of Gross & Tibshirani (2016,
// Comput. Stat. Data Anal. 101); to fit them in a second step, from the log-odds of the first, is the pretraining of
// Craig et al. (2024, arXiv:2401.12911).
func correct(ctx context.Context, d Data, s Settings, pooled *classifier.Model, logOdds []float64) (*Fitted, error) {
	r := bareRows(d)
	r.encode(d.Aux, pooled.Aux())
	foldOf, err := r.folds(&s)
	if err != nil {
		return nil, err
	}
	shared := pooled.Parts()
	head := shared.Heads[0]
	f := &Fitted{}
	f.Vectorizer, f.Topics, f.Aux = shared.Vectorizer, shared.Topics, shared.Aux
	texts := r.texts()
	x := f.Vectorizer.Transform(texts)
	f.plain = s.plain
	c := columns{
		topics: len(head.Beta), words: len(head.Words), pieces: len(head.Grams), aux: r.width, plain: s.plain,
	}
	if !s.plain {
		c.denied, c.style = f.Vectorizer.Denied()[:c.words], f.Vectorizer.Style()[:c.words]
	}
	var parts []mat.Matrix
	if f.Topics != nil {
		scores := new(mat.Dense)
		scores.Mul(x, f.Topics)
		f.Prevalence = classifier.Prevalence(scores, f.Topics)
		parts = append(parts, scores)
	}
	if head.Words != nil {
		parts = append(parts, x)
	}
	if head.Grams != nil {
		parts = append(parts, f.Vectorizer.TransformPieces(texts))
	}
	aux, scale, err := r.auxFeatures(!s.Standardize)
	if err != nil {
		return nil, fmt.Errorf("laying out auxiliary features: %w", err)
	}
	var paths []*elasticnet.CV // of all features, and of fields alone
	var at []int
	var held [][]float64
	for _, design := range []struct {
		parts   []mat.Matrix
		columns columns
	}{{append(parts, aux), c}, {[]mat.Matrix{aux}, columns{aux: r.width}}} {
		cv, index, err := s.fitPath(ctx, r, design.parts, design.columns, logOdds, foldOf)
		if err != nil {
			return nil, err
		}
		paths, at, held = append(paths, cv), append(at, index), append(held, s.heldOut(cv))
	}
	var best int
	best, f.logOdds = least(held, r.y, foldOf)
	cv, index := paths[best], at[best]
	f.Lambda, f.Features = cv.Lambda[index], cv.DF(index)
	f.correction = &f.Features
	beta := cv.Dense(index)
	beta = append(make([]float64, c.all()-len(beta)), beta...) // fields are last
	gamma := beta[len(beta)-r.width:]
	floats.Div(gamma, scale)
	slope, offset := 1.0, 0.0
	if all := shared.Calibration; all.Kind == bundle.Platt {
		slope, offset = all.Slope, all.Intercept
	}
	// sum returns coefficients of ℓ plus the next of δ.
	sum := func(shared []float64) []float64 {
		if shared == nil {
			return nil
		}
		out := beta[:len(shared):len(shared)]
		beta = beta[len(shared):]
		floats.AddScaled(out, slope, shared)
		return out
	}
	intercept := r.centred(cv.Intercept[index]+slope*head.Intercept+offset, gamma)
	h := classifier.Head{
		Intercept: intercept, Beta: sum(head.Beta), Words: sum(head.Words), Grams: sum(head.Grams),
		Gamma: sum(head.Gamma),
	}
	f.Aux = dropComplaint(f.Aux, &h, d.Rows[0].Complaint)
	f.Heads = []classifier.Head{h}
	return f, f.calibrate(r, mat.NewDense(len(r.y), 1, f.logOdds), foldOf, &s)
}

// least returns which candidate has the smallest log loss on all rows, and for each row the log-odds of the one that
// has it on the other folds, so that the row had no part in the choice.
func least(held [][]float64, y []bool, foldOf []int) (best int, logOdds []float64) {
	all := make([]float64, len(held))
	others := lists.Make(slices.Max(foldOf)+1, func(int) []float64 { return make([]float64, len(held)) })
	for c, x := range held {
		for i, loss := range eval.Losses(y, lists.Map(x, linalg.Sigmoid)) {
			all[c] += loss
			for fold := range others {
				if fold != foldOf[i] {
					others[fold][c] += loss
				}
			}
		}
	}
	return floats.MinIdx(all), lists.Make(len(y), func(i int) float64 { return held[floats.MinIdx(others[foldOf[i]])][i] })
}

// needed returns the map of a correction, whose log-odds are calibrated already: own, which is fitted to the same
// notes, only if it raises their log-likelihood by more than its two coefficients, Akaike's criterion, else none. On a
// few hundred notes two coefficients cost more than most corrections gain; but where a complaint differs much, the
// penalty leaves δ too small, and a slope makes up for it.
func needed(own bundle.Calibration, logOdds *mat.Dense, labels []int) bundle.Calibration {
	none := bundle.Calibration{Kind: bundle.Platt, Slope: 1}
	positive := lists.Map(labels, func(label int) bool { return label == 1 })
	loss := func(c *bundle.Calibration) float64 {
		p := lists.Map(mat.Col(nil, 0, logOdds), func(x float64) float64 { return classifier.Calibrate(c, x) })
		return floats.Sum(eval.Losses(positive, p))
	}
	if own.Kind != bundle.Platt || loss(&none)-loss(&own) > 2 {
		return own
	}
	return none
}

// dropComplaint adds what the complaint is worth to the intercept, so that its model need not read it.
func dropComplaint(columns []bundle.AuxColumn, h *classifier.Head, complaint string) []bundle.AuxColumn {
	first := 0
	for c, column := range columns {
		width := len(column.Mean)
		if column.Name != bundle.ComplaintColumn {
			first += width
			continue
		}
		features := make([]float64, width)
		classifier.FeaturesTo(features, &columns[c], classifier.Complaint(complaint))
		h.Intercept += floats.Dot(features, h.Gamma[first:first+width])
		h.Gamma = slices.Delete(h.Gamma, first, first+width)
		return slices.Delete(slices.Clone(columns), c, c+1)
	}
	return columns
}

// encode lays auxiliary values out in the columns of another model.
func (r *rows) encode(aux []Aux, columns []bundle.AuxColumn) {
	r.columns = columns
	for _, column := range columns {
		at := place(aux, column.Name)
		values := lists.Make(len(r.all), func(i int) msg.Value { return r.all[i].value(at) })
		r.values, r.width = append(r.values, values), r.width+len(column.Mean)
	}
}

// centred returns the intercept of a scorer, which centres indicators: the fit does not.
func (r *rows) centred(intercept float64, gamma []float64) float64 {
	for _, column := range r.columns {
		for f, mean := range column.Mean {
			if column.Kind == bundle.Categorical {
				intercept += gamma[f] * mean
			}
		}
		gamma = gamma[len(column.Mean):]
	}
	return intercept
}
