package train

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/models/report"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Outcome is the result of the training for one complaint.
type Outcome struct {
	Model     string   `json:"model"`
	Complaint string   `json:"complaint"` // "" for the model of all complaints
	Documents int      `json:"documents"`
	Positives int      `json:"positives"`
	Kept      bool     `json:"kept"` // a model of its own is written
	Why       string   `json:"why"`
	LogLoss   *float64 `json:"log_loss"`        // of its own model, out of fold; null if none was trained
	Pooled    float64  `json:"pooled_log_loss"` // of the model of all complaints on the same notes, out of fold
	// Difference is LogLoss less Pooled, paired by note with each patient counted once; nil if LogLoss is nil.
	Difference *eval.Estimate `json:"log_loss_difference,omitempty"`
	Metrics    *eval.Metrics  `json:"metrics"` // of admission, out of fold, of the model that will score the complaint
	// Classes are the same metrics of all outcomes, which LogLoss and Pooled then cover; nil for yes and no.
	Classes         *eval.ClassMetrics `json:"classes,omitempty"`
	Alignment       *Alignment         `json:"alignment,omitempty"`
	SmallestPenalty bool               `json:"smallest_penalty,omitempty"` // tried; a smaller might be better
	// StyleShare is the share of words that are no finding in explanations, as in the report; nil if there are none.
	StyleShare *float64 `json:"style_share,omitempty"`
	Version    string   `json:"version,omitempty"`
	Stays      bool     `json:"stays,omitempty"` // not judged: a served model is kept
	Seconds    float64  `json:"seconds"`
}

// Trained is a set of models that score every complaint.
type Trained struct {
	Bundles  []*bundle.Bundle // the model of all complaints first, then by name
	Outcomes []Outcome        // in the same order, every complaint of the table that is named
	// RareComplaints counts complaints of too few patients to be named; the pooled model or a served one scores them.
	RareComplaints int
	// OutOfFold are the probabilities of admission of the rows, each by the model that will score it, out of fold.
	OutOfFold []float64
	// Beds is the version of the fit of beds that was learned with them; "" keeps that of the champion.
	Beds string
}

// Job holds the arguments of a training next to data and settings.
type Job struct {
	Created  time.Time    // that the manifests bear
	Version  string       // of the program
	Progress Progress     // may be nil
	Site     *report.Site // what the site says of its models, for their cards; may be nil
	About    report.Data  // where the notes are from, what was left out and what was counted, for the cards
	// Previous returns Data.Previous for the model of this name, or nil; it may be called concurrently.
	Previous func(ctx context.Context, model string) (*bundle.Bundle, error)
}

// Progress is called with the work that is done, in models or parts of them. It may be called from several goroutines.
type Progress func(done, total int)

// minClass is the least number of notes of the rarest class that a model needs, since each fold must hold some.
const minClass = 10

