package evaluate

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/solver"
)

func evaluateOptions(t *testing.T) Options {
	t.Helper()
	o := Options{Options: questionnairetest.Options(questionnairetest.File(t, "x.csv",
		questionnairetest.CSV(questionnairetest.Rows(1)))), Repeats: 2, Methods: Methods()}
	o.Columns.Labels = []questionnaire.Label{{Name: "ill", Positive: "1"}, {Name: "sex", Positive: "F"}}
	return o
}

// What was planted is found: an illness that comes with a factor, a sex that does not, and the factors themselves.
func TestEvaluate(t *testing.T) {
	t.Parallel()
	o := evaluateOptions(t)
	e, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Shares) != len(Methods())*len(TrainShares()) {
		t.Fatalf("%d shares", len(e.Shares))
	}
	for _, s := range e.Shares {
		if s.Participants != int(math.Round(s.Share*questionnairetest.Participants)) {
			t.Errorf("%s, share %v: %d participants", s.Method, s.Share, s.Participants)
		}
		if s.Share < 0.6 {
			continue
		}
		least := questionnaire.Figure(0.8)
		switch s.Method {
		case MethodSums: // of all items: the illness comes with a third of them
			least = 0.6
		case MethodMissing: // nothing to check
			least = 0.2
		}
		if s.AUROC[0].Count != o.Repeats || s.AUROC[0].Mean < least || s.Method == MethodMissing &&
			s.AUROC[0].Mean > 0.75 {
			t.Errorf("%s, share %v: AUROC %+v of what comes with a factor", s.Method, s.Share, s.AUROC[0])
		}
		if d := s.Differences; s.Method == e.Shares[0].Method && d != nil || s.Method != e.Shares[0].Method &&
			len(d) != len(e.Labels) {
			t.Errorf("%s, share %v: differences %+v", s.Method, s.Share, d)
		}
		if s.AUROC[1].Mean > 0.75 {
			t.Errorf("%s, share %v: AUROC %+v without information in any factor", s.Method, s.Share, s.AUROC[1])
		}
		if !HasFactors(s.Method) {
			if s.Stability.Count > 0 {
				t.Errorf("%s, share %v: a stability of no loadings, %+v", s.Method, s.Share, s.Stability)
			}
			continue
		}
		if s.Stability.Count != o.Repeats*questionnairetest.Factors || s.Stability.Mean < leastStability(s.Method) {
			t.Errorf("%s, share %v: stability %+v", s.Method, s.Share, s.Stability)
		}
	}
	if len(e.Disjoint) != len(learners())+1 {
		t.Errorf("halves of %d methods", len(e.Disjoint))
	}
	for _, h := range e.Disjoint {
		if h.Participants != questionnairetest.Participants/2 || h.Stability.Count !=
			o.Repeats*questionnairetest.Factors || h.Stability.Mean < leastStability(h.Method)-0.05 ||
			h.Congruence.Count != h.Stability.Count || h.Congruence.Mean < leastStability(h.Method)-0.05 {
			t.Errorf("halves: %+v", h)
		}
	}
	again, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, again, figures); diff != "" {
		t.Errorf("a second run differs:\n%s", diff)
	}
}

// leastStability is the least mean that planted factors are found again with. The planted ones have the same variance,
// and so principal components, which are not rotated, mix them in every sample in another way.
func leastStability(method string) questionnaire.Figure {
	if method == MethodPCA {
		return 0.8
	}
	return 0.95
}

