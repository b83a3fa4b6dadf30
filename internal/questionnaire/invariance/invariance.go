// Package invariance tests whether a questionnaire measures the same in two groups of participants: whether the same
// factors are found in each (configural), and whether participants with the same scores give the same answers to an
// item (no differential item functioning, DIF). Package cfa tests whether loadings, thresholds and intercepts are the
// same.
//
// With p items and k factors, Λ₁ and Λ₂ are p×k: the loadings that a method learns in each group by itself. They are in
// units of the standard deviation of each item among both groups together. Factor t of the second group is the match of
// factor t of the first.
//
// Results depend on the seed, not on the number of threads or the order of the participants.
package invariance

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/floats"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/certainty"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

const (
	// DefaultBootstrap is the number of bootstrap samples.
	DefaultBootstrap = 200
	// unequalMissing is the difference of the missing shares from which nonuniform DIF is unreliable.
	unequalMissing = 0.1
	// leastGroup is the least number of participants of a group: a bootstrap of fewer is meaningless.
	leastGroup = 20
	// fewParticipants is the number below which a group gets a warning: the usual least number for DIF.
	fewParticipants = 200
)

// Options says what to compare. The first of Columns.Labels defines the groups: class 1 is the first group, class 0 the
// second, and other participants are left out.
type Options struct {
	fit.Options
	// Bootstrap is the number of bootstrap samples of the participants within each group; 0 means DefaultBootstrap.
	Bootstrap int
}

// Group is one of the two groups.
type Group struct {
	Value        string `json:"value"`
	Participants int    `json:"participants"`
}

// Result is the outcome of Run.
type Result struct {
	Group  string   `json:"group"` // the column
	Groups [2]Group `json:"groups"`
	// Outside counts the participants of neither group.
	Outside int `json:"outside"`
	// ItemsLeftOut do not vary in one of the groups.
	ItemsLeftOut []string `json:"items_left_out"`
	Method       string   `json:"method"`
	solver.Candidate
	Bootstrap int `json:"bootstrap"`
	// Failed counts the samples that the method could not fit. They are not used.
	Failed int `json:"failed"`
	// Fits counts all of them, and Unconverged those that ended at MaxIter.
	Fits        int        `json:"fits"`
	Unconverged int        `json:"unconverged"`
	Configural  Configural `json:"configural"`
	DIF         DIF        `json:"dif"`
	Warnings    []string   `json:"warnings"`
	Seconds     float64    `json:"seconds"`
}

// Run learns the factors of each group and of both together, with the same number of factors and β, and compares the
// groups. If there are several candidates for factors and β, fit.Options.Choose chooses from both groups together.
//
// Items that do not vary in one of the groups are left out. It returns an error that wraps questionnaire.ErrOptions for
// a group of fewer than 20 participants or fewer than the factors, and for a group column that is a confound; and the
// cause of ctx if that ends first. The cost is that of 3 + 2·Bootstrap fits.
func Run(ctx context.Context, o Options) (*Result, error) {
	begin := time.Now()
	if err := o.check(); err != nil {
		return nil, err
	}
	r, err := o.begin(ctx)
	if err != nil {
		return nil, err
	}
	both := *r.study
	both.Order = r.both
	choice, err := r.o.Choose(ctx, &both)
	if err != nil {
		return nil, err
	}
	r.Candidate, r.Method, r.Warnings = choice.Fitted, r.o.Method, append(r.Warnings, choice.Warnings...)
	for _, g := range r.Groups {
		if least := max(leastGroup, r.Factors); g.Participants < least {
			return nil, questionnaire.Optionf("%q: group %q has %d participants, at least %d are needed", r.study.File,
				g.Value, g.Participants, least)
		}
	}
	if err := r.compare(ctx); err != nil {
		return nil, err
	}
	r.warn()
	r.Seconds = time.Since(begin).Seconds()
	return &r.Result, nil
}

// check fills in the defaults.
func (o *Options) check() error {
	o.Bootstrap = cmp.Or(o.Bootstrap, DefaultBootstrap)
	switch labels := o.Columns.Labels; {
	case len(labels) != 1 || labels[0].Negative == "":
		return questionnaire.Optionf("the groups must be a column with two values, as in sex=F:M")
	case slices.ContainsFunc(o.Columns.Confounds,
		func(c questionnaire.Confound) bool { return c.Name == labels[0].Name }):
		return questionnaire.Optionf("%q defines the groups, so it cannot be a confound too", labels[0].Name)
	case o.Columns.Visits != nil:
		return questionnaire.Optionf("groups cannot be compared for participants with several visits")
	case o.Method == model.MethodGRM:
		return questionnaire.Optionf("%s does not compare groups: take another method, or `questionnaire cfa --group`",
			o.Method)
	case o.Bootstrap < certainty.LeastReplicates:
		return questionnaire.Optionf("%d bootstrap samples, at least %d are needed", o.Bootstrap,
			certainty.LeastReplicates)
	}
	return nil
}

