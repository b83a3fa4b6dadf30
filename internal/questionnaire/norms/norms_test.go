package norms

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
	"github.com/wardcast/wardcast/solver/icqf"
)

// Worked by hand: of 0, 0, .5 and 1, two are below .25 and none equals it, so the percentile is 100(2 + .5)/5.
func TestPercentile(t *testing.T) {
	t.Parallel()
	d := distribution([]float64{1, 0, .5, 0})
	for score, want := range map[float64]float64{-1: 10, 0: 30, .25: 50, .5: 60, .75: 70, 1: 80, 2: 90} {
		if got := d.Percentile(score); math.Abs(got-want) > 1e-12 {
			t.Errorf("percentile of %v is %v, want %v", score, got, want)
		}
	}
	for percentile, want := range map[float64]float64{
		50: 50, 97.72498680518208: 70, 15.865525393145708: 40, 99.86501019683699: 80,
	} {
		if got := T(percentile); math.Abs(got-want) > 1e-9 {
			t.Errorf("T of percentile %v is %v, want %v", percentile, got, want)
		}
	}
}

// A large cell keeps few scores. Those that many people share stay exact; between the others the error is below half a
// point.
func TestDistributionOfManyScores(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	scores := make([]float64, 5000)
	for i := range scores {
		scores[i] = max(0, random.NormFloat64()) // half of them are 0
	}
	d := distribution(slices.Clone(scores))
	if len(d.Scores) > mostScores+1 {
		t.Fatalf("%d scores are kept", len(d.Scores))
	}
	exact := func(v float64) float64 {
		var below, equal float64
		for _, s := range scores {
			switch {
			case s < v:
				below++
			case s == v:
				equal++
			}
		}
		return 100 * (below + equal/2 + .5) / float64(len(scores)+1)
	}
	if got, want := d.Percentile(0), exact(0); got != want {
		t.Errorf("percentile of 0 is %v, want %v", got, want)
	}
	last := 0.0
	for v := -.5; v < 5; v += .01 {
		got := d.Percentile(v)
		if want := exact(v); math.Abs(got-want) > 100./mostScores {
			t.Errorf("percentile of %v is %v, want about %v", v, got, want)
		}
		if got < last {
			t.Errorf("percentile of %v is below that of a lower score", v)
		}
		last = got
	}
}

// sample writes the scores of a reference sample, which depend on age and sex, and a table of its people in another
// order. truth holds how many standard deviations each is from the mean of their age and sex.
func sample(t *testing.T, n int) (scores, people string, truth []float64) {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 0))
	rows, persons := []string{"id,factor1"}, []string{}
	for i := range n {
		z, old, man := random.NormFloat64(), random.IntN(2), random.IntN(2)
		score := .4 + .02*float64(1+2*old)*z + .1*float64(man) + .1*float64(old)
		rows = append(rows, fmt.Sprintf("secret%d,%v", i, score))
		persons = append(persons, fmt.Sprintf("%d,secret%d,%s", 6+6*old+random.IntN(6), i, []string{"F", "M"}[man]))
		truth = append(truth, z)
	}
	slices.Reverse(persons)
	file := func(name string, lines []string) string {
		return questionnairetest.File(t, name, strings.Join(lines, "\n")+"\n")
	}
	return file("scores.csv", rows), file("people.csv", append([]string{"age,id,sex"}, persons...)), truth
}

// oneFactor is a model with one factor.
func oneFactor() *model.Model {
	return &model.Model{SHA256: "abc", Summary: model.Summary{FactorFits: make([]model.FactorFit, 1)}, ICQF: icqf.Model{
		Loadings: mat.NewDense(2, 1, []float64{1, 1}),
	}}
}

func byBoth() By {
	return By{Age: &questionnaire.Visits{Time: "age", Edges: []float64{6, 12, 18}}, Sex: "sex"}
}