// The candidate of a repeat does not depend on the answers of those who are held out in it; that of all does.
func TestEvaluateChoosesInsideTheSplit(t *testing.T) {
	t.Parallel()
	o := evaluateOptions(t)
	o.Methods, o.Factors, o.Columns.Labels = nil, []int{2, 3, 4}, nil
	e, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if want := slices.Repeat([]solver.Candidate{{Factors: questionnairetest.Factors, Beta: .1}},
		o.Repeats); !slices.Equal(e.Choices, want) {
		t.Errorf("choices %v, want %v", e.Choices, want)
	}
	s, err := o.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	curves := func() (inside, all []solver.ErrorPoint) {
		t.Helper()
		in, errIn := o.chooseInside(t.Context(), s, 1)
		of, errOf := o.Choose(t.Context(), s)
		if err := errors.Join(errIn, errOf); err != nil {
			t.Fatal(err)
		}
		return in.Curve, of.Curve
	}
	insideBefore, allBefore := curves()
	test, others := o.split(s, 1)
	if len(test) != questionnairetest.Participants/5 || len(test)+len(others) != questionnairetest.Participants {
		t.Fatalf("%d are held out, %d are not", len(test), len(others))
	}
	for _, i := range test {
		row := s.Answers.RawRowView(i)
		for j := range row {
			row[j] = questionnairetest.Top - row[j]
		}
	}
	insideAfter, allAfter := curves()
	if diff := cmp.Diff(insideBefore, insideAfter, figures); diff != "" {
		t.Errorf("the choice depends on those held out:\n%s", diff)
	}
	if cmp.Equal(allBefore, allAfter, figures) {
		t.Error("the choice on all participants does not depend on these answers, so the test proves nothing")
	}
}

func TestEvaluateRefuses(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(1)
	for _, row := range rows[1:] {
		row[len(row)-1] = "1"
	}
	o := evaluateOptions(t)
	o.Input, o.Columns.Labels = questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows)), o.Columns.Labels[:1]
	_, err := Run(t.Context(), o)
	if at, ok := errors.AsType[*table.Error](err); !ok || at.Column != "ill" ||
		!errors.Is(err, questionnaire.ErrOneClass) {
		t.Errorf("a label of one class: %v", err)
	} else if want := "--labels ill=VALUE"; !strings.Contains(err.Error(), want) {
		t.Errorf("the error does not say how to name the positive value, %s: %v", want, err)
	}
	o = evaluateOptions(t)
	o.Methods, o.Correlation = []string{"sums", "fa"}, model.Polychoric
	o.Missing = model.FIML
	if _, err := Run(t.Context(), o); !errors.Is(err, questionnaire.ErrOptions) ||
		!strings.Contains(err.Error(), "polychoric") {
		t.Errorf("polychoric correlations by full information: %v", err)
	}
	o = evaluateOptions(t)
	o.Methods = []string{"promax"}
	if _, err := Run(t.Context(), o); !errors.Is(err, questionnaire.ErrOptions) {
		t.Errorf("an unknown method: %v", err)
	}
	o.Methods = []string{model.MethodICQF, model.MethodL1, model.MethodICQF}
	if _, err := Run(t.Context(), o); !errors.Is(err, questionnaire.ErrOptions) ||
		!strings.Contains(err.Error(), "twice") {
		t.Errorf("a method twice: %v", err)
	}
	o = Options{
		Options: questionnairetest.Options(questionnairetest.File(t, "x.csv", "id,q1,q2,q3\na,1,0,2\nb,0,2,1\n")),
		Repeats: 2, Methods: learners(),
	}
	o.Columns.Confounds = nil
	if _, err := Run(t.Context(), o); !errors.Is(err, questionnaire.ErrOptions) {
		t.Errorf("two participants: %v", err)
	}
	o = evaluateOptions(t)
	o.Columns.ID, o.Columns.Visits = "id", &questionnaire.Visits{Time: "age", Edges: []float64{0, 12, 24}}
	o.Columns.Confounds = nil
	if _, err := Run(t.Context(), o); !errors.Is(err, questionnaire.ErrOptions) ||
		!strings.Contains(err.Error(), "visits") {
		t.Errorf("labels of visits: %v", err)
	}
	o = evaluateOptions(t)
	o.Factors, o.Methods = []int{questionnairetest.Items}, []string{model.MethodICQF, model.MethodFA}
	if _, err := Run(t.Context(), o); err == nil ||
		!strings.Contains(err.Error(), "9 factors for 9 items, at most 8 by fa") {
		t.Errorf("as many factors as items: %v", err)
	}
}