type run struct {
	Result
	o     *Options
	study *fit.Study
	// groups holds the rows of each group, and both the rows of both, in the order of the study.
	groups     [2][]int
	both       []int
	deviations []float64 // of the items, among both groups
}

// begin reads the input and leaves out the items that do not vary in one of the groups.
func (o *Options) begin(ctx context.Context) (*run, error) {
	t, err := o.Read()
	if err != nil {
		return nil, err
	}
	label := o.Columns.Labels[0]
	r := &run{
		o: o, Result: Result{Group: label.Name, ItemsLeftOut: []string{}, Bootstrap: o.Bootstrap, Warnings: []string{}},
	}
	var varying [2][]int
	for g := range varying {
		rows := lists.Where(len(t.Labels[0]), func(i int) bool { return t.Labels[0][i] == int8(1-g) })
		if len(rows) == 0 {
			return nil, &table.Error{File: t.File, Column: label.Name, Err: fmt.Errorf("%w (the groups are %q and %q)",
				questionnaire.ErrOneClass, label.Positive, label.Negative)}
		}
		varying[g] = t.Varying(rows)
	}
	var kept []string
	for j, item := range t.Items {
		if slices.Contains(varying[0], j) && slices.Contains(varying[1], j) {
			kept = append(kept, item.Name)
		} else {
			r.ItemsLeftOut = append(r.ItemsLeftOut, item.Name)
		}
	}
	if len(kept) == 0 {
		return nil,
			&table.Error{File: t.File, Err: fmt.Errorf("%w: no item varies in both groups", questionnaire.ErrConstant)}
	}
	if len(kept) < len(t.Items) {
		if err := t.Keep(kept); err != nil {
			return nil, err
		}
	}
	o.Table = t
	if r.study, err = o.Begin(ctx); err != nil {
		return nil, err
	}
	for _, i := range r.study.Order {
		if class := r.study.Labels[0][i]; class != answers.Unknown {
			r.groups[1-class], r.both = append(r.groups[1-class], i), append(r.both, i)
		}
	}
	r.Groups = [2]Group{{label.Positive, len(r.groups[0])}, {label.Negative, len(r.groups[1])}}
	r.Outside = len(r.study.Order) - len(r.both)
	_, r.deviations = linalg.SampleMoments(r.study.AnswersOf(r.both, r.items()))
	return r, nil
}

func (r *run) items() []int { return linalg.Indices(len(r.study.Items)) }

func (r *run) missing(group int) float64 {
	x := r.study.AnswersOf(r.groups[group], r.items())
	return float64(floats.Count(math.IsNaN, x.RawMatrix().Data)) / float64(len(x.RawMatrix().Data))
}

func (r *run) warn() {
	say := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	for _, g := range r.Groups {
		if g.Participants < fewParticipants {
			say("group %q has %d participants: with fewer than %d, only large differences are found", g.Value,
				g.Participants, fewParticipants)
		}
	}
	if missing := [2]float64{r.missing(0), r.missing(1)}; math.Abs(missing[0]-missing[1]) >= unequalMissing {
		say("the groups miss %.0f and %.0f %% of their answers: the fewer answers, the more each one affects "+
			"the score, which may look like nonuniform DIF", 100*missing[0], 100*missing[1])
	}
	if len(r.ItemsLeftOut) > 0 {
		say("items without different answers in one of the groups are left out: %s", strings.Join(r.ItemsLeftOut, ", "))
	}
	var empty []string
	for _, f := range r.Configural.Factors {
		if f.Empty {
			empty = append(empty, f.Factor)
		}
	}
	if len(empty) > 0 {
		say("factors without a match, because they are empty in one of the groups: %s", strings.Join(empty, ", "))
	}
	if r.Failed > 0 {
		say("%d of %d bootstrap samples could not be fitted and are not counted", r.Failed, r.Bootstrap)
	}
	var untestable []string
	for _, d := range r.DIF.Items {
		if d.Class == UntestableDIF {
			untestable = append(untestable, d.Item)
		}
	}
	found := lists.Count(r.DIF.Items, func(d ItemDIF) bool { return d.Found() })
	if len(untestable) > 0 {
		say("items that cannot be tested for DIF: %s", strings.Join(untestable, ", "))
	}
	if tested := len(r.DIF.Items) - len(untestable); found > 0 && 2*found >= tested {
		say("half of the items or more show DIF: it is not clear which of them differ and which do not")
	}
}