// Train trains the model of all complaints and, by the policy, one for each. It sets Data.Pooled and Data.Previous.
func Train(ctx context.Context, d Data, s Settings, job Job) (*Trained, error) {
	t := newTraining(d, s, job)
	p, err := t.trainPooled(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.trainOwn(ctx, p); err != nil {
		return nil, err
	}
	return t.out, nil
}

// pooledModel is what is needed of the model of all complaints to train and judge the models of single ones.
type pooledModel struct {
	model       *bundle.Bundle
	logOdds     []float64 // of the rows, out of fold, for yes and no; calibrated if the map is Platt's
	predictions           // out of fold
}

// training is one run of Train.
type training struct {
	data     Data
	settings Settings
	job      Job
	groups   []Group
	own      []attempt // for each group
	out      *Trained
	done     atomic.Int64 // steps
	steps    int          // of one model
	total    int          // steps
}

// newTraining returns a training of the models of single complaints.
func newTraining(d Data, s Settings, job Job) *training {
	d.Pooled = true
	t := &training{data: d, settings: s, job: job, steps: 1, out: &Trained{}}
	if s.Method.Supervised() {
		t.steps = supervisedSteps
	}
	t.groups = slices.DeleteFunc(byComplaint(d), func(g Group) bool {
		rare := folds.Distinct(patients(g.Rows)) < intake.LeastNamed
		if rare {
			t.out.RareComplaints++
		}
		return rare
	})
	t.own = make([]attempt, len(t.groups))
	for i, g := range t.groups {
		switch {
		case !g.enough(s.MinDocuments, s.MinEvents):
			t.own[i].why = fmt.Sprintf("fewer than %d notes, or fewer than %d of one outcome",
				s.MinDocuments, s.MinEvents)
		case s.PerComplaint == Never:
			t.own[i].why = "the policy is never"
		default:
			t.total += t.steps
		}
	}
	return t
}

// trainPooled makes the model of all complaints.
func (t *training) trainPooled(ctx context.Context) (*pooledModel, error) {
	t.total += t.steps
	t.advance(0)
	a := t.try(ctx, t.data, bundle.Other, func(d Data) (*Fitted, error) { return Fit(ctx, d, t.settings) })
	if a.err != nil {
		return nil, fmt.Errorf("training the model of all complaints: %w", a.err)
	}
	t.out.OutOfFold = slices.Clone(a.fitted.OutOfFold)
	o, err := t.judgePooled(&a)
	if err != nil {
		return nil, err
	}
	if t.job.About.Nurse, err = a.fitted.besideNurse(ctx, t.data, t.settings); err != nil {
		return nil, err
	}
	if err := t.add(o, &t.data, a.fitted); err != nil {
		return nil, err
	}
	held, logOdds := a.fitted.heldOut(), a.fitted.logOdds
	if logOdds != nil && t.settings.Calibration == bundle.Platt {
		logOdds = eval.LogOdds(held.admission)
	}
	return &pooledModel{t.out.Bundles[0], logOdds, held}, nil
}

func (t *training) trainOwn(ctx context.Context, p *pooledModel) error {
	if err := t.tryOwn(ctx, p); err != nil {
		return err
	}
	for i, g := range t.groups {
		o, err := t.judge(&g, p.subset(g.At), &t.own[i])
		if err != nil {
			return err
		}
		if err := t.add(o, &g.Data, t.own[i].fitted); err != nil {
			return err
		}
		if o.Kept && t.out.OutOfFold != nil {
			for k, at := range g.At {
				t.out.OutOfFold[at] = t.own[i].fitted.OutOfFold[k]
			}
		}
	}
	return nil
}

// supervisedSteps is the number of steps in which the training of a supervised model is reported, since it takes long.
const supervisedSteps = 100

func (t *training) advance(more int) {
	done := t.done.Add(int64(more))
	if t.job.Progress != nil {
		t.job.Progress(int(done), t.total)
	}
}

// attempt is a model that was trained, or why there is none.
type attempt struct {
	fitted  *Fitted
	err     error
	why     string
	seconds float64
}

func (t *training) try(ctx context.Context, d Data, model string, fit func(Data) (*Fitted, error)) (a attempt) {
	began := time.Now()
	var reported atomic.Int64
	d.progress = func(done, total int) {
		// All but one of the steps are the cross-validation's.
		now := int64(done * (t.steps - 1) / total)
		if before := reported.Load(); now > before && reported.CompareAndSwap(before, now) {
			t.advance(int(now - before))
		}
	}
	defer func() {
		a.seconds = time.Since(began).Seconds()
		t.advance(t.steps - int(reported.Load()))
	}()
	if t.job.Previous != nil {
		d.Previous, a.err = t.job.Previous(ctx, model)
	}
	if a.err == nil {
		a.fitted, a.err = fit(d)
	}
	switch {
	case a.err != nil:
		a.why = "could not be trained: " + a.err.Error()
	case d.Previous != nil:
		a.fitted.Parent = d.Previous.Version
	}
	return a
}

// tryOwn trains the models of the groups that nothing speaks against. It returns the error of the context.
func (t *training) tryOwn(ctx context.Context, p *pooledModel) error {
	fit := func(int) func(Data) (*Fitted, error) {
		return func(d Data) (*Fitted, error) { return Fit(ctx, d, t.settings) }
	}
	if p.logOdds != nil {
		all, err := classifier.Load(p.model)
		if err != nil {
			return fmt.Errorf("reading the model of all complaints: %w", err)
		}
		s := t.settings
		s.plain = p.model.Manifest.Penalties() == bundle.Plain
		fit = func(i int) func(Data) (*Fitted, error) {
			return func(d Data) (*Fitted, error) {
				return correct(ctx, d, s, all, lists.Take(p.logOdds, t.groups[i].At))
			}
		}
	}
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(runtime.GOMAXPROCS(0))
	for i, g := range t.groups {
		if t.own[i].why != "" {
			continue
		}
		workers.Go(func() error {
			t.own[i] = t.try(ctx, g.Data, bundle.Slug(g.Complaint), fit(i))
			return ctx.Err()
		})
	}
	return workers.Wait()
}

// judgePooled returns the outcome of the model of all complaints.
func (t *training) judgePooled(a *attempt) (Outcome, error) {
	rows := t.data.Rows
	o := Outcome{
		Model: bundle.Other, Documents: len(rows), Positives: Positives(rows), Kept: true,
		Why: "scores every complaint without a model of its own", Alignment: a.fitted.Alignment, Seconds: a.seconds,
	}
	loss, err := o.measure(&t.data, a.fitted.heldOut())
	o.LogLoss, o.Pooled, o.SmallestPenalty = &loss, loss, a.fitted.SmallestPenalty
	return o, err
}

// judge decides which model will score a complaint, and says why. pooled holds the pooled model's out-of-fold
// predictions.
func (t *training) judge(g *Group, pooled predictions, own *attempt) (o Outcome, err error) {
	o = Outcome{
		Model: bundle.Slug(g.Complaint), Complaint: g.Complaint, Documents: len(g.Rows),
		Positives: Positives(g.Rows), Why: own.why, Seconds: own.seconds,
	}
	o.Stays = own.fitted == nil && t.settings.PerComplaint != Never
	if o.Pooled, err = o.measure(&g.Data, pooled); err != nil || own.fitted == nil {
		return o, err
	}
	mine := o
	loss, err := mine.measure(&g.Data, own.fitted.heldOut())
	if err != nil {
		return o, err
	}
	difference, err := eval.MeanDifference(own.fitted.heldOut().losses(&g.Data), pooled.losses(&g.Data),
		patients(g.Rows))
	if err != nil {
		return o, fmt.Errorf("comparing predictions: %w", err)
	}
	o.LogLoss, o.Difference = &loss, &difference
	if o.Kept, o.Why = verdict(t.settings.PerComplaint, difference); o.Kept {
		o.Metrics, o.Classes, o.Alignment, o.SmallestPenalty = mine.Metrics, mine.Classes, own.fitted.Alignment,
			own.fitted.SmallestPenalty
	}
	return o, nil
}

// ownMargin is the number of standard errors of the paired difference by which a model of its own must beat the pooled
// one. Without a margin, noise keeps models that lose: of 40 complaints with no signal of their own, 32. Half a
// standard error costs .0004 of log loss where complaints differ and gains .0004 to .0012 where they do not; a whole
// one costs .0023.
const ownMargin = 0.5

// verdict returns whether a complaint keeps its own model, by its log loss less the pooled one's, and why.
func verdict(policy Policy, d eval.Estimate) (kept bool, why string) {
	const pooled = "than that of the model of all complaints"
	switch {
	case policy == Always:
		return true, fmt.Sprintf("the policy is always (log loss %+.4f against the model of all complaints, standard "+
			"error %.4f)", d.Value, d.StandardError)
	case d.Value < -ownMargin*d.StandardError:
		return true, fmt.Sprintf("its log loss is lower by %.4f (standard error %.4f) %s", -d.Value,
			d.StandardError, pooled)
	case d.Value < 0:
		return false, fmt.Sprintf("its log loss is lower by only %.4f (standard error %.4f) %s, less than half a "+
			"standard error", -d.Value, d.StandardError, pooled)
	default:
		return false, fmt.Sprintf("its log loss is higher by %.4f (standard error %.4f) %s", d.Value,
			d.StandardError, pooled)
	}
}

func (t *training) add(o Outcome, d *Data, fitted *Fitted) error {
	t.out.Outcomes = append(t.out.Outcomes, o)
	if !o.Kept {
		return nil
	}
	b, err := fitted.bundle(d, &t.out.Outcomes[len(t.out.Outcomes)-1], &t.settings, t.job)
	t.out.Bundles = append(t.out.Bundles, b)
	return err
}

// predictions are the probabilities of rows: of admission and, for several outcomes, of all classes.
type predictions struct {
	admission []float64
	classes   *mat.Dense // n×(κ+1), nil for yes and no
	threshold float64
}

// newPredictions has room for n rows and so many classes, 0 for yes and no.
func newPredictions(n, classes int) predictions {
	p := predictions{admission: make([]float64, n)}
	if classes > 0 {
		p.classes = mat.NewDense(n, classes, nil)
	}
	return p
}

func (f *Fitted) heldOut() predictions {
	return predictions{f.OutOfFold, f.Probabilities, f.Threshold}
}

func (p predictions) subset(at []int) predictions {
	return predictions{lists.Take(p.admission, at), linalg.SelectRows(p.classes, at), p.threshold}
}

// losses returns the log loss of each row, over all classes if there are several.
func (p predictions) losses(d *Data) []float64 {
	if p.classes == nil {
		return eval.Losses(labels(d.Rows), p.admission)
	}
	happened := make([]bool, len(d.Rows))
	likelihood := make([]float64, len(d.Rows))
	for i, class := range d.labels() {
		happened[i], likelihood[i] = true, p.classes.At(i, class)
	}
	return eval.Losses(happened, likelihood)
}

// measure sets the metrics of predictions of the rows and returns their log loss, over all classes if there are
// several. Intervals treat the notes of a patient as one.
func (o *Outcome) measure(d *Data, p predictions) (logLoss float64, err error) {
	who := patients(d.Rows)
	m, err := eval.Measure(labels(d.Rows), p.admission, p.threshold, who)
	if err != nil {
		return 0, fmt.Errorf("measuring predictions: %w", err)
	}
	o.Metrics = &m
	if p.classes == nil {
		return m.LogLoss, nil
	}
	all, err := eval.MeasureClasses(d.labels(), p.classes, d.Classes, who)
	if err != nil {
		return 0, fmt.Errorf("measuring predictions: %w", err)
	}
	o.Classes = &all
	return all.LogLoss, nil
}

// Group holds the notes of one complaint.
type Group struct {
	Data
	Complaint string // as first spelled
	At        []int  // positions of the rows in the table
}

// enough reports whether the group holds so many notes, and so many of each outcome.
func (g *Group) enough(documents, events int) bool {
	return len(g.Rows) >= documents && fewest(g.labels(), max(len(g.Classes), 2)) >= events
}

// fewest returns how many of the labels are of the rarest of so many classes.
func fewest(labels []int, classes int) int {
	counts := make([]int, classes)
	for _, class := range labels {
		counts[class]++
	}
	return slices.Min(counts)
}

// Groups returns the complaints with so many notes, and enough of each outcome to measure predictions by
// cross-validation, in the order of the names of their models.
func Groups(d Data, minDocuments int) []Group {
	return slices.DeleteFunc(byComplaint(d), func(g Group) bool { return !g.enough(minDocuments, minClass) })
}

// byComplaint returns all complaints in that order. Notes without a complaint belong to no group.
func byComplaint(d Data) []Group {
	d.Pooled = false
	found := byModel(d.Rows)
	delete(found, bundle.Other)
	groups := make([]Group, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		at := found[name]
		groups = append(groups, Group{d.subset(at), d.Rows[at[0]].Complaint, at})
	}
	return groups
}

// byModel returns the positions of the rows of each complaint, by the name that a model of its own has or would have.
func byModel(all []Row) map[string][]int {
	return scoredBy(all, func(string) bool { return true })
}

// scoredBy returns the positions of the rows that each model scores: that of the complaint, else that of all.
func scoredBy(all []Row, exists func(model string) bool) map[string][]int {
	found := map[string][]int{}
	for i := range all {
		name := bundle.Slug(all[i].Complaint)
		if !exists(name) {
			name = bundle.Other
		}
		found[name] = append(found[name], i)
	}
	return found
}

func labels(all []Row) []bool {
	return lists.Make(len(all), func(i int) bool { return all[i].Positive })
}

// Positives returns the number of admitted rows.
func Positives(all []Row) int { return eval.Positives(labels(all)) }

func rarer(rows []Row) int {
	n := Positives(rows)
	return min(n, len(rows)-n)
}
