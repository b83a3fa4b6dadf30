package train

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/models/rounds"
	"github.com/wardcast/wardcast/solver/matrix"
	"github.com/wardcast/wardcast/textproc"
)

// rows holds the data in the form that the stages take.
type rows struct {
	all      []Row
	y        []bool
	classes  []int // of each row: an index into names, or 1 for admission
	names    []string
	latest   time.Time // of Data
	pooled   bool      // the rows are those of all complaints
	aux      []Aux
	beds     []bool   // which of names count as admitted
	patients []string // of the rows, as far as they are known
	docs     []textproc.Document
	columns  []bundle.AuxColumn
	values   [][]msg.Value // by auxiliary column, then row
	width    int           // number of auxiliary features
	rounds   *rounds.Coordinator
}

// bareRows has no auxiliary values.
func bareRows(d Data) *rows {
	all := d.Rows
	r := &rows{
		all: all, y: labels(all), names: d.Classes, latest: d.Latest, pooled: d.Pooled, beds: d.Admission, classes: d.labels(),
		patients: patients(all), aux: d.Aux,
	}
	if d.Pooled {
		r.rounds = d.Rounds
	}
	for i := range all {
		r.docs = append(r.docs, textproc.Document{Patient: r.patients[i], Text: all[i].Text})
	}
	return r
}

// newRows has the auxiliary values, in columns that it learns from them.
func newRows(d Data) *rows {
	r := bareRows(d)
	all := r.all
	add := func(name string, kind bundle.AuxKind, leastLevels int, value func(Row) msg.Value) {
		values := lists.Map(all, value)
		column := classifier.NewAuxColumn(classifier.AuxValues{
			Name: name, Kind: kind, Values: values, Patients: r.patients, MinPatients: intake.LeastNamed,
		})
		if len(column.Levels) < leastLevels {
			return
		}
		r.columns, r.values, r.width = append(r.columns, column), append(r.values, values), r.width+len(column.Mean)
	}
	for a, aux := range d.Aux {
		add(aux.Name, aux.Kind, 0, func(r Row) msg.Value { return r.Aux[a] })
	}
	if d.Pooled {
		add(bundle.ComplaintColumn, bundle.Categorical, 2,
			func(r Row) msg.Value { return classifier.Complaint(r.Complaint) })
	}
	return r
}

func (r *rows) texts() []string {
	return lists.Map(r.docs, func(d textproc.Document) string { return d.Text })
}

// labels returns the class of each row; for yes and no, admission is 1.
func (d *Data) labels() []int {
	return lists.Map(d.Rows, func(r Row) int {
		switch {
		case d.Classes != nil:
			return r.Class
		case r.Positive:
			return 1
		}
		return 0
	})
}

func (r *rows) kappa() int { return max(len(r.names)-1, 1) }

// patients returns who each row is about: the patient, else the visit, else somebody of its own.
func patients(all []Row) []string {
	out := make([]string, len(all))
	for i, r := range all {
		switch {
		case r.Patient != "":
			out[i] = "patient " + r.Patient
		case r.Visit != "":
			out[i] = "visit " + r.Visit
		default:
			out[i] = fmt.Sprintf("row %d", i)
		}
	}
	return out
}

// featuresTo stores the auxiliary features of row i as the scorer has them, centred.
func (r *rows) featuresTo(dst []float64, i int) {
	for c := range r.columns {
		width := len(r.columns[c].Mean)
		classifier.FeaturesTo(dst[:width], &r.columns[c], r.values[c][i])
		dst = dst[width:]
	}
}

// Divisors of the features of a number before they are penalized like terms: the straight line is divided by lineScale
// root mean squares, and the curve that bends it by curveScale. A number of unit variance would be penalized far less
// than a word, which few notes have.
const (
	lineScale  = 4
	curveScale = 3
)