// few returns the options of an evaluation of the first n planted participants without missing answers.
func few(t *testing.T, n int) Options {
	t.Helper()
	rows := questionnairetest.Rows(1)[:n+1]
	for i, row := range rows[1:] {
		for j, cell := range row[1 : 1+questionnairetest.Items] {
			if cell == "" {
				row[1+j] = strconv.Itoa((i + j) % 4)
			}
		}
	}
	o := Options{
		Options: questionnairetest.Options(questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows))),
		Repeats: 3, Methods: Methods(),
	}
	o.Factors, o.Columns.Confounds = []int{2}, nil // of two participants, confounds leave nothing to factor analysis
	return o
}

// The smallest share has at least two participants, and one for each factor.
func TestEvaluateFew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		participants int
		factors      []int
		want         string // "" for no error
	}{
		{7, []int{1}, "20 % of 7 participants are 1, too few to learn 1 factors from: at least 2"},
		{8, []int{2}, ""},
		{12, []int{2, 3}, "20 % of 12 participants are 2, too few to learn 3 factors from: at least 3"},
		{13, []int{3}, ""},
		{8, nil, ""}, // of the default candidates those that the share has room for
	} {
		o := few(t, c.participants)
		o.Factors = c.factors
		e, err := Run(t.Context(), o)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%d participants, factors %v: %v", c.participants, c.factors, err)
		case c.want == "" && e.Shares[0].Participants < e.Factors:
			t.Errorf("%d participants, factors %v: %d factors of %d participants", c.participants, c.factors, e.Factors,
				e.Shares[0].Participants)
		case c.want != "" && (!errors.Is(err, questionnaire.ErrOptions) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%d participants, factors %v: error %v, want %q", c.participants, c.factors, err, c.want)
		}
	}
}

// leastArea is the least area under the curve of the planted illness: it comes with one of three factors, and so less
// with the sum of all items.
func leastArea(method string) questionnaire.Figure {
	if method == MethodSums {
		return 0.6
	}
	return 0.7
}

// An item that does not vary among those trained on is left out there, and what is left is learnt and scored as if it
// were not in the file.
func TestEvaluateLeavesOutWhatDoesNotVary(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(1)
	for i, row := range rows[1:] {
		if i >= 6 {
			row[3] = "" // q3 is answered by six
		}
		if i >= 3 {
			row[6] = "1" // q6 is answered differently by three only
		}
	}
	o := Options{
		Options: questionnairetest.Options(questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows))),
		Repeats: 3, Methods: Methods(),
	}
	o.Columns.Labels = []questionnaire.Label{{Name: "ill", Positive: "1"}}
	e, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range e.Shares {
		if s.Share == 0.2 && !slices.Equal(s.ItemsLeftOut, []string{"q3", "q6"}) {
			t.Errorf("%s, share %v: %v left out", s.Method, s.Share, s.ItemsLeftOut)
		}
		if s.AUROC[0].Count != o.Repeats || s.Method != MethodMissing && s.AUROC[0].Mean < leastArea(s.Method) {
			t.Errorf("%s, share %v: %+v", s.Method, s.Share, s)
		}
		if !HasFactors(s.Method) {
			continue
		}
		// Of the three items of one factor, q9 alone is left. The sum of squares of icqf, l1-nmf and pca counts its
		// variance, so it still has a factor. Correlations leave fa nothing to find it by: its third factor is any, and
		// two of three are sure.
		least := questionnaire.Figure(0.75)
		if s.Method == model.MethodFA {
			least = 2. / 3 * 0.95
		}
		if s.Stability.Count != o.Repeats*questionnairetest.Factors || s.Stability.Mean < least {
			t.Errorf("%s, share %v: %+v", s.Method, s.Share, s)
		}
	}

	free := o
	free.Methods, free.Repeats, free.Factors, free.Betas = []string{model.MethodFA}, 10, nil, nil
	if e, err := Run(t.Context(), free); err != nil || e.Factors != questionnairetest.Factors ||
		!slices.ContainsFunc(e.Warnings, func(w string) bool { return strings.HasSuffix(w, `determine: "q3"`) }) {
		t.Errorf("the number of factors is chosen among what varies: %+v (%v)", e, err)
	}

	// The answers to q3 and q6 are ignored where they do not vary.
	s, err := o.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	trained := make([]int, 40)
	for i := range trained {
		trained[i] = 20 + i
	}
	o.Columns.Items = []string{"q*", "!q3", "!q6"}
	without, err := o.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := solver.Candidate{Factors: questionnairetest.Factors, Beta: 0.1}
	for _, method := range Methods() {
		if method == MethodMissing {
			continue // it takes all items, whether they vary or not
		}
		got, err := o.learn(t.Context(), s, method, trained, all)
		if err != nil {
			t.Fatal(err)
		}
		want, err := o.learn(t.Context(), without, method, trained, all)
		if err != nil {
			t.Fatal(err)
		}
		if HasFactors(method) && !mat.Equal(got.loadings, want.loadings) {
			t.Errorf("%s: loadings differ", method)
		}
		gotScores, err := got.features([]int{0, 1, 100})
		if err != nil {
			t.Fatal(err)
		}
		wantScores, err := want.features([]int{0, 1, 100})
		if err != nil {
			t.Fatal(err)
		}
		if !mat.Equal(gotScores, wantScores) {
			t.Errorf("%s: scores\n%v\nwant\n%v", method, mat.Formatted(gotScores), mat.Formatted(wantScores))
		}
	}
}