// read reads scores and people.
func read(t *testing.T, by By, scores, people string) (*answers.Sheet, *answers.Sheet) {
	t.Helper()
	s, err := answers.ReadSheet(scores, answers.SheetColumns{Numbers: []string{"factor1"}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := by.Read(people, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, p
}

// What age and sex do to the scores is gone from the T scores: they are those of the truth within each age and sex.
func TestNormsOfPlantedScores(t *testing.T) {
	t.Parallel()
	const n = 4000
	scores, people, truth := sample(t, n)
	s, p := read(t, byBoth(), scores, people)
	made, outside, err := Make(s, p, Options{By: byBoth(), Model: oneFactor()})
	if err != nil || len(outside) > 0 || made.Participants != n || len(made.Cells) != 4 {
		t.Fatalf("%d cells of %d participants, outside %v: %v", len(made.Cells), made.Participants, outside, err)
	}
	data, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(questionnairetest.File(t, "norms.json", string(data)), oneFactor())
	if diff := cmp.Diff(made, loaded); err != nil || diff != "" {
		t.Fatalf("norms differ once they are stored (%v):\n%s", err, diff)
	}
	values, ids := mat.NewDense(n, 1, nil), make([]string, n)
	for i, r := range s.Rows {
		ids[i] = r.ID
		values.Set(i, 0, r.Numbers[0])
	}
	all := model.Scores{IDs: ids, Values: values}
	if outside := loaded.Apply(oneFactor(), &all, p); len(outside) > 0 ||
		!slices.Equal(all.Header(), []string{"id", "factor1", "percentile_factor1", "t_factor1"}) {
		t.Fatalf("columns %q, outside %v", all.Header(), outside)
	}
	ts := mat.Col(nil, 1, all.Norms)
	if mean, sd := stat.MeanStdDev(ts, nil); math.Abs(mean-50) > .1 || math.Abs(sd-10) > .1 {
		t.Errorf("T scores have mean %v and standard deviation %v", mean, sd)
	}
	if r := stat.Correlation(ts, truth, nil); r < .998 {
		t.Errorf("T scores correlate with the truth by %v", r)
	}
}

// The interval of a T score is that of the score, seen through the norms: with a standard error of half a standard
// deviation it covers the T score of the true score in 95 of 100 people, whatever the range of the method's scores.
func TestInterval(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method          string
		mean, deviation float64
	}{{model.MethodICQF, .5, .12}, {"fa", 0, 1}} {
		t.Run(c.method, func(t *testing.T) {
			t.Parallel()
			const n = 20000
			m := oneFactor()
			m.Summary.Method, m.Summary.FactorFits[0].Limit = c.method, 1
			within := func(score float64) float64 { return min(max(score, m.ScoreRange().Low), m.ScoreRange().High) }
			se, random := c.deviation/2, rand.New(rand.NewPCG(5, 0))
			sample := func() []float64 {
				all := make([]float64, n)
				for i := range all {
					all[i] = within(c.mean + c.deviation*random.NormFloat64())
				}
				return all
			}
			norms, truth, scores, people := normsOf(sample()), sample(), &model.Scores{}, &answers.Sheet{}
			scores.Values, scores.Errors, scores.Answered = mat.NewDense(n, 1, nil),
				mat.NewDense(n, 1, slices.Repeat([]float64{se}, n)), make([]int, n)
			for i, v := range truth {
				id := fmt.Sprint(i)
				scores.Values.Set(i, 0, within(v+se*random.NormFloat64()))
				scores.IDs, people.Rows = append(scores.IDs, id), append(people.Rows, answers.SheetRow{ID: id})
			}
			norms.Apply(m, scores, people)
			if want := []string{"percentile_factor1", "t_factor1", "t_low_factor1", "t_high_factor1"}; !slices.Equal(
				scores.NormNames, want) {
				t.Fatalf("columns %q, want %q", scores.NormNames, want)
			}
			covered := 0
			for i, v := range truth {
				row := scores.Norms.RawRowView(i)
				if !(row[2] <= row[1] && row[1] <= row[3]) {
					t.Fatalf("T score %v is not between %v and %v", row[1], row[2], row[3])
				}
				if t := T(norms.Cells[0].Scores[0].Percentile(v)); row[2] <= t && t <= row[3] {
					covered++
				}
			}
			if share := float64(covered) / n; math.Abs(share-.95) > .005 {
				t.Errorf("the intervals cover %.4f of the true T scores, want .95", share)
			}
		})
	}
}

// normsOf returns norms of one factor and one cell with these scores.
func normsOf(scores []float64) *Norms {
	return &Norms{Factors: []string{"factor1"}, Cells: []Cell{
		{Participants: len(scores), Scores: []Distribution{distribution(scores)}},
	}}
}

// The interval ends where the scores of the method do.
func TestIntervalEnds(t *testing.T) {
	t.Parallel()
	people := &answers.Sheet{Rows: []answers.SheetRow{{ID: "a"}, {ID: "b"}}}
	apply := func(method string) [2][]float64 {
		s := &model.Scores{
			IDs: []string{"a", "b"}, Values: mat.NewDense(2, 1, []float64{0, 1}),
			Errors: mat.NewDense(2, 1, []float64{.1, .1}), Answered: []int{2, 2},
		}
		m := oneFactor()
		m.Summary.Method, m.Summary.FactorFits[0].Limit = method, 1
		normsOf([]float64{0, 0, .5, 1}).Apply(m, s, people)
		return [2][]float64{s.Norms.RawRowView(0), s.Norms.RawRowView(1)}
	}
	if r := apply(model.MethodICQF); r[0][2] != r[0][1] || r[0][3] <= r[0][1] || r[1][2] >= r[1][1] ||
		r[1][3] != r[1][1] {
		t.Errorf("the T scores of 0 and 1, the ends of a score, have the intervals %v", r)
	}
	if r := apply("fa"); r[0][2] >= r[0][1] || r[1][3] <= r[1][1] {
		t.Errorf("the T scores of 0 and 1, of a method without ends, have the intervals %v", r)
	}
}

// Participants outside the reference have empty cells, and are reported by line and reason.
func TestOutside(t *testing.T) {
	t.Parallel()
	file := func(content string) string { return questionnairetest.File(t, "x.csv", content) }
	var scores, people strings.Builder
	scores.WriteString("id,factor1\nnobody,.5\nblank,\n")
	people.WriteString("id,age,sex\nblank,7,F\n")
	for i := range 30 {
		fmt.Fprintf(&scores, "%d,%v\n", i, float64(i)/30)
		fmt.Fprintf(&people, "%d,%d,%s\n", i, 6+i/20*6, []string{"F", "M"}[i/10%2])
	}
	s, p := read(t, byBoth(), file(scores.String()), file(people.String()))
	made, outside, err := Make(s, p, Options{By: byBoth(), Model: oneFactor(), Least: 10})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Outside{{NoPerson, []int{2}}, {NoScore, []int{3}}}, outside); diff != "" ||
		made.Outside != 2 || made.Participants != 30 {
		t.Errorf("%d participants, %d outside, who differ from those wanted:\n%s", made.Participants,
			made.Outside, diff)
	}
	sizes := []Cell{
		{Band: 0, Ages: "6-12", Sex: "F", Participants: 10},
		{Band: 0, Ages: "6-12", Sex: "M", Participants: 10},
		{Band: 1, Ages: "12-18", Sex: "F", Participants: 10},
		{Band: 1, Ages: "12-18", Sex: "M"},
	}
	if diff := cmp.Diff(sizes, made.Cells, cmpopts.IgnoreFields(Cell{}, "Scores")); diff != "" {
		t.Errorf("cells differ from those wanted:\n%s", diff)
	}
	_, later := read(t, byBoth(), file("id,factor1\na,1\n"),
		file("id,age,sex\na,18,F\nb,18.1,F\nc,,F\nd,7,\ne,7,X\nf,13,M\ng,7,M\nh,5,F\n"))
	ids := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	values := mat.NewDense(len(ids), 1, []float64{.9, .5, .5, .5, .5, .5, math.NaN(), .5})
	all := &model.Scores{IDs: ids, Values: values}
	outside = made.Apply(oneFactor(), all, later)
	want := []Outside{
		{OtherAge, []int{3, 9}}, {NoAge, []int{4}}, {NoSex, []int{5}}, {OtherSex, []int{6}}, {Few, []int{7}},
	}
	if diff := cmp.Diff(want, outside); diff != "" {
		t.Errorf("outside differ from those wanted:\n%s", diff)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(all.CSV())), "\n")[1:] {
		if empty := strings.HasSuffix(line, ",,"); empty != (i > 0) {
			t.Errorf("row %q", line)
		}
	}
	if _, _, err := Make(s, p, Options{By: byBoth(), Model: oneFactor(), Least: 11}); !errors.Is(err,
		questionnaire.ErrOptions) {
		t.Errorf("no cell is large enough: %v", err)
	}
	p.Numbered = true
	if _, _, err := Make(s, p, Options{By: byBoth(), Model: oneFactor(), Least: 10}); !errors.Is(err,
		questionnaire.ErrNumbered) {
		t.Errorf("people without ids: %v", err)
	}
	if none, _, err := Make(s, nil, Options{Model: oneFactor(), Least: 31}); err != nil || len(none.Cells) != 1 ||
		none.Cells[0].Participants != 31 {
		t.Errorf("norms that go by nothing: %+v, %v", none, err)
	}
}

