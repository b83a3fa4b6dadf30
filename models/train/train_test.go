package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/solver/methods"
	"github.com/wardcast/wardcast/textproc"
)

func auxColumns() []Aux {
	return []Aux{
		{Kind: bundle.Numeric, Name: "age"},
		{Kind: bundle.Categorical, Name: "sex"},
		{Kind: bundle.Numeric, Name: "acuity"},
		{Kind: bundle.Numeric, Name: "vitals.spo2"},
	}
}

// long skips a test that trains for many seconds, or minutes under the race detector.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("WARDCAST_LONG") == "" {
		t.Skip("it trains for long: WARDCAST_LONG=1 runs it")
	}
}

// someMethods returns a method of each kind that training knows: topics of tf-idf and of binary rows, and topics that
// have no warm start. With WARDCAST_LONG they are all methods; what a method computes, its own suite proves.
func someMethods() []string {
	if os.Getenv("WARDCAST_LONG") != "" {
		return methods.Names()
	}
	return []string{methods.SONMF, methods.LogNMF, methods.SVD}
}

// generated returns the generator's notes from one to another, and the probabilities that their outcomes were drawn
// by.
func generated(tb testing.TB, from, to int) (rows []Row, truth []float64) {
	tb.Helper()
	rows, truth, err := notesOf(from, to)
	if err != nil {
		tb.Fatal(err)
	}
	return rows, truth
}

func notesOf(from, to int) (rows []Row, truth []float64, err error) {
	g, err := synth.New(synth.Settings{Seed: 7, Misspelling: synth.DefaultMisspelling})
	if err != nil {
		return nil, nil, err
	}
	for i := from; i < to; i++ {
		n := g.At(i)
		arrived, err := time.Parse(time.RFC3339, n.ArrivedAt)
		if err != nil {
			return nil, nil, err
		}
		row := Row{Visit: n.VisitID, Complaint: n.Complaint, Text: n.Text, Arrived: arrived, Positive: n.Admitted}
		for _, a := range auxColumns() {
			row.Aux = append(row.Aux, scoring.Value(&n.Note, a.Name))
		}
		rows, truth = append(rows, row), append(truth, n.Probability)
	}
	d := Data{Rows: rows, Aux: auxColumns()}
	d.Clean(Default().Text)
	return rows, truth, nil
}

// small are settings that train in a moment, on single words without concepts: compiling their table takes longer than
// the rest of a small fit. TestScorerIsTheHead has concepts.
func small() Settings {
	s := Default()
	s.Rank, s.Folds, s.MinDocuments, s.MinEvents, s.Text.MinDF, s.Text.NGrams = 5, 3, 80, minClass, 3, 1
	s.Text.Concepts, s.Text.Spelling = &textproc.Concepts{}, false
	return s
}

// smaller are the settings of tests to which pieces of words do not matter.
func smaller() Settings {
	s := small()
	s.Pieces = false
	return s
}

// sameBits fails unless two trainings made the same.
func sameBits(t *testing.T, a, b *Trained) {
	t.Helper()
	for _, trained := range []*Trained{a, b} {
		for i := range trained.Outcomes {
			trained.Outcomes[i].Seconds = 0
		}
	}
	if !reflect.DeepEqual(a, b) { // cmp takes as long as a training
		t.Error(cmp.Diff(a, b))
	}
}

func job() Job {
	return Job{Created: time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC), Version: "test"}
}

func train(tb testing.TB, rows []Row, s Settings) *Trained {
	tb.Helper()
	got, err := Train(tb.Context(), Data{Rows: rows, Aux: auxColumns()}, s, job())
	if err != nil {
		tb.Fatal(err)
	}
	return got
}

