package items_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/items"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
)

// options are those of items that begin with q, in a file with this content.
func options(t *testing.T, content string) items.Options {
	t.Helper()
	return items.Options{
		Input:   questionnairetest.File(t, "answers.csv", content),
		Columns: answers.Columns{Items: []string{"q*"}}, Seed: 1,
	}
}

func run(t *testing.T, o items.Options) *items.Analysis {
	t.Helper()
	a, err := items.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// By hand, the covariances of these answers are
//
//	C = [5/3 4/3 17/6; 4/3 5/3 19/6; 17/6 19/6 13/3],  V = 67/3,
//
// where those with the third item are over the three participants who answered it.
func TestByHand(t *testing.T) {
	t.Parallel()
	o := options(t, "q1,q2,q3\n1,2,0\n2,4,3\n3,3,\n4,5,4\n")
	o.Columns.Range = &questionnaire.Range{Low: 0, High: 5}
	a := run(t, o)
	const rounding = 1e-14
	for _, c := range []struct {
		what string
		got  *float64
		want float64
	}{
		{"alpha", a.Alpha, 66. / 67},
		{"standardized alpha", a.AlphaStandardized, 1.5 * (1 - 3/(3+2*(0.8+18/math.Sqrt(65))))},
		{"mean correlation", a.MeanCorrelation, (0.8 + 18/math.Sqrt(65)) / 3},
		{"mean of q1", a.Items[0].Mean, 2.5},
		{"sd of q1", a.Items[0].SD, math.Sqrt(5. / 3)},
		{"missing share of q3", &a.Items[2].Missing, 0.25},
		{"item-rest correlation of q1", a.Items[0].ItemRest, 12.5 / math.Sqrt(185)},
		{"item-total correlation of q1", a.Items[0].ItemTotal, 17.5 / math.Sqrt(335)},
		{"alpha without q1", a.Items[0].AlphaDropped, 38. / 37},
		{"difficulty of q1, of answers 0 to 5", a.Items[0].Difficulty, 0.5},
		{"difficulty of q2", a.Items[1].Difficulty, 0.7},
		{"ceiling of q2", a.Items[1].Ceiling, 0.25},
		{"floor of q2", a.Items[1].Floor, 0},
		{"floor of q3", a.Items[2].Floor, 1. / 3},
	} {
		off(t, c.what, c.got, c.want, rounding)
	}
	sum := 3 + 2*(0.8+18/math.Sqrt(65))
	want := items.SplitHalf{
		Lowest: 4.5 * (0.8 + 8.5/math.Sqrt(65)) / sum, Mean: 3 * (0.8 + 18/math.Sqrt(65)) / sum,
		Highest: 4.5 * 18 / math.Sqrt(65) / sum, Splits: 3, All: true,
	}
	got := *a.SplitHalf
	off(t, "lowest split half", &got.Lowest, want.Lowest, rounding)
	off(t, "mean split half", &got.Mean, want.Mean, rounding)
	off(t, "highest split half", &got.Highest, want.Highest, rounding)
	if got.Splits != want.Splits || !got.All {
		t.Errorf("%d splits, all %v; three items have %d", got.Splits, got.All, want.Splits)
	}
}

// A reversed item counts from the other end, and from-low moves means but no coefficient.
func TestOrientation(t *testing.T) {
	t.Parallel()
	const content = "q1,q2,q3\n1,2,1\n2,4,4\n3,3,2\n4,5,4\n"
	o := options(t, content)
	o.Columns.Range = &questionnaire.Range{Low: 1, High: 5}
	straight := run(t, o)
	o = options(t, strings.NewReplacer("1,2,1", "1,4,1", "2,4,4", "2,2,4", "4,5,4", "4,1,4").Replace(content))
	o.Columns.Range = &questionnaire.Range{Low: 1, High: 5}
	o.Columns.Reversed, o.Columns.FromLow = []string{"q2"}, true
	turned := run(t, o)
	if !turned.Items[1].Reversed || *turned.Items[1].Mean != 2.5 || *straight.Items[1].Mean != 3.5 {
		t.Errorf("reversed item %+v, straight %+v", turned.Items[1], straight.Items[1])
	}
	off(t, "difficulty", turned.Items[1].Difficulty, *straight.Items[1].Difficulty, 1e-15)
	off(t, "ceiling", turned.Items[1].Ceiling, 0.25, 0)
	off(t, "alpha", turned.Alpha, *straight.Alpha, 1e-14)
}

// Items that do not vary are reported, and belong to no scale. Fewer than two others are an error.
func TestConstantItems(t *testing.T) {
	t.Parallel()
	const content = "q1,q2,q3,q4,q5\n1,2,0,3,\n2,4,3,3,\n3,3,,3,\n4,5,4,,\n"
	var remarks answers.Remarks
	o := options(t, content)
	o.Remark = func(r answers.Remarks) { remarks = r }
	a := run(t, o)
	if want := []string{"q4", "q5"}; !slices.Equal(remarks.Dropped, want) || !slices.Equal(a.Constant, want) {
		t.Errorf("constant items %q, remarks %q, want %q", a.Constant, remarks.Dropped, want)
	}
	off(t, "alpha", a.Alpha, 66./67, 1e-14)
	if q4, q5 := a.Items[3], a.Items[4]; *q4.Mean != 3 || *q4.SD != 0 || q4.ItemRest != nil || q4.AlphaDropped != nil ||
		q5.Mean != nil || q5.SD != nil || q5.Floor != nil || q5.Missing != 1 {
		t.Errorf("constant item %+v, unanswered item %+v", q4, q5)
	}
	o.Columns.Items = []string{"q1", "q4", "q5"}
	if _, err := items.Run(t.Context(), o); !errors.Is(err, questionnaire.ErrFewItems) {
		t.Errorf("one varying item: %v", err)
	}
	if _, err := items.Run(t.Context(), options(t, "q1,q2\n1,2\n")); !errors.Is(err, questionnaire.ErrFewItems) {
		t.Errorf("one participant: %v", err)
	}
	if _, err := items.Run(t.Context(), options(t, "q1,q2\n1e200,2\n2,1\n3,1\n")); !errors.Is(err,
		questionnaire.ErrScale) {
		t.Errorf("huge answers: %v", err)
	}
	o.Factors = -1
	if _, err := items.Run(t.Context(), o); !errors.Is(err, questionnaire.ErrOptions) {
		t.Errorf("%d factors: %v", o.Factors, err)
	}
}

// A subscale gives what its items give alone. If nobody answered both of two items, the scale that has both has no
// coefficients.
func TestSubscales(t *testing.T) {
	t.Parallel()
	o := options(t, "q1,q2,r1,q3,r2,r3\n1,2,,0,,\n2,4,,3,,\n3,3,,,,\n4,5,,4,,\n,,1,,2,2\n,,1,,3,1\n,,2,,5,3\n")
	o.Columns.Items = []string{"q*", "r*"}
	for _, name := range []string{"q1", "q2", "q3", "r1", "r2"} {
		o.Columns.Codebook = append(o.Columns.Codebook, questionnaire.Item{Name: name, Subscale: name[:1]})
	}
	o.Columns.Codebook = append(o.Columns.Codebook, questionnaire.Item{Name: "r3", Subscale: "single"})
	a := run(t, o)
	if a.N != 7 || a.Alpha != nil || a.SplitHalf != nil || a.Items[0].ItemRest != nil || len(a.Warnings) != 1 {
		t.Errorf("all items without common answers: %+v", a)
	}
	if len(a.Subscales) != 2 || a.Subscales[0].Name != "q" || a.Subscales[1].Name != "r" {
		t.Fatalf("subscales %+v", a.Subscales)
	}
	alone := run(t, options(t, "q1,q2,q3\n1,2,0\n2,4,3\n3,3,\n4,5,4\n"))
	q := a.Subscales[0]
	if diff := cmp.Diff(alone.Reliability, q.Reliability); diff != "" || q.N != 4 {
		t.Errorf("a subscale of %d participants differs from its items alone:\n%s", q.N, diff)
	}
	for i, item := range q.Items {
		if diff := cmp.Diff(alone.Items[i].Part, item.Part); diff != "" {
			t.Errorf("%s in its subscale differs from that of its items alone:\n%s", item.Name, diff)
		}
	}
}

// An item of two scales counts in both.
func TestItemOfTwoScales(t *testing.T) {
	t.Parallel()
	o := options(t, "q1,q2,q3\n1,2,0\n2,4,3\n3,3,2\n4,5,4\n")
	o.Columns.Codebook = []questionnaire.Item{
		{Name: "q1", Subscale: "first"},
		{Name: "q2", Subscale: "first", Others: []string{"second"}},
		{Name: "q3", Subscale: "second"},
	}
	a := run(t, o)
	if len(a.Subscales) != 2 || a.Subscales[0].Name != "first" || a.Subscales[1].Name != "second" ||
		a.Items[1].Subscale != "first" {
		t.Fatalf("subscales %+v of items %+v", a.Subscales, a.Items)
	}
	for i, names := range [][]string{{"q1", "q2"}, {"q2", "q3"}} {
		o.Columns.Items, o.Columns.Codebook = names, nil
		if diff := cmp.Diff(run(t, o).Reliability, a.Subscales[i].Reliability); diff != "" {
			t.Errorf("%q differs from its items %q alone:\n%s", a.Subscales[i].Name, names, diff)
		}
	}
}

// Missing shares of groups: small groups and missing values are left out.
func TestGroups(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("q1,q2,site\n")
	for i := range 20 {
		second, site := strconv.Itoa(i%4), "a"
		switch {
		case i < 5:
			site = "b"
			if i < 2 {
				second = ""
			}
		case i < 9:
			site = "c"
		case i == 9:
			site = ""
		}
		b.WriteString(strconv.Itoa(i%3) + "," + second + "," + site + "\n")
	}
	o := options(t, b.String())
	o.Columns.Groups = []string{"site"}
	want := []items.Group{
		{Column: "site", Group: "a", Participants: 10, Items: map[string]float64{"q1": 0, "q2": 0}},
		{Column: "site", Group: "b", Participants: 5, Missing: 0.2, Items: map[string]float64{"q1": 0, "q2": 0.4}},
	}
	if diff := cmp.Diff(want, run(t, o).Groups); diff != "" {
		t.Errorf("groups differ from those wanted:\n%s", diff)
	}
}

// planted returns answers of items that share a factor, a tenth missing.
func planted(participants, count int) [][]string {
	random := rand.New(rand.NewPCG(3, 0))
	rows := [][]string{nil}
	for j := range count {
		rows[0] = append(rows[0], "q"+strconv.Itoa(j+1))
	}
	for range participants {
		factor, row := random.NormFloat64(), make([]string, count)
		for j := range row {
			if random.IntN(10) > 0 {
				row[j] = strconv.FormatFloat(10+factor+random.NormFloat64(), 'g', 5, 64)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// No bit depends on the order of the participants or on the number of threads. Splits are drawn for 17 items and more,
// and another seed draws others.
func TestSameBits(t *testing.T) {
	t.Parallel()
	rows := planted(200, 17)
	o := options(t, questionnairetest.CSV(rows))
	o.Threads = 1
	first := run(t, o)
	if first.SplitHalf.All || first.SplitHalf.Splits != 10000 {
		t.Errorf("%d splits of 17 items", first.SplitHalf.Splits)
	}
	slices.Reverse(rows[1:])
	o.Threads, o.Input = 3, questionnairetest.File(t, "answers.csv", questionnairetest.CSV(rows))
	if diff := cmp.Diff(first, run(t, o)); diff != "" {
		t.Errorf("other order and threads:\n%s", diff)
	}
	o.Seed = 2
	other := run(t, o)
	if other.SplitHalf.Mean == first.SplitHalf.Mean {
		t.Error("another seed draws the same splits")
	}
	// The mean over all splits is α; random ones come near it.
	off(t, "mean split half", &other.SplitHalf.Mean, *first.AlphaStandardized, 1e-3)
}

// Omega has as many group factors as the items identify, and warns if these are fewer, or if it is unreliable.
func TestFactorsOfOmega(t *testing.T) {
	t.Parallel()
	rows := planted(300, 6)
	for _, row := range rows[1:] {
		if v, err := strconv.ParseFloat(row[5], 64); err == nil {
			row[5] = strconv.FormatFloat(20-v, 'g', -1, 64)
		}
	}
	for _, c := range []struct {
		items    string
		factors  int
		warnings []string
	}{
		{"q1,q2", 0, []string{"Bartlett's test counts all participants as complete", "no omega: 2 items are too few"}},
		{"q1,q2,q3", 1, []string{"Bartlett's test counts all participants as complete", "factors of omega is 1 " +
			"instead of 3: 3 items"}},
		{"q1,q2,q3,q4,q5", 2, []string{
			"Bartlett's test counts all participants as complete",
			"factors of omega is 2 instead of 3: 5 items", "omega hierarchical is unreliable",
		}},
		{"q1,q2,q3,q4,q5,q6", 3, []string{
			"Bartlett's test counts all participants as complete",
			"omega counts items as reversed, 1 in number, because they load negatively on the general factor: q6",
			"omega hierarchical is unreliable",
		}},
	} {
		o := options(t, questionnairetest.CSV(rows))
		o.Columns.Items = strings.Split(c.items, ",")
		a := run(t, o)
		if a.OmegaFactors != c.factors || (a.OmegaTotal == nil) != (c.factors == 0) ||
			(a.OmegaHierarchical == nil) != (c.factors < 2) {
			t.Errorf("%s: %d factors, want %d; omega %v, hierarchical %v", c.items, a.OmegaFactors, c.factors,
				a.OmegaTotal, a.OmegaHierarchical)
		}
		if len(a.Warnings) != len(c.warnings) {
			t.Fatalf("%s: warnings %q, want %q", c.items, a.Warnings, c.warnings)
		}
		for i, w := range c.warnings {
			if !strings.Contains(a.Warnings[i], w) {
				t.Errorf("%s: warning %q, want %q in it", c.items, a.Warnings[i], w)
			}
		}
	}
}

// Where an item is the sum of two others, nothing comes from the inverse of the correlations.
func TestDependentItems(t *testing.T) {
	t.Parallel()
	a := run(t, options(t, "q1,q2,q3\n1,2,3\n2,4,6\n3,1,4\n4,5,9\n1,5,6\n"))
	if a.Lambda6 != nil || a.KMO != nil || a.KMOItems["q1"] != nil || a.Bartlett != nil || len(a.Warnings) == 0 ||
		!strings.Contains(a.Warnings[0], "no lambda 6") {
		t.Errorf("lambda 6 %v, KMO %v, Bartlett %v, warnings %q", a.Lambda6, a.KMO, a.Bartlett, a.Warnings)
	}
	if a.Alpha == nil || a.SplitHalf == nil || a.OmegaTotal == nil {
		t.Errorf("alpha %v, split half %v, omega %v", a.Alpha, a.SplitHalf, a.OmegaTotal)
	}
}