// Those who answered nothing but what is left out count neither in training nor in the test.
func TestEvaluateLeavesOutWhoHasNoAnswerLeft(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(1)
	for i, row := range rows[1:] {
		row[3] = "" // q3 is answered by ten, most of whom answer nothing else
		if i < 10 {
			row[3] = "2"
		}
		if i > 0 && i < 10 {
			for j := range questionnairetest.Items {
				if j != 2 {
					row[1+j] = ""
				}
			}
		}
	}
	rows[1][3] = "4"
	o := Options{
		Options: questionnairetest.Options(questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows))),
		Repeats: 2, Methods: learners(),
	}
	o.Columns.Labels = []questionnaire.Label{{Name: "ill", Positive: "1"}}
	e, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range e.Shares {
		if s.AUROC[0].Count != o.Repeats || !(s.AUROC[0].Mean > 0.7) || !(s.Stability.Mean > 0.75) {
			t.Errorf("%s, share %v: %+v", s.Method, s.Share, s)
		}
	}
}

// A share whose items vary too little for the factors is an error that names all that it takes to find it.
func TestEvaluateNamesWhatFails(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"id", "q1", "q2", "q3"}}
	random := rand.New(rand.NewPCG(1, 1))
	for i := range 20 {
		row := []string{strconv.Itoa(i), "1", "2", strconv.Itoa(random.IntN(5))}
		if i == 0 {
			row[1], row[2] = "0", "0"
		}
		rows = append(rows, row)
	}
	o := Options{
		Options: questionnairetest.Options(questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows))),
		Repeats: 2, Methods: []string{model.MethodICQF},
	}
	o.Columns.Confounds, o.Factors = nil, []int{2}
	_, err := Run(t.Context(), o)
	for _, want := range []string{
		"evaluating icqf on 20 % of the participants, repeat ", "q1", "q2", "2 factors for 1 items",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

// Every fit that ends at the limit of updates is counted.
func TestEvaluateCountsUnconverged(t *testing.T) {
	t.Parallel()
	o := evaluateOptions(t)
	o.Methods, o.MaxIter, o.RelTol, o.Factors, o.Columns.Labels = []string{model.MethodICQF, model.MethodL1}, 1, 1e-3,
		[]int{2, 3}, nil
	e, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range e.Shares {
		if s.Unconverged != o.Repeats {
			t.Errorf("%s, share %v: %d of %d", s.Method, s.Share, s.Unconverged, o.Repeats)
		}
	}
	if want := 2*10*(1+o.Repeats) + 2 + 2*(4+2)*o.Repeats; e.Unconverged != want {
		t.Errorf("%d unconverged, want %d", e.Unconverged, want)
	}
	o.MaxIter = 0
	if e, err = Run(t.Context(), o); err != nil || e.Unconverged != 0 {
		t.Errorf("%+v, error %v", e, err)
	}
}

// countdown is a context that ends when it was asked so many times.
type countdown struct {
	context.Context
	left atomic.Int64
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return c.Context.Err()
}

// The fits that are done never go back, and are all in the end.
func TestEvaluateProgress(t *testing.T) {
	t.Parallel()
	o := evaluateOptions(t)
	o.Methods, o.Factors, o.Columns.Labels, o.Threads = []string{model.MethodICQF, MethodItems}, []int{2, 3}, nil, 1
	last, end, total := 0, 0, 0
	o.Progress = func(done, all int) {
		if done < last || done > all {
			t.Errorf("%d fits done of %d after %d", done, all, last)
		}
		last, end, total = done, done, all
	}
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if want := 2*10*(1+o.Repeats) + 2 + (2*4+2)*o.Repeats; end != want || total != want {
		t.Errorf("%d fits of %d, want %d", end, total, want)
	}
}

// Whenever the context ends, there is an error or the whole result, never a figure of a fit that was cut short.
func TestEvaluateCancelled(t *testing.T) {
	t.Parallel()
	o := few(t, 20)
	o.Repeats, o.Methods = 1, []string{model.MethodICQF, model.MethodFA, MethodPCA}
	whole, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for asked := int64(0); ; asked = asked*4/3 + 1 {
		ctx := &countdown{Context: t.Context()}
		ctx.left.Store(asked)
		e, err := Run(ctx, o)
		switch {
		case err == nil && !cmp.Equal(e, whole, figures):
			t.Fatalf("ended after %d questions: %s", asked, cmp.Diff(whole, e, figures))
		case err != nil && !errors.Is(err, context.Canceled):
			t.Fatalf("ended after %d questions: %v", asked, err)
		case err == nil:
			return
		}
	}
}

// A fifth of a public questionnaire of few participants has items that all of them answer the same.
func TestEvaluateSharedData(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("WARDCAST_SHARED")
	if shared == "" {
		t.Skip("WARDCAST_SHARED is not set")
	}
	for _, c := range []struct {
		file, items  string
		high         float64
		participants int
	}{
		{"spi.csv.gz", "q_*0", 6, 30}, {"mpsychor_Wenchuan.csv.gz", "*", 5, 30},
	} {
		columns := answers.Columns{
			Items: []string{c.items}, Range: &questionnaire.Range{Low: 1, High: c.high}, FromLow: true,
		}
		table, err := answers.Read(filepath.Join(shared, "data", c.file), &columns)
		if err != nil {
			t.Fatal(err)
		}
		table.IDs, table.Lines = table.IDs[:c.participants], table.Lines[:c.participants]
		table.Answers = table.Answers.Slice(0, c.participants, 0, len(table.Items)).(*mat.Dense)
		o := Options{Options: fit.Options{
			Columns: columns, Factors: []int{2}, Betas: []float64{0.1},
			Learning: model.Learning{RelTol: 1e-4, Seed: 1}, Table: table,
		}, Methods: Methods()}
		e, err := Run(t.Context(), o)
		if err != nil {
			t.Fatalf("%s: %v", c.file, err)
		}
		for _, s := range e.Shares {
			if HasFactors(s.Method) && s.Stability.Count != 2*DefaultRepeats || s.Share == 0.2 &&
				len(s.ItemsLeftOut) == 0 || HasFactors(s.Method) && s.Share == 0.8 && !(s.Stability.Mean > 0.6) {
				t.Errorf("%s: %+v", c.file, s)
			}
		}
	}
}