// A score with too large a standard error is left out; the other scores of its cell count.
func TestNormsWithoutVagueScores(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("id,factor1,se_factor1\n")
	for i := range 30 {
		score, err := float64(i)/30, .1
		if i < 10 {
			score, err = 0, .3
		}
		fmt.Fprintf(&table, "%d,%v,%v\n", i, score, err)
	}
	s, err := answers.ReadSheet(questionnairetest.File(t, "x.csv", table.String()),
		answers.SheetColumns{Numbers: []string{"factor1", "se_factor1"}})
	if err != nil {
		t.Fatal(err)
	}
	m := oneFactor()
	m.Summary.FactorFits[0].Limit = .2
	made, outside, err := Make(s, nil, Options{Model: m, Least: 20})
	if err != nil {
		t.Fatal(err)
	}
	d := &made.Cells[0].Scores[0]
	if len(outside) != 1 || outside[0].Reason != Vague || len(outside[0].Lines) != 10 ||
		made.Cells[0].Participants != 30 || d.Percentile(0) != 100*.5/21 {
		t.Errorf("outside %+v, %d people, percentile of 0 is %v", outside, made.Cells[0].Participants, d.Percentile(0))
	}
	if err := made.check(m); err != nil {
		t.Error(err)
	}
	if _, _, err := Make(s, nil, Options{Model: m, Least: 21}); !errors.Is(err, questionnaire.ErrOptions) {
		t.Errorf("no factor has enough measurements: %v", err)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	const good = `{"format":"1","model_sha256":"abc","factors":["factor1"],"cells":[{"participants":3,` +
		`"scores":[{"scores":[0,1],"below":[0,2],"equal":[2,1]}]}]}`
	path := questionnairetest.File(t, "norms.json", good)
	if _, err := Load(path, oneFactor()); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{
		`"format":"1"`:     `"format":"2"`,
		`"abc"`:            `"abd"`,
		`["factor1"]`:      `["factor1","factor2"]`,
		`"scores":[0,1]`:   `"scores":[1,0]`,
		`[0,2]`:            `[0,1]`,
		`"equal":[2,1]`:    `"equal":[2,2]`,
		`"equal":[2,1]}`:   `"equal":[2]}`,
		`"below":[0,2]`:    `"below":[1,2]`,
		`"participants":3`: `"participants":2`,
		`"model_sha256"`:   `"age":{"time":"age","edges":[3]},"model_sha256"`,
		`}]}]}`:            `}]}]`,
		`"cells":[`:        `"cells":[{}` + strings.Repeat(",{}", maxCommas) + `,`,
	} {
		if err := os.WriteFile(path, []byte(strings.Replace(good, from, to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path, oneFactor()); !errors.Is(err, ErrNorms) {
			t.Errorf("%s: error %v", to, err)
		}
	}
}