func TestTrainPolicies(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 900)
	// One complaint whose notes are all of one class, one of too few notes, and notes without any.
	for i := range rows[:150] {
		rows[i].Complaint, rows[i].Positive = "One Class", true
	}
	for i := range rows[150:170] {
		rows[150+i].Complaint = "rare"
	}
	for i := range rows[170:190] {
		rows[170+i].Complaint = " "
	}
	for _, policy := range []Policy{Auto, Always, Never} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			s := smaller()
			s.PerComplaint = policy
			got := train(t, rows, s)
			if o := got.Outcomes[0]; o.Model != bundle.Other || o.Complaint != "" || o.Documents != len(rows) ||
				o.Positives != Positives(rows) || !o.Kept {
				t.Errorf("the model of all complaints: %+v", o)
			}
			counts := map[string]int{}
			for _, r := range rows {
				counts[bundle.Slug(r.Complaint)]++
			}
			delete(counts, bundle.Other)
			var kept []string
			for i, o := range got.Outcomes {
				checkOutcome(t, &o, policy)
				if o.Kept {
					kept = append(kept, o.Model)
				}
				if i == 0 {
					continue
				}
				if o.Documents != counts[o.Model] || bundle.Slug(o.Complaint) != o.Model ||
					i > 1 && o.Model <= got.Outcomes[i-1].Model {
					t.Errorf("outcome %d: %+v", i, o)
				}
				delete(counts, o.Model)
			}
			if len(counts) > 0 {
				t.Errorf("no outcome of %v", counts)
			}
			var names []string
			for _, b := range got.Bundles {
				names = append(names, b.Manifest.Name)
				checkBundle(t, b, &s)
			}
			if !slices.Equal(names, kept) {
				t.Errorf("models %v, kept %v", names, kept)
			}
			if own := len(kept) - 1; policy == Never && own > 0 || policy == Always && own < 2 {
				t.Errorf("%d complaints have a model of their own", own)
			}
		})
	}
}

// checkOutcome holds an outcome against the policy.
func checkOutcome(t *testing.T, o *Outcome, policy Policy) {
	t.Helper()
	if o.Why == "" || o.Metrics == nil || o.Metrics.N != o.Documents ||
		o.Metrics.Positives != o.Positives || o.Pooled <= 0 {
		t.Errorf("%s: %+v", o.Model, o)
	}
	if o.Model == bundle.Other {
		return
	}
	enough := o.Documents >= small().MinDocuments && min(o.Positives, o.Documents-o.Positives) >= minClass
	loss := math.NaN()
	if o.LogLoss != nil {
		loss = *o.LogLoss
	}
	var kept bool
	var why string
	switch {
	case !enough:
		why = "fewer than 80 notes, or fewer than 10 of one outcome"
	case policy == Never:
		why = "the policy is never"
	case policy == Always:
		kept, why = true, "the policy is always"
	case o.Difference == nil || math.Abs(o.Difference.Value-(loss-o.Pooled)) > 1e-12 ||
		!(o.Difference.StandardError > 0):
		t.Errorf("%s: difference %+v of log losses %v and %v", o.Model, o.Difference, loss, o.Pooled)
	case loss < o.Pooled-o.Difference.StandardError/2:
		kept, why = true, fmt.Sprintf("its log loss is lower by %.4f (standard error %.4f) than that", o.Pooled-loss,
			o.Difference.StandardError)
	case loss < o.Pooled:
		why = fmt.Sprintf("its log loss is lower by only %.4f (standard error", o.Pooled-loss)
	default:
		why = fmt.Sprintf("its log loss is higher by %.4f (standard error", loss-o.Pooled)
	}
	if o.Kept != kept || !strings.HasPrefix(o.Why, why) || (o.LogLoss != nil) != (enough && policy != Never) {
		t.Errorf("%s, of %d notes, %d positive: log loss %v, pooled %v; kept %v, because %s", o.Model, o.Documents,
			o.Positives, loss, o.Pooled, o.Kept, o.Why)
	}
	if o.Stays != (!enough && policy != Never) {
		t.Errorf("%s: the model that is served stays: %v", o.Model, o.Stays)
	}
	// The metrics are those of the model that will score the complaint.
	want := o.Pooled
	if kept {
		want = loss
	}
	if o.Metrics.LogLoss != want {
		t.Errorf("%s: metrics of a log loss of %v, want %v", o.Model, o.Metrics.LogLoss, want)
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy     Policy
		difference float64
		kept       bool
		why        string
	}{
		{Auto, -0.011, true, "its log loss is lower by 0.0110 (standard error 0.0200) than that of the model of all " +
			"complaints"},
		{Auto, -0.009, false, "its log loss is lower by only 0.0090 (standard error 0.0200) than that of the model " +
			"of all complaints, less than half a standard error"},
		{Auto, 0.001, false, "its log loss is higher by 0.0010 (standard error 0.0200) than that of the model of all " +
			"complaints"},
		{Always, 0.001, true, "the policy is always (log loss +0.0010 against the model of all complaints, standard " +
			"error 0.0200)"},
	} {
		if kept, why := verdict(c.policy, eval.Estimate{Value: c.difference, StandardError: 0.02}); kept != c.kept ||
			why != c.why {
			t.Errorf("%s, %v: %v, %q", c.policy, c.difference, kept, why)
		}
	}
}