// auxScales returns the divisor of each feature. It is 1 for indicators, which are penalized like terms: unit variance
// would penalize a rare level less than a common one.
func (r *rows) auxScales() []float64 {
	scales := make([]float64, 0, r.width)
	for i := range r.columns {
		c, of := &r.columns[i], slices.Repeat([]float64{1}, len(r.columns[i].Mean))
		if scales = append(scales, of...); c.Kind != bundle.Numeric {
			continue
		}
		var squares float64
		for _, v := range r.values[i] {
			classifier.FeaturesTo(of, c, v)
			squares += of[0] * of[0]
		}
		first := scales[len(scales)-len(of):]
		if squares > 0 {
			first[0] = lineScale * math.Sqrt(squares/float64(len(r.all)))
		}
		for k := range c.Knots {
			first[1+k] = curveScale
		}
	}
	return scales
}

// auxFeatures returns the auxiliary features as they are penalized and the divisor of each. Numeric features are
// centred. Indicators are not, so that they stay sparse; the intercept makes up for it.
func (r *rows) auxFeatures(unitVariance bool) (*matrix.CSR, []float64, error) {
	scale := slices.Repeat([]float64{1}, r.width)
	if unitVariance {
		scale = r.auxScales()
	}
	indptr, indices, values := []int{0}, []int32{}, []float64{}
	features := make([]float64, r.width)
	entry := func(f int, v float64) { indices, values = append(indices, int32(f)), append(values, v) }
	for i := range r.all {
		r.eachAux(features, scale, i, entry)
		indptr = append(indptr, len(indices))
	}
	x, err := matrix.NewCSR(len(r.all), r.width, indptr, indices, values)
	return x, scale, err
}

const latestShare = 0.2 // the share of the notes that a first model is judged on

// HoldLatest sets Latest to the arrival of the first of the latest fifth of the notes, unless an arrival is unknown, or
// one of the two parts has too few notes of an outcome to be judged or learned from.
func (d *Data) HoldLatest() {
	times := lists.Make(len(d.Rows), func(i int) time.Time { return d.Rows[i].Arrived })
	cut, err := eval.TemporalCut(times, 1-latestShare)
	if err != nil || slices.ContainsFunc(times, time.Time.IsZero) {
		return
	}
	before, _ := parts(d.Rows, patients(d.Rows), cut)
	early := Group{Data: d.subset(before)}
	if early.enough(1, minClass) && rarer(lists.Take(d.Rows, from(d.Rows, cut))) >= enoughLater {
		d.Latest = cut
	}
}

// from returns the positions of the rows that arrived at a time or later.
func from(all []Row, cut time.Time) []int {
	return lists.Where(len(all), func(i int) bool { return !all[i].Arrived.Before(cut) })
}

// parts returns the positions of the rows of patients who came before a time only, and of all others.
func parts(all []Row, who []string, cut time.Time) (before, after []int) {
	came := map[string]bool{}
	for _, i := range from(all, cut) {
		came[who[i]] = true
	}
	for i := range all {
		if came[who[i]] {
			after = append(after, i)
		} else {
			before = append(before, i)
		}
	}
	return before, after
}

// folds deals the rows into the parts of a cross-validation. The last one is that of Data.Latest, if there are notes
// enough to learn from without it.
func (r *rows) folds(s *Settings) ([]int, error) {
	k, before, after := s.Folds-1, []int(nil), []int(nil)
	if !r.latest.IsZero() {
		before, after = parts(r.all, r.patients, r.latest)
	}
	enough := func(at []int) bool { return fewest(lists.Take(r.classes, at), r.kappa()+1) >= minClass }
	if len(after) > 0 && enough(before) && (k > 1 || enough(after)) {
		early, err := make([]int, len(before)), error(nil)
		if k > 1 {
			early, err = eval.StratifiedFolds(lists.Take(r.classes, before), lists.Take(r.patients, before), k, s.Seed)
		}
		if err == nil {
			of := slices.Repeat([]int{k}, len(r.all))
			for n, i := range before {
				of[i] = early[n]
			}
			return of, nil
		}
	}
	of, err := eval.StratifiedFolds(r.classes, r.patients, s.Folds, s.Seed)
	if err != nil {
		return nil, fmt.Errorf("choosing folds: %w", err)
	}
	return of, nil
}