func checkBundle(t *testing.T, b *bundle.Bundle, s *Settings) {
	t.Helper()
	m := &b.Manifest
	if m.Seed != s.Seed || m.Method != "sonmf" || m.Rank != s.Rank || !m.CreatedAt.Equal(job().Created) ||
		m.Wardcast != "test" || m.Training.From.IsZero() || !m.Training.To.After(m.Training.From) {
		t.Errorf("%s: %+v", m.Name, m)
	}
	var evaluation struct {
		OutOfFold struct {
			N int `json:"n"`
		} `json:"out_of_fold"`
	}
	if err := json.Unmarshal(b.Evaluation, &evaluation); err != nil || evaluation.OutOfFold.N != m.Training.Documents {
		t.Errorf("%s: evaluation of %d notes, %v", m.Name, evaluation.OutOfFold.N, err)
	}
	if !strings.HasPrefix(b.Card, "# Model "+m.Name+"\n") {
		t.Errorf("%s: card %.40q", m.Name, b.Card)
	}
	model, err := classifier.Load(b)
	if err != nil {
		t.Error(err)
		return
	}
	// Only the model of all complaints reads which one it is.
	pooled := slices.ContainsFunc(model.Aux(),
		func(c bundle.AuxColumn) bool { return c.Name == bundle.ComplaintColumn })
	if pooled != (m.Name == bundle.Other) {
		t.Errorf("%s: auxiliary columns %v", m.Name, model.Aux())
	}
}

// TestTrainSameBits is not parallel: it changes GOMAXPROCS.
func TestTrainSameBits(t *testing.T) {
	rows, _ := generated(t, 0, 300)
	s := small()
	s.PerComplaint, s.MinDocuments, s.MinEvents, s.Rank, s.Folds = Always, 20, minClass, 3, 2
	run := func(processors int) *Trained {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		return train(t, rows, s)
	}
	first := run(1)
	if len(first.Bundles) < 3 {
		t.Fatalf("%d models say little", len(first.Bundles))
	}
	sameBits(t, first, run(4))
}

func TestTrainCancelled(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 300)
	ctx, cancel := context.WithCancel(t.Context())
	j := job()
	j.Progress = func(done, _ int) {
		if done == 1 { // amid the complaints
			cancel()
		}
	}
	s := smaller()
	s.PerComplaint, s.MinDocuments, s.MinEvents = Always, 30, minClass
	if got, err := Train(ctx, Data{Rows: rows, Aux: auxColumns()}, s, j); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestTrainCountsProgress(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 300)
	s := smaller()
	s.PerComplaint = Never
	var reported []string
	j := job()
	j.Progress = func(done, total int) { reported = append(reported, fmt.Sprintf("%d/%d", done, total)) }
	if _, err := Train(t.Context(), Data{Rows: rows, Aux: auxColumns()}, s, j); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(reported, []string{"0/1", "1/1"}) {
		t.Errorf("reported %v", reported)
	}
}

// TestPreviousCannotBeRead: a complaint without a new model has a reason, whatever stopped its training.
func TestPreviousCannotBeRead(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 300)
	s := smaller()
	s.MinDocuments = 20
	j := job()
	j.Previous = func(_ context.Context, model string) (*bundle.Bundle, error) {
		if model != bundle.Other {
			return nil, errors.New("the store is gone")
		}
		return nil, nil
	}
	out, err := Train(t.Context(), Data{Rows: rows, Aux: auxColumns()}, s, j)
	if err != nil {
		t.Fatal(err)
	}
	reported := 0
	for _, o := range out.Outcomes {
		if o.Why == "" {
			t.Errorf("%s: no reason", o.Model)
		}
		if o.Why == "could not be trained: the store is gone" && o.Stays {
			reported++
		}
	}
	if reported == 0 {
		t.Errorf("no complaint says why: %+v", out.Outcomes)
	}
}
